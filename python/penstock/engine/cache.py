"""In-memory caches, owned by their node: kept as long as the dataset is, shared by its iterators.

Over its budget a cache keeps what came first and says so once. Rows given out of a cache are read-only.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import (
    Array,
    ArrayColumn,
    BytesColumn,
    Column,
    DatasetsColumn,
    Indices,
    Nested,
    RaggedColumn,
    RowsColumn,
    SpanColumn,
    kept_apart,
)
from penstock.block.origin import Origins
from penstock.block.ragged import Ragged
from penstock.block.spec import DATASET, DatasetSpec
from penstock.block.tree import Structure
from penstock.units import format_bytes

_ABSENT = -1


class CacheStore:
    """What one `cache()` node keeps: rows by position (index-driven), or whole passes in order (streams)."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.rows: RowCache | None = None
        self.stream: list[Block] | None = None
        self.full = False

    def __reduce__(self) -> tuple[Any, ...]:
        return CacheStore, ()


class RowCache:
    """Rows by position, in the columns they came in; the first to come stay."""

    def __init__(self, count: int, budget_bytes: int, warn: Callable[[str], None], label: str) -> None:
        self._slot = np.full(count, _ABSENT, dtype=np.int64)
        self._columns: list[_Kept] = []
        self._structure = Structure()
        self._used = 0
        self._bytes = 0
        self._budget_bytes = budget_bytes
        self._warn = warn
        self._label = label
        self._full = False
        self._lock = threading.Lock()

    def missing(self, positions: Indices) -> Indices:
        """The positions not kept, each once, in the order given."""
        absent = positions[self._slot[positions] == _ABSENT]
        _, first = np.unique(absent, return_index=True)
        missing: Indices = absent[np.sort(first)]
        return missing

    def has_all(self, positions: Indices) -> bool:
        return bool((self._slot[positions] != _ABSENT).all())

    def keep(self, positions: Indices, block: Block) -> None:
        """Keep row i of `block` as position positions[i], while the budget lasts."""
        if not len(block):
            return
        with self._lock:
            new = np.flatnonzero(self._slot[positions] == _ABSENT)
            if self._full or not len(new):
                return
            row_bytes = max(1, block.nbytes // len(block))
            room = max(0, (self._budget_bytes - self._bytes) // row_bytes)
            if room < len(new):
                self._full = True
                self._warn(
                    f"{self._label}: the cache is full at {format_bytes(self._bytes + room * row_bytes)} of "
                    f"{format_bytes(self._budget_bytes)}, with {self._used + room} of {len(self._slot)} elements; "
                    f"these stay, the rest is computed again. Options(cache_budget=...) raises the limit."
                )
                new = new[:room]
            if not len(new):
                return
            if not self._columns:
                self._structure = block.structure
                self._columns = [_Kept(column, self._capacity(column)) for column in block.columns]
            rows = block if len(new) == len(block) else block.take(new)
            for kept, column in zip(self._columns, rows.columns, strict=True):
                kept.append(self._used, column)
            self._slot[positions[new]] = np.arange(self._used, self._used + len(new))
            self._used += len(new)
            self._bytes += row_bytes * len(new)

    def _capacity(self, column: Column) -> int:
        """Rows of `column` there can be: no more memory is reserved than the budget allows."""
        shape, dtype = column.spec.shape or (), column.spec.dtype
        row_bytes = math.prod(d or 1 for d in shape) * (8 if dtype.kind in "SU" else dtype.itemsize)
        return min(len(self._slot), self._budget_bytes // max(1, row_bytes))

    def rows(self, positions: Indices, origins: Origins) -> Block:
        """The kept rows at `positions`; all must be there."""
        slots = self._slot[positions]
        return Block(self._structure, tuple(kept.take(slots) for kept in self._columns), origins)


class _Kept:
    """One growing column: an array where rows have one shape (pages are committed as they are written), else a list."""

    __slots__ = ("dtype", "rows", "values")

    def __init__(self, column: Column, capacity: int) -> None:
        self.dtype = column.spec.dtype
        self.values: Array | None = None
        self.rows: list[Any] = []
        if isinstance(column, ArrayColumn):
            self.values = np.empty((capacity, *column.values.shape[1:]), dtype=self.dtype)
        elif isinstance(column, BytesColumn):
            self.values = np.empty((capacity, *column.values.shape[1:]), dtype=object)

    def append(self, start: int, column: Column) -> None:
        rows = column.rows()
        if (
            self.values is not None
            and isinstance(column, ArrayColumn | BytesColumn)
            and column.values.shape[1:] == self.values.shape[1:]
        ):
            self.values[start : start + len(rows)] = column.values
            return
        if self.values is not None:  # a row of another shape came: from now on a list
            self.rows = list(self.values[:start])
            self.values = None
        for row in rows:
            if isinstance(row, Nested | Ragged):
                self.rows.append(row)
                continue
            kept = np.array(row)
            if kept.dtype.kind == "O" and not kept.ndim:
                self.rows.append(row)
                continue
            kept.flags.writeable = False
            self.rows.append(kept)

    def take(self, slots: Indices) -> Column:
        if self.dtype == DATASET:
            return DatasetsColumn([self.rows[slot] for slot in slots.tolist()], DatasetSpec())
        if self.values is None:
            return kept_apart([self.rows[slot] for slot in slots.tolist()], self.dtype)
        chosen = self.values[slots]
        return BytesColumn(chosen, self.dtype) if self.dtype.kind in "SU" else ArrayColumn(chosen)


def read_only(block: Block) -> Block:
    """The same block, its arrays not writable: they are kept and will be given out again."""
    for column in block.columns:
        if isinstance(column, DatasetsColumn | RaggedColumn):
            continue
        arrays: Sequence[Array]
        if isinstance(column, SpanColumn):
            arrays = [column.items]  # of which rows are views that are made later
        else:
            arrays = column.values if isinstance(column, RowsColumn) else [column.values]
        for array in arrays:
            array.flags.writeable = False
    return block
