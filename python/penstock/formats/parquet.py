"""Parquet files: footers are read when a dataset is made, a row group's columns when a row of it is wanted."""

from __future__ import annotations

import os
import threading
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.errors import ReadError
from penstock.formats.arrow_faults import told
from penstock.formats.arrow_leaves import EXTRA, ArrowLeaf, differing_leaf, leaves_of_schema
from penstock.formats.arrow_tables import OpenTables
from penstock.formats.extras import library
from penstock.formats.files import LocalFile, unreadable
from penstock.formats.store import Pieces

_KIND = "Parquet"
TOGETHER_BYTES = 128 * 2**20
"""Row groups that a shuffle mixes at a time hold about so many bytes, where no buffer size is said."""


@dataclass(frozen=True, slots=True)
class RowGroups:
    """The row groups of a file: rows of each, and bytes of the wanted columns before compression."""

    rows: tuple[int, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class ParquetStore:
    """The rows of Parquet files, one file after another: dicts of the wanted columns."""

    files: tuple[LocalFile, ...]
    groups: tuple[RowGroups, ...]
    structure: Structure
    leaves: tuple[ArrowLeaf, ...]
    cache_bytes: int

    @property
    def count(self) -> int:
        return sum(sum(group.rows) for group in self.groups)

    @property
    def specs(self) -> tuple[Spec, ...]:
        return tuple(leaf.spec for leaf in self.leaves)

    @property
    def pieces(self) -> Pieces | None:
        rows = tuple(count for group in self.groups for count in group.rows)
        size = sum(group.bytes for group in self.groups)
        return Pieces(rows, max(1, self.count * TOGETHER_BYTES // max(size, 1)))

    def part(self, first: int, step: int) -> ParquetStore:
        return replace(self, files=self.files[first::step], groups=self.groups[first::step])

    def parameters(self) -> dict[str, Any]:
        return {
            "columns": tuple(leaf.name for leaf in self.leaves),
            "fill_null": {leaf.name: leaf.fill for leaf in self.leaves if leaf.fills},
            "row_groups": sum(len(group.rows) for group in self.groups),
            "layout": zlib.crc32(repr([group.rows for group in self.groups]).encode()),
        }

    def open(self) -> OpenTables:
        return _OpenParquet(self).tables


class _OpenParquet:
    """Footers are read again when a row group of their file is first wanted, and kept."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._footers: dict[int, Any] = {}
        self._columns = list(dict.fromkeys(leaf.path[0] for leaf in store.leaves))
        counts = [len(group.rows) for group in store.groups]
        self._file_of = [number for number, count in enumerate(counts) for _ in range(count)]
        self._first = [sum(counts[:number]) for number in self._file_of]
        rows = [count for group in store.groups for count in group.rows]
        self.tables = OpenTables(store.leaves, rows, store.cache_bytes, self._load, self._describe)

    def _load(self, part: int) -> Any:
        number = self._file_of[part]
        file, group = self._store.files[number], part - self._first[part]
        with self._lock:
            footer = self._footers.get(number)
        with _opened(file, footer) as opened:
            if footer is None:
                self._check(number, opened.metadata)
            place = f", row group {group} at byte {_offset(opened.metadata.row_group(group))}"
            read = opened.read_row_group
            return told(_KIND, file, lambda: read(group, columns=self._columns, use_threads=False), part=place)

    def _check(self, number: int, footer: Any) -> None:
        """Keep a footer that says what it said before. Raises: ReadError: it does not."""
        found = tuple(footer.row_group(group).num_rows for group in range(footer.num_row_groups))
        if found != self._store.groups[number].rows:
            raise ReadError(
                "the file has changed since the dataset was made", got=f"row groups of {found!r:.80} rows",
                expected=f"{self._store.groups[number].rows!r:.80}", where=self._store.files[number].path,
                remedy="make the dataset anew, and write files elsewhere before moving them into place",
            )  # fmt: skip
        with self._lock:
            self._footers[number] = footer

    def _describe(self, part: int, row: int) -> str:
        number = self._file_of[part]
        group = part - self._first[part]
        before = sum(self._store.groups[number].rows[:group])
        return f"{self._store.files[number].path}, row {before + row} (row group {group})"


def parquet_store(
    files: Sequence[LocalFile], columns: Sequence[str] | None, fill_null: dict[str, Any], cache_bytes: int
) -> ParquetStore:
    """The store of these files; at least one. Cost: of reading each footer.

    Raises: ReadError, DecodeError: a file cannot be read, or is no Parquet; InvalidArgumentError,
    UnsupportedValueError: a column is not there, or no value; StructureError: files differ in a wanted column.
    """
    structure = Structure()
    leaves: tuple[ArrowLeaf, ...] = ()
    groups: list[RowGroups] = []
    for file in files:
        with _opened(file, None) as opened:
            schema = told(_KIND, file, lambda: opened.schema_arrow)
            here = leaves_of_schema(schema, columns, fill_null, file.path)
            if not groups:
                structure, leaves = here
                columns = list(structure.keys) if columns is None else columns
            elif here != (structure, leaves):
                raise differing_leaf(here[1], leaves, files[0].path, file.path)
            groups.append(_row_groups(opened.metadata, {leaf.path[0] for leaf in leaves}))
    return ParquetStore(tuple(files), tuple(groups), structure, leaves, cache_bytes)


def _row_groups(footer: Any, columns: set[str]) -> RowGroups:
    rows = [footer.row_group(number).num_rows for number in range(footer.num_row_groups)]
    if not rows:
        return RowGroups((), 0)
    first = footer.row_group(0)  # the others are much like it
    chunks = [first.column(number) for number in range(first.num_columns)]
    size = sum(c.total_uncompressed_size for c in chunks if c.path_in_schema.split(".")[0] in columns)
    return RowGroups(tuple(rows), size * sum(rows) // max(1, rows[0]))


def _offset(group: Any) -> int:
    """Where a row group begins in its file."""
    first = group.column(0)
    pages = [first.data_page_offset, first.dictionary_page_offset or first.data_page_offset]
    return int(min(pages))


def _opened(file: LocalFile, footer: Any) -> Any:
    """The file, with its footer or one known before. What has checksums is compared with them."""
    parquet = library("pyarrow.parquet", EXTRA)
    try:
        file.check(os.stat(file.path).st_size)
    except OSError as error:
        raise error if isinstance(error, ReadError) else unreadable(file.path, error) from error
    return told(_KIND, file, lambda: parquet.ParquetFile(file.path, metadata=footer, page_checksum_verification=True))
