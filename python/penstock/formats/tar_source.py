"""The bytes of a tar file in order: of a local one without reading what is passed over, of a packed one unpacked."""

from __future__ import annotations

import os
from typing import BinaryIO, Self

from penstock.errors import ReadError
from penstock.formats.files import LocalFile, RemoteFile, unreadable
from penstock.formats.streams import CHUNK_BYTES, ByteStream

_AT_ONCE = 16 * 2**20


class FileSource:
    """A file that is not packed. A context manager."""

    def __init__(self, file: LocalFile) -> None:
        self.name = file.path
        self.offset = 0
        self._file = file
        try:
            self._opened: BinaryIO = open(file.path, "rb", buffering=64 * 1024)  # noqa: SIM115  # closed by __exit__
            self._check()
        except OSError as error:
            raise error if isinstance(error, ReadError) else unreadable(file.path, error) from error

    def _check(self) -> None:
        self._file.check(os.fstat(self._opened.fileno()).st_size)

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end; what is claimed beyond it takes no memory."""
        try:
            data = self._opened.read(min(size, max(0, self._file.size - self.offset)))
        except OSError as error:
            raise unreadable(self.name, error) from error
        self.offset += len(data)
        if len(data) < size:
            self._check()  # or was it cut just now?
        return data

    def skip(self, size: int) -> int:
        """Pass over `size` bytes; how many there were."""
        passed = min(size, self._file.size - self.offset)
        self.offset += passed
        self._opened.seek(self.offset)
        return passed

    def finish(self) -> None:
        """Nothing is packed."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()


class StreamSource:
    """A file that is read from its start: packed by gzip, or behind a URL. A context manager.

    Offsets are of what it unpacks to.
    """

    def __init__(self, file: LocalFile, compression: str) -> None:
        self.name = f"{file.path} (unpacked)" if compression else file.path
        self.offset = 0
        self._is_packed = bool(compression)
        self._stream = ByteStream(file, compression)
        self._held = b""
        self._at = 0

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end; memory grows with what there is, not with what is claimed."""
        parts: list[bytes] = []
        missing = size
        while missing:
            if self._at == len(self._held):
                self._held, self._at = self._stream.read(max(CHUNK_BYTES, min(missing, _AT_ONCE))), 0
                if not self._held:
                    break
            part = self._held[self._at : self._at + missing]
            self._at += len(part)
            parts.append(part)
            missing -= len(part)
        self.offset += size - missing
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def skip(self, size: int) -> int:
        """Pass over `size` bytes; how many there were."""
        passed = 0
        while passed < size:
            data = self.read(min(size - passed, CHUNK_BYTES))
            if not data:
                break
            passed += len(data)
        return passed

    def finish(self) -> None:
        """Read what is packed to its end, where its checksum is. Raises: DecodeError: it does not fit."""
        while self._is_packed and self._stream.read(CHUNK_BYTES):
            pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()


def open_source(file: LocalFile, is_packed: bool) -> FileSource | StreamSource:
    """The bytes of a file from its start."""
    if is_packed or isinstance(file, RemoteFile):
        return StreamSource(file, "GZIP" if is_packed else "")
    return FileSource(file)
