"""The bytes of one file in order, compressed or not, in large pieces; never the whole."""

from __future__ import annotations

import gzip
import io
import zlib
from typing import Any

from penstock.errors import DecodeError, ReadError
from penstock.formats.files import LocalFile, Stream, opened, unreadable

COMPRESSIONS = ("", "GZIP", "ZLIB")
CHUNK_BYTES = 256 * 1024
_GZIP_WBITS = 16 + zlib.MAX_WBITS


class ByteStream(io.RawIOBase):
    """A file read from its start (unpacked, from byte `start`) to its end, unpacked on the way.

    Every fault is told with the name of the file: ReadError, or DecodeError where it is cut short or not compressed so.
    """

    def __init__(self, file: LocalFile, compression: str, start: int = 0) -> None:
        super().__init__()
        self.file = file
        self._compression = compression
        self._offset = start
        self._inner: Stream | None = None

    def _open(self) -> Stream:
        raw = opened(self.file, self._offset)
        return _PackedFile(raw, is_gzip=self._compression == "GZIP") if self._compression else raw

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; none at the end."""
        try:
            if self._inner is None:
                if self._compression and not self.file.size:
                    return b""  # as tf.data has it: nothing, packed
                self._inner = self._open()
            data = self._inner.read(size)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            reason = "it is cut short" if isinstance(error, EOFError) else str(error)
            raise DecodeError(
                f"cannot unpack the file as {self._compression}", got=reason,
                where=f"{self.file.path}, after {self._offset} bytes unpacked",
                remedy="the file is damaged, or packed otherwise: copy or write it anew",
            ) from error  # fmt: skip
        except OSError as error:
            raise error if isinstance(error, ReadError) else unreadable(self.file.path, error) from error
        self._offset += len(data)
        if not data and not self._compression:
            self.file.check(self._offset)  # it was cut while it was read
        return data

    def readinto(self, buffer: memoryview, /) -> int:  # type: ignore[override]  # what BufferedReader calls it with
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        inner, self._inner = self._inner, None
        if inner is not None:
            inner.close()
        super().close()


class _PackedFile:
    """The `read` and `close` of a file of zlib data, or of gzip members; all that comes before a fault is given.

    Checksums and sizes that gzip stores are checked, by zlib.
    """

    def __init__(self, raw: Stream, *, is_gzip: bool) -> None:
        self._raw = raw
        self._is_gzip = is_gzip
        self._packed = b""  # read, not yet unpacked
        self._inflate: Any = None  # None between members
        self._members = 0

    def read(self, size: int = -1, /) -> bytes:
        while self._inflate is not None or self._begin():
            self._packed = self._packed or self._raw.read(CHUNK_BYTES)
            is_cut = not self._packed
            data: bytes = self._inflate.decompress(self._packed, max(0, size))
            self._packed = self._inflate.unconsumed_tail
            if self._inflate.eof:
                self._packed, self._inflate = self._inflate.unused_data, None
            if data:
                return data
            if is_cut:
                raise EOFError
        return b""

    def _begin(self) -> bool:
        """Open the next member, if there is one; zeros between members are padding."""
        if self._members and not self._is_gzip:
            return False
        while True:
            if self._members:
                self._packed = self._packed.lstrip(b"\0")
            more = b"" if len(self._packed) >= 2 else self._raw.read(CHUNK_BYTES)
            if not more:
                break
            self._packed += more
        if self._members and not self._packed:
            return False
        if self._is_gzip and self._packed[:2] != b"\x1f\x8b":
            raise gzip.BadGzipFile(f"Not a gzipped file ({self._packed[:2]!r})")
        self._inflate = zlib.decompressobj(_GZIP_WBITS if self._is_gzip else zlib.MAX_WBITS)
        self._members += 1
        return True

    def close(self) -> None:
        self._raw.close()
