"""Leaves as they are read: a row, or many, as columns over arrays that are mapped into memory. Nothing is copied early.

A row of numbers is a view, read-only; so are bytes, until they are looked at. Text is made into str as it is read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from penstock.block.columns import (
    Array,
    ArrayColumn,
    BytesColumn,
    Column,
    Indices,
    PackedColumn,
    RaggedColumn,
    RowsColumn,
    kept_apart,
    object_array,
)
from penstock.block.packed import Packed
from penstock.block.ragged import Ragged
from penstock.block.spec import BYTES, STR

Allocate: TypeAlias = Callable[[tuple[int, ...], np.dtype[Any]], Array]


class Leaf(Protocol):
    """One leaf of every element."""

    def take(self, positions: Indices) -> Column:
        """The rows at `positions`."""

    def slice(self, start: int, stop: int) -> Column:
        """Rows start to stop."""


@dataclass(frozen=True, slots=True)
class FixedLeaf:
    """Rows of one shape: values [count, *shape]."""

    values: Array

    def take(self, positions: Indices) -> Column:
        return ArrayColumn(self.values[positions])

    def slice(self, start: int, stop: int) -> Column:
        return ArrayColumn(self.values[start:stop])


@dataclass(frozen=True, slots=True)
class Items:
    """Rows of any length: row i is `values[spans[i, 0]:][:spans[i, 1]]`. values [n]; spans [count, 2] int64."""

    values: Array
    spans: Array

    def rows(self, positions: Indices) -> list[Array]:
        """The rows at `positions`: views."""
        values = self.values
        return [values[start : start + length] for start, length in self.spans[positions].tolist()]


@dataclass(frozen=True, slots=True)
class VariedLeaf:
    """Arrays of one dtype whose shapes differ. shapes [count, 1 + largest rank] int64: rank, then dimensions."""

    items: Items
    shapes: Array

    def take(self, positions: Indices) -> Column:
        return RowsColumn(self.arrays(positions), self.items.values.dtype)

    def slice(self, start: int, stop: int) -> Column:
        return self.take(np.arange(start, stop, dtype=np.int64))

    def arrays(self, positions: Indices) -> list[Array]:
        """The rows at `positions`."""
        rows = zip(self.items.rows(positions), _shapes(self.shapes, positions), strict=True)
        return [row.reshape(shape) for row, shape in rows]


@dataclass(frozen=True, slots=True)
class TextLeaf:
    """Bytes or str. Of arrays of them also the length of each, and the shapes of the arrays.

    is_uniform: all shapes are one.
    """

    items: Items
    dtype: np.dtype[Any]
    lengths: Items | None = None
    shapes: Array | None = None
    is_uniform: bool = True

    def take(self, positions: Indices) -> Column:
        if self.lengths is None and self.dtype == BYTES:
            spans = self.items.spans[positions]
            starts, stops = np.ascontiguousarray(spans[:, 0]), spans.sum(axis=1)
            if len(spans) and (int(spans.min()) < 0 or int(stops.max()) > len(self.items.values)):
                raise ValueError("a span beyond the items")
            return PackedColumn(Packed(self.items.values, starts, stops))
        if self.lengths is None:
            return BytesColumn(object_array(self._texts(self.items.rows(positions))), self.dtype)
        arrays = self.arrays(positions)
        if not self.is_uniform or not arrays:
            return kept_apart(list(arrays), self.dtype)
        return BytesColumn(np.stack(arrays), self.dtype)

    def slice(self, start: int, stop: int) -> Column:
        return self.take(np.arange(start, stop, dtype=np.int64))

    def arrays(self, positions: Indices) -> list[Array]:
        """The rows at `positions`, where they are arrays."""
        assert self.lengths is not None
        assert self.shapes is not None
        arrays = []
        lengths = self.lengths.rows(positions)
        rows = zip(self.items.rows(positions), lengths, _shapes(self.shapes, positions), strict=True)
        for row, of_each, shape in rows:
            stops = np.cumsum(of_each).tolist()
            parts = [row[stop - n : stop] for stop, n in zip(stops, of_each.tolist(), strict=True)]
            arrays.append(object_array(self._texts(parts)).reshape(shape))
        return arrays

    def _texts(self, rows: list[Array]) -> list[Any]:
        if self.dtype == STR:
            return [row.tobytes().decode("utf-8", "surrogatepass") for row in rows]
        return [row.tobytes() for row in rows]


@dataclass(frozen=True, slots=True)
class RaggedLeaf:
    """`penstock.Ragged` values. splits: of each axis from the outermost in, with the dtype they had."""

    values: FixedLeaf | VariedLeaf | TextLeaf
    splits: tuple[tuple[Items, np.dtype[Any]], ...]

    def take(self, positions: Indices) -> Column:
        if isinstance(self.values, FixedLeaf):
            flats = list(self.values.values[positions])
        else:
            flats = self.values.arrays(positions)
        axes = [[row.astype(dtype) for row in items.rows(positions)] for items, dtype in self.splits]
        rows = []
        for number, flat in enumerate(flats):
            row: Any = flat
            for axis in reversed(axes):
                row = Ragged(row, axis[number])
            rows.append(row)
        return RaggedColumn(rows)

    def slice(self, start: int, stop: int) -> Column:
        return self.take(np.arange(start, stop, dtype=np.int64))


def _shapes(shapes: Array, positions: Indices) -> list[tuple[int, ...]]:
    return [tuple(said[1 : 1 + said[0]]) for said in shapes[positions].tolist()]
