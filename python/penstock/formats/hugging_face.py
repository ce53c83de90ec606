"""Datasets of Hugging Face's `datasets`, as Arrow tables: no Python object is made for a value in between.

Only what Arrow holds as it is: numbers, text, bytes, dates, class labels, lists and structs of them. Features that are
decoded (images, audio) and formats that are set by the user need the object itself: see `is_tabular`.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.columns import Column, Indices
from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.errors import DecodeError, SourceError
from penstock.formats.arrow_leaves import ArrowLeaf, leaves_of_schema
from penstock.formats.arrow_tables import OpenTables
from penstock.formats.store import Chunk, Found, Held, Memory, Store

_AS_STORED = ("Value", "ClassLabel", "Sequence", "List", "LargeList")
_CHUNK_ROWS = 512


def is_map_style(value: Any) -> bool:
    """Whether this is a `datasets.Dataset`. Imports nothing."""
    module = sys.modules.get("datasets")
    return module is not None and isinstance(value, module.Dataset)


def is_iterable_style(value: Any) -> bool:
    """Whether this is a `datasets.IterableDataset`. Imports nothing."""
    module = sys.modules.get("datasets")
    return module is not None and isinstance(value, module.IterableDataset)


def is_tabular(dataset: Any) -> bool:
    """Whether its elements are what Arrow holds: no feature is decoded, no format is set."""
    said = getattr(dataset, "format", None)  # of a map-style one alone
    return (said is None or said["type"] is None) and all(map(_is_stored, (dataset.features or {}).values()))


def _is_stored(feature: Any) -> bool:
    if isinstance(feature, dict):
        return all(map(_is_stored, feature.values()))
    if isinstance(feature, list):
        return all(map(_is_stored, feature))
    if type(feature).__name__ not in _AS_STORED:
        return False
    return not hasattr(feature, "feature") or _is_stored(feature.feature)


def _told(leaves: Sequence[ArrowLeaf]) -> dict[str, Any]:
    fills = {leaf.name: leaf.fill for leaf in leaves if leaf.fills}
    return {"columns": tuple(leaf.name for leaf in leaves), "fill_null": fills}


@dataclass(frozen=True, slots=True)
class HuggingFaceStore:
    """The rows of a map-style dataset. `table`: the same, in Arrow's format."""

    table: Any
    structure: Structure
    leaves: tuple[ArrowLeaf, ...]
    files: tuple[()] = ()
    pieces: None = None

    @property
    def count(self) -> int:
        return len(self.table)

    @property
    def specs(self) -> tuple[Spec, ...]:
        return tuple(leaf.spec for leaf in self.leaves)

    def part(self, first: int, step: int) -> HuggingFaceStore:
        return self  # it has no files

    def parameters(self) -> dict[str, Any]:
        return {"count": self.count, **_told(self.leaves)}

    def open(self) -> _OpenHuggingFace:
        return _OpenHuggingFace(self)


class _OpenHuggingFace:
    """Rows picked by the dataset itself, which knows its order; they come as one table."""

    def __init__(self, store: HuggingFaceStore) -> None:
        self._store = store

    def _tables(self, positions: Indices) -> OpenTables:
        table = self._store.table[positions.tolist()]
        numbers = positions.tolist()
        return OpenTables(self._store.leaves, [len(numbers)], 0, lambda _: table, lambda _, row: f"row {numbers[row]}")

    def read(self, positions: Indices, memory: Memory) -> Found:
        return self._tables(positions).read(np.arange(len(positions), dtype=np.int64), memory)

    def read_batches(self, positions: Indices, counts: Indices, memory: Memory) -> tuple[Column, ...] | None:
        """As `read`, in batches."""
        return self._tables(positions).read_batches(np.arange(len(positions), dtype=np.int64), counts, memory)


def hugging_face_store(dataset: Any, fill_null: dict[str, Any]) -> HuggingFaceStore:
    """The store of a map-style dataset that is tabular.

    Raises: InvalidArgumentError: a fill that does not fit; UnsupportedValueError: a type that is no value.
    """
    structure, leaves = leaves_of_schema(dataset.features.arrow_schema, None, fill_null, "its features")
    return HuggingFaceStore(dataset.with_format("arrow"), structure, leaves)


@dataclass(frozen=True, slots=True)
class HuggingFaceStream:
    """The rows of an iterable dataset, in its order. `tables`: the same, in Arrow's format."""

    tables: Any
    structure: Structure
    leaves: tuple[ArrowLeaf, ...]
    files: tuple[()] = ()
    has_index: bool = False

    @property
    def specs(self) -> tuple[Spec, ...]:
        return tuple(leaf.spec for leaf in self.leaves)

    def part(self, first: int, step: int) -> HuggingFaceStream:
        return self  # it has no files

    def parameters(self) -> dict[str, Any]:
        return _told(self.leaves)

    def chunks(self, *, skips: bool) -> Iterator[Chunk]:
        done = 0
        tables = self.tables.iter(_CHUNK_ROWS)
        while True:
            try:
                table = next(tables, None)
            except Exception as error:
                raise SourceError(
                    f"the dataset raised {type(error).__name__}: {error}", where=f"after row {done}"
                ) from error
            if table is None:
                return
            yield from self._chunks(table, done, skips)
            done += table.num_rows

    def _chunks(self, table: Any, done: int, skips: bool) -> Iterator[Chunk]:
        absent = [leaf.name for leaf in self.leaves if leaf.path[0] not in table.column_names]
        if absent:
            raise DecodeError(
                f"no column {absent[0]!r}", got=", ".join(table.column_names), where=f"row {done}",
                expected="those of the first row",
            )  # fmt: skip
        opened = OpenTables(self.leaves, [table.num_rows], 0, lambda _: table, lambda _, row: f"row {done + row}")
        start = 0
        while start < table.num_rows:
            found = opened.read(np.arange(start, table.num_rows, dtype=np.int64), _PLAIN)
            if found.error is None or not skips:
                yield Chunk(found.columns, found.count, found.error)
                return
            yield Chunk(found.columns, found.count, skipped=(found.error,))
            start += found.count + 1

    def indexed(self, held: Held) -> Store:
        raise AssertionError("it has no index")


class _PlainMemory:
    def arrays(self, shapes: tuple[tuple[int, ...], ...], dtype: np.dtype[Any]) -> list[np.ndarray[Any, Any]]:
        return [np.empty(shape, dtype) for shape in shapes]


_PLAIN = _PlainMemory()


def hugging_face_stream(dataset: Any, fill_null: dict[str, Any]) -> HuggingFaceStream:
    """The stream of an iterable dataset that is tabular; where it does not say its features, its first row does.

    Raises: as `hugging_face_store`; SourceError: it has neither features nor a first row.
    """
    tables = dataset.with_format("arrow")
    if dataset.features is not None:
        schema = dataset.features.arrow_schema
    else:
        first = next(iter(tables.iter(1)), None)
        if first is None:
            raise SourceError("the dataset says no features, and has no first row to tell them")
        schema = first.schema
    structure, leaves = leaves_of_schema(schema, None, fill_null, "its features")
    return HuggingFaceStream(tables, structure, leaves)
