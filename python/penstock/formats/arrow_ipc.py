"""Arrow IPC files (Feather) and streams: mapped into memory, so that only what is touched is read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.errors import ReadError, UnsupportedValueError
from penstock.formats.arrow_faults import told
from penstock.formats.arrow_leaves import EXTRA, ArrowLeaf, differing_leaf, leaves_of_schema
from penstock.formats.arrow_tables import OpenTables
from penstock.formats.extras import library
from penstock.formats.files import LocalFile, unreadable
from penstock.formats.store import Pieces

TOGETHER_BYTES = 128 * 2**20
_KIND = "Arrow IPC"


@dataclass(frozen=True, slots=True)
class ArrowStore:
    """The rows of Arrow IPC files, one file after another: dicts of the wanted columns.

    batches: rows of each record batch of each file. is_packed: compressed, so that a batch is unpacked as a whole.
    """

    files: tuple[LocalFile, ...]
    batches: tuple[tuple[int, ...], ...]
    structure: Structure
    leaves: tuple[ArrowLeaf, ...]
    cache_bytes: int
    is_packed: bool

    @property
    def count(self) -> int:
        return sum(map(sum, self.batches))

    @property
    def specs(self) -> tuple[Spec, ...]:
        return tuple(leaf.spec for leaf in self.leaves)

    @property
    def pieces(self) -> Pieces | None:
        if not self.is_packed:
            return None
        size = sum(file.size for file in self.files)
        rows = tuple(count for batches in self.batches for count in batches)
        return Pieces(rows, max(1, self.count * TOGETHER_BYTES // max(2 * size, 1)))

    def part(self, first: int, step: int) -> ArrowStore:
        return replace(self, files=self.files[first::step], batches=self.batches[first::step])

    def parameters(self) -> dict[str, Any]:
        return {
            "columns": tuple(leaf.name for leaf in self.leaves),
            "fill_null": {leaf.name: leaf.fill for leaf in self.leaves if leaf.fills},
            "rows": tuple(map(sum, self.batches)),
        }

    def open(self) -> OpenTables:
        return _OpenArrow(self).tables


class _OpenArrow:
    """Files are mapped when first needed. Before each read they are looked at: a file that was cut would end us."""

    def __init__(self, store: ArrowStore) -> None:
        self._store = store
        counts = [len(batches) for batches in store.batches]
        self._file_of = np.repeat(np.arange(len(counts)), counts)
        self._first = np.cumsum(counts) - counts
        self._readers = lru_cache(None)(self._reader)
        self._columns = list(dict.fromkeys(leaf.path[0] for leaf in store.leaves))
        rows = [count for batches in store.batches for count in batches]
        self.tables = OpenTables(
            store.leaves, rows, store.cache_bytes, self._load, self._describe,
            check=None if store.is_packed else self._check, is_mapped=not store.is_packed,
        )  # fmt: skip

    def _reader(self, number: int) -> Sequence[Any]:
        return _batches(_mapped(self._store.files[number]), self._columns if self._store.is_packed else None)

    def _load(self, part: int) -> Any:
        number = int(self._file_of[part])
        file, batch = self._store.files[number], part - int(self._first[number])
        self._look(number)
        found = told(_KIND, file, lambda: self._readers(number)[batch])
        if found.num_rows != self._store.batches[number][batch]:
            raise ReadError(
                "the file has changed since the dataset was made", got=f"{found.num_rows} rows",
                expected=f"{self._store.batches[number][batch]} in record batch {batch}", where=file.path,
            )  # fmt: skip
        return found

    def _check(self, parts: np.ndarray[Any, Any]) -> None:
        for number in np.unique(self._file_of[parts]).tolist():
            self._look(number)

    def _look(self, number: int) -> None:
        file = self._store.files[number]
        try:
            file.check(os.stat(file.path).st_size)
        except OSError as error:
            raise error if isinstance(error, ReadError) else unreadable(file.path, error) from error

    def _describe(self, part: int, row: int) -> str:
        number = int(self._file_of[part])
        batch = part - int(self._first[number])
        return f"{self._store.files[number].path}, row {sum(self._store.batches[number][:batch]) + row}"


class _FileBatches(Sequence[Any]):
    """The record batches of a file, those columns of each that are wanted."""

    def __init__(self, reader: Any) -> None:
        self._reader = reader

    def __len__(self) -> int:
        return int(self._reader.num_record_batches)

    def __getitem__(self, number: Any) -> Any:
        return self._reader.get_batch(range(len(self))[number])


def _batches(source: Any, columns: Sequence[str] | None) -> Sequence[Any]:
    """The record batches in a mapped file, with these columns. None: all, which lie in the file if not packed."""
    reader = _reader(source, None)
    if columns is not None:
        fields = [reader.schema.get_field_index(name) for name in columns]
        options = library("pyarrow.ipc", EXTRA).IpcReadOptions(included_fields=fields, use_threads=False)
        reader = _reader(source, options)  # reads these alone, into memory of its own
    return _FileBatches(reader) if hasattr(reader, "get_batch") else list(reader)


def _reader(source: Any, options: Any) -> Any:
    """Of a file, or of a stream, which has no footer."""
    ipc = library("pyarrow.ipc", EXTRA)
    opened = library("pyarrow", EXTRA).BufferReader(source)
    return (ipc.open_file if bytes(source[:6]) == b"ARROW1" else ipc.open_stream)(opened, options=options)


def _mapped(file: LocalFile) -> Any:
    """The bytes of a file, read as they are touched."""
    return library("pyarrow", EXTRA).memory_map(file.path).read_buffer()


def arrow_store(
    files: Sequence[LocalFile], columns: Sequence[str] | None, fill_null: dict[str, Any], cache_bytes: int
) -> ArrowStore:
    """The store of these files; at least one. Cost: of the footer, and the heads of the record batches.

    Raises: as `parquet_store`.
    """
    structure = Structure()
    leaves: tuple[ArrowLeaf, ...] = ()
    batches: list[tuple[int, ...]] = []
    is_packed = False
    for file in files:
        if not file.size:
            raise ReadError("the file is empty", got="0 bytes", expected=_KIND, where=file.path)
        source = told(_KIND, file, _mapped, file)
        schema = told(_KIND, file, _schema, source)
        here = leaves_of_schema(schema, columns, fill_null, file.path)
        if not batches:
            structure, leaves = here
            columns = list(structure.keys) if columns is None else columns
        elif here != (structure, leaves):
            raise differing_leaf(here[1], leaves, files[0].path, file.path)
        is_packed = is_packed or told(_KIND, file, _is_packed, source)
        batches.append(told(_KIND, file, _rows, source, [leaves[0].path[0]] if is_packed else None))
        if is_packed and bytes(source[:6]) != b"ARROW1":
            raise UnsupportedValueError(
                "a compressed stream has no random access", expected="a file with a footer, or no compression",
                where=file.path, remedy="write it by pyarrow.ipc.new_file",
            )  # fmt: skip
    return ArrowStore(tuple(files), tuple(batches), structure, leaves, cache_bytes, is_packed)


def _schema(source: Any) -> Any:
    return _reader(source, None).schema


def _rows(source: Any, columns: Sequence[str] | None) -> tuple[int, ...]:
    """Rows of each record batch, told by these columns."""
    return tuple(batch.num_rows for batch in _batches(source, columns))


def _is_packed(source: Any) -> bool:
    """Whether what is read lies elsewhere than in the mapped file: it was unpacked."""
    for batch in _batches(source, None):
        for column in batch.columns:
            for buffer in column.buffers():
                if buffer is not None and buffer.size:
                    return not source.address <= buffer.address < source.address + source.size
    return False
