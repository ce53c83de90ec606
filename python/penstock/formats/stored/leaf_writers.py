"""Leaves as they are written: rows come in any order, each to a position, and are on their way to the disk at once.

What has to be known of each row, its span and its shape, is held in memory until the end: 16 bytes a row and 8 for each
dimension, of leaves whose rows differ.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.block.columns import (
    Array,
    ArrayColumn,
    Column,
    DatasetsColumn,
    Indices,
    PackedColumn,
    RaggedColumn,
    RowsColumn,
)
from penstock.block.packed import gather_packed
from penstock.block.ragged import Ragged
from penstock.errors import UnsupportedValueError
from penstock.formats.stored.leaves import FixedLeaf, Items, Leaf, RaggedLeaf, TextLeaf, VariedLeaf
from penstock.formats.stored.npy import ArrayWriter, bytes_of, write_array

_INDEX = np.dtype(np.int64)


class Table:
    """[rows, columns] int64 that grow as positions are written to."""

    def __init__(self, columns: int) -> None:
        self.values: Array = np.zeros((0, columns), dtype=np.int64)

    def put(self, positions: Indices, rows: Array) -> None:
        self.reserve(int(positions.max()) + 1, rows.shape[1])
        self.values[positions, : rows.shape[1]] = rows

    def reserve(self, rows: int, columns: int) -> None:
        have, wide = self.values.shape
        if rows > have or columns > wide:
            grown = np.zeros((max(rows, have + have // 2), max(columns, wide)), dtype=np.int64)
            grown[:have, :wide] = self.values
            self.values = grown


class ItemsWriter:
    """The items of rows end to end, and the span of each."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype[Any]) -> None:
        self._folder, self._name = folder, name
        self._file = ArrayWriter(str(folder / f"{name}.npy"), dtype, ())
        self._spans = Table(2)
        self._end = 0

    def append(self, positions: Indices, data: Array | bytes, lengths: Sequence[int] | Indices) -> None:
        """Rows of these lengths, end to end in `data`, for these positions."""
        counts = np.array(lengths, dtype=np.int64)
        self._file.write(self._end, data)
        starts = self._end + np.cumsum(counts) - counts
        self._spans.put(positions, np.stack([starts, counts], axis=1))
        self._end += int(counts.sum())

    @classmethod
    def taking_over(cls, folder: Path, name: str, file: ArrayWriter, rows: int) -> ItemsWriter:
        """What goes on where rows of one shape were written by position, of which there are at most `rows`."""
        writer = cls.__new__(cls)
        writer._folder, writer._name, writer._file, writer._spans = folder, name, file, Table(2)
        items = math.prod(file.row_shape)
        file.reshape(())
        writer._end = rows * items
        starts = np.arange(rows, dtype=np.int64) * items
        if rows:
            writer._spans.put(np.arange(rows), np.stack([starts, np.full(rows, items)], axis=1))
        return writer

    def now(self) -> Items:
        """What can be read already."""
        return Items(self._file.view(self._end), self._spans.values)

    def finish(self, count: int) -> dict[str, str]:
        """The files, by what they hold."""
        self._file.finish(self._end)
        self._spans.reserve(count, 2)
        write_array(str(self._folder / f"{self._name}.spans.npy"), self._spans.values[:count])
        return {"items": f"{self._name}.npy", "spans": f"{self._name}.spans.npy"}

    def close(self) -> None:
        self._file.close()


