"""ArrayRecord files, by the package array_record: records by position, as bytes."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.block.columns import BytesColumn, Indices, object_array
from penstock.block.spec import BYTES, Spec
from penstock.block.tree import LEAF, Structure
from penstock.errors import DecodeError, PenstockError, ReadError
from penstock.formats.extras import library
from penstock.formats.files import LocalFile, unreadable
from penstock.formats.pieces import OpenFiles
from penstock.formats.store import Found, Memory

EXTRA = "array-record"
_MODULE = "array_record.python.array_record_module"
_NO_READ_AHEAD = "readahead_buffer_size:0"


@dataclass(frozen=True, slots=True)
class ArrayRecordStore:
    """The records of ArrayRecord files, one file after another; `counts`: records of each."""

    files: tuple[LocalFile, ...]
    counts: tuple[int, ...]

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def structure(self) -> Structure:
        return LEAF

    @property
    def specs(self) -> tuple[Spec, ...]:
        return (Spec((), BYTES),)

    @property
    def pieces(self) -> None:
        return None

    def part(self, first: int, step: int) -> ArrayRecordStore:
        return replace(self, files=self.files[first::step], counts=self.counts[first::step])

    def parameters(self) -> dict[str, Any]:
        return {"counts": self.counts}

    def open(self) -> _OpenArrayRecord:
        return _OpenArrayRecord(self)


class _OpenArrayRecord(OpenFiles):
    """A reader a file, opened when first needed; one thread at a time asks it."""

    def __init__(self, store: ArrayRecordStore) -> None:
        super().__init__(store.counts)
        self._store = store
        self._locks = [threading.Lock() for _ in store.files]
        self._readers: dict[int, Any] = {}

    def read(self, positions: Indices, memory: Memory) -> Found:
        values: list[Any] = [None] * len(positions)
        stop, error = len(positions), None
        for number, places, within in self.by_file(positions):
            records, fault = self._records(number, within.tolist())
            for place, record in zip(places.tolist(), records, strict=False):
                values[place] = record
            if fault is not None and int(places[len(records)]) < stop:
                stop, error = int(places[len(records)]), fault
        columns = (BytesColumn(object_array(values[:stop]), BYTES),) if stop else ()
        return Found(columns, stop, error)

    def _records(self, number: int, rows: list[int]) -> tuple[list[bytes], PenstockError | None]:
        """The records up to the first that cannot be read, and why."""
        file = self._store.files[number]
        with self._locks[number]:
            try:
                reader = self._reader(number)
                try:
                    return reader.read(rows), None
                except (RuntimeError, ValueError):
                    return self._one_by_one(file, reader, rows)
            except PenstockError as error:
                return [], error

    def _one_by_one(self, file: LocalFile, reader: Any, rows: list[int]) -> tuple[list[bytes], PenstockError | None]:
        found: list[bytes] = []
        for row in rows:
            try:
                found += reader.read([row])
            except (RuntimeError, ValueError) as error:
                reason = str(error).strip()[:200]
                return found, DecodeError("not readable as ArrayRecord", got=reason, where=f"{file.path}, record {row}")
        return found, None

    def _reader(self, number: int) -> Any:
        file = self._store.files[number]
        if number not in self._readers:
            reader, count = _opened(file)
            if count != self._store.counts[number]:
                raise ReadError(
                    "the file has changed since the dataset was made", got=f"{count} records",
                    expected=f"{self._store.counts[number]}", where=file.path,
                )  # fmt: skip
            self._readers[number] = reader
        _check(file)
        return self._readers[number]


def _check(file: LocalFile) -> None:
    try:
        file.check(os.stat(file.path).st_size)
    except OSError as error:
        raise error if isinstance(error, ReadError) else unreadable(file.path, error) from error


def _opened(file: LocalFile) -> tuple[Any, int]:
    _check(file)
    reader = library(_MODULE, EXTRA).ArrayRecordReader(file.path, _NO_READ_AHEAD)
    if not reader.ok():
        raise DecodeError("not readable as ArrayRecord", got=f"{file.size} bytes", where=file.path)
    return reader, int(reader.num_records())


def array_record_store(files: Sequence[LocalFile]) -> ArrayRecordStore:
    """The store of these files. Raises: ReadError, DecodeError. Cost: of each footer."""
    return ArrayRecordStore(tuple(files), tuple(_opened(file)[1] for file in files))
