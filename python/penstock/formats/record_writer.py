"""TFRecord files written: what `tf.io.TFRecordWriter` writes, to the byte where nothing is packed."""

from __future__ import annotations

import gzip
import os
import zlib
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from penstock.errors import ClosedError, InvalidArgumentError, WriteError, user_location
from penstock.formats.streams import COMPRESSIONS
from penstock.kernels.record import frame_record


@dataclass(frozen=True, slots=True)
class TFRecordOptions:
    """How a TFRecord file is packed: `compression_type` "GZIP", "ZLIB", "" or None; `compression_level` 0 to 9, or -1.

    Raises: InvalidArgumentError: another type or level.
    """

    compression_type: str | None = None
    compression_level: int = -1

    def __post_init__(self) -> None:
        if self.compression_type is not None and self.compression_type not in COMPRESSIONS:
            expected = '"GZIP", "ZLIB", "" or None'
            raise InvalidArgumentError(
                "TFRecordOptions: compression_type", got=self.compression_type, expected=expected
            )
        if self.compression_level not in range(-1, 10):
            got = repr(self.compression_level)
            raise InvalidArgumentError("TFRecordOptions: compression_level", got=got, expected="0 to 9, or -1")


class TFRecordWriter:
    """Writes records to a file, from its start; under `with`, closes it.

    `options`: "GZIP", "ZLIB", `TFRecordOptions`, or TensorFlow's own. What is written can be counted on when `flush` or
    `close` has returned. Not for several threads at once.
    Raises: WriteError (an OSError): the file cannot be opened or written; names it.
    Cost: one checksum and one copy a record.
    """

    def __init__(self, path: str | os.PathLike[str], options: str | Any | None = None) -> None:
        said = _options(options)
        self._path = os.fsdecode(path)
        self._file: Any = None
        self._packer: Any = None
        try:
            self._raw = open(self._path, "wb")  # noqa: SIM115  # closed by `close`
        except OSError as error:
            raise _unwritable(self._path, error) from error
        self._file = self._raw
        if said.compression_type == "GZIP":
            level = 6 if said.compression_level < 0 else said.compression_level
            self._file = gzip.GzipFile(fileobj=self._raw, mode="wb", compresslevel=level, mtime=0)
        elif said.compression_type == "ZLIB":
            self._file = _ZlibWriter(self._raw, said.compression_level)

    def write(self, record: bytes) -> None:
        """Append one record. Raises: ClosedError: after `close`; InvalidArgumentError: not bytes; WriteError."""
        if self._file is None:
            raise ClosedError("the writer is closed", where=self._path)
        if not isinstance(record, bytes):
            if not isinstance(record, bytearray | memoryview):
                got = f"{type(record).__name__}"
                raise InvalidArgumentError("TFRecordWriter.write: record", got=got, expected="bytes", where=self._path)
            record = bytes(record)
        header, footer = frame_record(record)
        try:
            self._file.write(header)
            self._file.write(record)
            self._file.write(footer)
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def flush(self) -> None:
        """Hand all that was written to the system: another process can read it."""
        if self._file is None:
            raise ClosedError("the writer is closed", where=self._path)
        try:
            self._file.flush()
            self._raw.flush()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def close(self) -> None:
        """Finish the file. Once is enough; more do no harm."""
        file, self._file = self._file, None
        if file is None:
            return
        try:
            try:
                if file is not self._raw:
                    file.close()
            finally:
                self._raw.close()
        except OSError as error:
            raise _unwritable(self._path, error) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _ZlibWriter:
    """The `write`, `flush` and `close` of a file of zlib data."""

    def __init__(self, raw: Any, level: int) -> None:
        self._raw = raw
        self._deflate = zlib.compressobj(level)

    def write(self, data: bytes) -> None:
        self._raw.write(self._deflate.compress(data))

    def flush(self) -> None:
        self._raw.write(self._deflate.flush(zlib.Z_SYNC_FLUSH))

    def close(self) -> None:
        self._raw.write(self._deflate.flush())


def _options(said: Any) -> TFRecordOptions:
    if said is None or isinstance(said, str):
        said = TFRecordOptions(said)
    if isinstance(said, TFRecordOptions):
        return said
    if not hasattr(said, "compression_type"):
        expected = '"GZIP", "ZLIB", TFRecordOptions or None'
        raise InvalidArgumentError("TFRecordWriter: options", got=repr(said), expected=expected, where=user_location())
    level = getattr(said, "compression_level", None)
    return TFRecordOptions(said.compression_type, -1 if level is None else level)


def _unwritable(path: str, error: OSError) -> WriteError:
    return WriteError("cannot write the file", got=error.strerror or str(error), where=path)
