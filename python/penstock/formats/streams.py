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


class ByteStream(io.RawIOBase):
    """A file read from its start to its end, unpacked on the way.

    Every fault is told with the name of the file: ReadError, or DecodeError where it is cut short or not compressed so.
    """

    def __init__(self, file: LocalFile, compression: str) -> None:
        super().__init__()
        self.file = file
        self._compression = compression
        self._offset = 0
        self._inner: Stream | None = None

    def _open(self) -> Stream:
        raw = opened(self.file)
        if self._compression == "GZIP":
            unseekable: Any = raw  # reading asks for no seek
            return gzip.GzipFile(fileobj=unseekable, mode="rb")
        return _ZlibFile(raw) if self._compression == "ZLIB" else raw

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
            raw = getattr(inner, "fileobj", None)
            inner.close()
            if raw is not None:  # a GzipFile leaves open what it was given
                raw.close()
        super().close()


class _ZlibFile:
    """The `read` and `close` of a file of zlib data."""

    def __init__(self, raw: Stream) -> None:
        self._raw = raw
        self._inflate = zlib.decompressobj()

    def read(self, size: int = -1, /) -> bytes:
        while not self._inflate.eof:
            packed = self._inflate.unconsumed_tail or self._raw.read(CHUNK_BYTES)
            if not packed:
                raise EOFError
            if data := self._inflate.decompress(packed, size):
                return data
        return b""

    def close(self) -> None:
        self._raw.close()