class NumbersWriter:
    """Arrays: of one shape by position; from the first row of another shape on, as items."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype[Any]) -> None:
        self._folder, self._name, self._dtype = folder, name, dtype
        self._file: ArrayWriter | None = None
        self._items: ItemsWriter | None = None
        self._shapes = Table(1)
        self._rows = 0  # up to which positions have been written

    def write(self, positions: Indices, column: Column) -> None:
        rows = column.values if isinstance(column, ArrayColumn | RowsColumn) else None
        assert rows is not None
        shape = self._file.row_shape if self._file is not None else rows[0].shape
        if self._items is None and _is_of_shape(rows, shape):
            if self._file is None:
                self._file = ArrayWriter(str(self._folder / f"{self._name}.npy"), self._dtype, shape)
            self._rows = max(self._rows, int(positions.max()) + 1)
            if isinstance(rows, np.ndarray):
                self._file.scatter(positions, rows)
                return
            for position, row in zip(positions.tolist(), rows, strict=True):
                self._file.write(position, bytes_of(row))
            return
        items = self._varying()
        data = np.concatenate([bytes_of(row) for row in rows])
        items.append(positions, data, [row.size for row in rows])
        width = 1 + max(row.ndim for row in rows)
        shapes = np.zeros((len(rows), width), dtype=np.int64)
        for number, row in enumerate(rows):
            shapes[number, : 1 + row.ndim] = (row.ndim, *row.shape)
        self._shapes.put(positions, shapes)

    def _varying(self) -> ItemsWriter:
        if self._items is None and self._file is None:
            self._items = ItemsWriter(self._folder, self._name, self._dtype)
        elif self._items is None:
            assert self._file is not None
            shape = self._file.row_shape
            self._items = ItemsWriter.taking_over(self._folder, self._name, self._file, self._rows)
            said = np.array([(len(shape), *shape)] * self._rows, dtype=np.int64).reshape(self._rows, 1 + len(shape))
            if self._rows:
                self._shapes.put(np.arange(self._rows), said)
            self._file = None
        assert self._items is not None
        return self._items

    def now(self) -> FixedLeaf | VariedLeaf:
        if self._items is not None:
            return VariedLeaf(self._items.now(), self._shapes.values)
        assert self._file is not None
        return FixedLeaf(self._file.view(self._rows))

    def finish(self, count: int) -> dict[str, Any]:
        if self._items is None:
            assert self._file is not None
            self._file.finish(count)
            return {"kind": "fixed", "files": {"values": f"{self._name}.npy"}}
        files = self._items.finish(count)
        self._shapes.reserve(count, 1)
        write_array(str(self._folder / f"{self._name}.shapes.npy"), self._shapes.values[:count])
        return {"kind": "varied", "files": {**files, "shapes": f"{self._name}.shapes.npy"}}

    def close(self) -> None:
        for held in (self._file, self._items):
            if held is not None:
                held.close()


class TextWriter:
    """Bytes or str, or arrays of them."""

    def __init__(self, folder: Path, name: str, dtype: np.dtype[Any]) -> None:
        self._folder, self._name, self._dtype = folder, name, dtype
        self._items = ItemsWriter(folder, name, np.dtype(np.uint8))
        self._lengths: ItemsWriter | None = None
        self._shapes = Table(1)
        self._seen: set[tuple[int, ...]] = set()

    def write(self, positions: Indices, column: Column) -> None:
        if isinstance(column, PackedColumn):
            packed = gather_packed(column.scattered)
            self._items.append(positions, packed.data, packed.stops - packed.starts)
            return
        rows = column.rows()
        if not isinstance(rows[0], np.ndarray):
            parts = [_encoded(row) for row in rows]
            self._items.append(positions, b"".join(parts), list(map(len, parts)))
            return
        if self._lengths is None:
            self._lengths = ItemsWriter(self._folder, f"{self._name}.lengths", _INDEX)
        texts = [[_encoded(text) for text in row.ravel().tolist()] for row in rows]
        sizes = [list(map(len, parts)) for parts in texts]
        self._items.append(positions, b"".join(t for parts in texts for t in parts), list(map(sum, sizes)))
        each = np.array([size for of_row in sizes for size in of_row], dtype=np.int64)
        self._lengths.append(positions, bytes_of(each), list(map(len, sizes)))
        shapes = np.zeros((len(rows), 1 + max(row.ndim for row in rows)), dtype=np.int64)
        for number, row in enumerate(rows):
            shapes[number, : 1 + row.ndim] = (row.ndim, *row.shape)
            self._seen.add(row.shape)
        self._shapes.put(positions, shapes)

    def now(self) -> TextLeaf:
        if self._lengths is None:
            return TextLeaf(self._items.now(), self._dtype)
        lengths = self._lengths.now()
        return TextLeaf(self._items.now(), self._dtype, lengths, self._shapes.values, len(self._seen) == 1)

    def finish(self, count: int) -> dict[str, Any]:
        files = self._items.finish(count)
        if self._lengths is None:
            return {"kind": "text", "files": files}
        lengths = self._lengths.finish(count)
        self._shapes.reserve(count, 1)
        write_array(str(self._folder / f"{self._name}.shapes.npy"), self._shapes.values[:count])
        files |= {"lengths": lengths["items"], "length_spans": lengths["spans"], "shapes": f"{self._name}.shapes.npy"}
        return {"kind": "text", "files": files, "uniform": len(self._seen) == 1}

    def close(self) -> None:
        self._items.close()
        if self._lengths is not None:
            self._lengths.close()


class RaggedWriter:
    """`penstock.Ragged` values."""

    def __init__(self, folder: Path, name: str, first: Ragged) -> None:
        values = TextWriter if first.dtype.kind in "SU" else NumbersWriter
        self._values = values(folder, name, first.dtype)
        self._splits = [
            (ItemsWriter(folder, f"{name}.splits{axis}", _INDEX), splits.dtype)
            for axis, splits in enumerate(first.nested_row_splits)
        ]

    def write(self, positions: Indices, column: Column) -> None:
        assert isinstance(column, RaggedColumn)
        flats = [row.flat_values for row in column.values]
        self._values.write(positions, RowsColumn(flats, column.dtype))
        axes = zip(*(row.nested_row_splits for row in column.values), strict=True)
        for (items, _), rows in zip(self._splits, axes, strict=True):
            data = np.concatenate([row.astype(np.int64) for row in rows])
            items.append(positions, bytes_of(data), list(map(len, rows)))

    def now(self) -> RaggedLeaf:
        return RaggedLeaf(self._values.now(), tuple((items.now(), dtype) for items, dtype in self._splits))

    def finish(self, count: int) -> dict[str, Any]:
        splits = [{**items.finish(count), "dtype": dtype.name} for items, dtype in self._splits]
        return {"kind": "ragged", "values": self._values.finish(count), "splits": splits}

    def close(self) -> None:
        self._values.close()
        for items, _ in self._splits:
            items.close()


LeafWriter = NumbersWriter | TextWriter | RaggedWriter


def leaf_writer(folder: Path, name: str, column: Column) -> LeafWriter:
    """What writes rows like those of `column`. Raises: UnsupportedValueError: they are datasets."""
    if isinstance(column, RaggedColumn):
        return RaggedWriter(folder, name, column.values[0])
    if isinstance(column, DatasetsColumn):
        raise UnsupportedValueError(
            "a dataset cannot be kept in a directory", remedy="make arrays of it first, or cache() it in memory"
        )
    writer = TextWriter if column.spec.dtype.kind in "SU" else NumbersWriter
    return writer(folder, name, column.spec.dtype)


def readable(writer: LeafWriter) -> Leaf:
    """What has been written so far."""
    return writer.now()


def _is_of_shape(rows: Any, shape: tuple[int, ...]) -> bool:
    if isinstance(rows, np.ndarray):
        return bool(rows.shape[1:] == shape)
    return all(row.shape == shape for row in rows)


def _encoded(text: Any) -> bytes:
    return text.encode("utf-8", "surrogatepass") if isinstance(text, str) else bytes(text)
