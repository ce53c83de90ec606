"""Columns: one leaf of many elements. Fixed (one array), rows (arrays apart, ragged or large), spans, texts, datasets.

Bytes are objects, or lie packed in one buffer until they are looked at.

Every column has the same few methods; a row is what the user sees as the leaf. A row of an array column is a view, so
what aliases a user's array stays read-only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.block.packed import Packed, Scattered, gather_packed, joined_packed, packed_objects, taken_packed
from penstock.block.ragged import Ragged
from penstock.block.spec import BYTES, STR, DatasetSpec, RaggedSpec, Spec

Array: TypeAlias = NDArray[Any]
_nbytes: Callable[[Array], int] = attrgetter("nbytes")
_shape: Callable[[Array], tuple[int, ...]] = attrgetter("shape")
Indices: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class ArrayColumn:
    """Leaves of one shape: `values` [n, *shape], numbers."""

    values: Array

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return self.values.nbytes

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def spec(self) -> Spec:
        return Spec(self.values.shape[1:], self.values.dtype)

    def row(self, index: int) -> Any:
        return self.values[index]

    def rows(self) -> Sequence[Any]:
        return list(self.values)

    def take(self, indices: Indices) -> Column:
        return ArrayColumn(self.values[indices])

    def slice(self, start: int, stop: int) -> Column:
        return ArrayColumn(self.values[start:stop])


@dataclass(frozen=True, slots=True)
class FreshColumn(ArrayColumn):
    """An array column over memory that nothing else refers to: a batch may be a view of `whole`. A slice is not fresh.

    `whole`: the same rows, writable also where an element alone is not.
    """

    whole: Array


@dataclass(frozen=True, slots=True)
class RowsColumn:
    """Leaves kept apart: arrays of one dtype and rank whose shapes may differ, or which are too large to copy twice."""

    values: list[Array]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return sum(map(_nbytes, self.values))

    @property
    def spec(self) -> Spec:
        shapes = set(map(_shape, self.values))
        if len(set(map(len, shapes))) > 1:
            return Spec(None, self.dtype)
        sizes = [set(size) for size in zip(*shapes, strict=True)]
        return Spec(tuple(size.pop() if len(size) == 1 else None for size in sizes), self.dtype)

    def row(self, index: int) -> Any:
        return self.values[index]

    def rows(self) -> Sequence[Any]:
        return self.values

    def take(self, indices: Indices) -> Column:
        return RowsColumn([self.values[i] for i in indices.tolist()], self.dtype)

    def slice(self, start: int, stop: int) -> Column:
        return RowsColumn(self.values[start:stop], self.dtype)


class SpanColumn(RowsColumn):
    """Rows apart that lie in one array: row i is the `lengths[i]` items from `items[starts[i]]` on.

    items [m], numbers or texts; starts, lengths [n] int64. A row is a view, made when somebody asks for it: words and
    their numbers pass from step to step without an object for each row. `take` and `slice` copy no item, so they keep
    all of them alive; `compact` lets go of those that no row has.
    """

    __slots__ = ("_rows", "items", "lengths", "starts")

    items: Array
    starts: Indices
    lengths: Indices
    _rows: list[Array] | None

    def __init__(self, items: Array, starts: Indices, lengths: Indices, dtype: np.dtype[Any]) -> None:
        for name, value in (("items", items), ("starts", starts), ("lengths", lengths), ("dtype", dtype)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_rows", None)

    @classmethod
    def of_splits(cls, items: Array, splits: Indices, dtype: np.dtype[Any]) -> SpanColumn:
        """Row i is items[splits[i] : splits[i + 1]]."""
        return cls(items, splits[:-1], np.diff(splits), dtype)

    @property
    def values(self) -> list[Array]:
        """The rows as views."""
        rows = self._rows
        if rows is None:
            items = self.items
            ends = (self.starts + self.lengths).tolist()
            rows = [items[start:end] for start, end in zip(self.starts.tolist(), ends, strict=True)]
            object.__setattr__(self, "_rows", rows)
        return rows

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def nbytes(self) -> int:
        """Of texts with a guess at what they hold: to know it, each would have to be looked at."""
        return int(self.lengths.sum()) * self.items.dtype.itemsize * (4 if self.items.dtype.kind == "O" else 1)

    @property
    def spec(self) -> Spec:
        first = int(self.lengths[0])
        return Spec((first if (self.lengths == first).all() else None,), self.dtype)

    def row(self, index: int) -> Any:
        return self.items[(start := self.starts[index]) : start + self.lengths[index]]

    def take(self, indices: Indices) -> Column:
        return SpanColumn(self.items, self.starts[indices], self.lengths[indices], self.dtype)

    def slice(self, start: int, stop: int) -> Column:
        return SpanColumn(self.items, self.starts[start:stop], self.lengths[start:stop], self.dtype)

    def compact(self) -> SpanColumn:
        """The same rows, their items end to end in an array that holds no others. Cost: a copy, if others there are."""
        ends = np.cumsum(self.lengths)
        starts = ends - self.lengths
        total = int(ends[-1]) if len(ends) else 0
        if total == len(self.items) and np.array_equal(starts, self.starts):
            return self
        places = np.repeat(self.starts - starts, self.lengths) + np.arange(total, dtype=np.int64)
        return SpanColumn(self.items[places], starts, self.lengths, self.dtype)

    def __reduce__(self) -> tuple[Any, ...]:
        whole = self.compact()
        return SpanColumn, (whole.items, whole.starts, whole.lengths, whole.dtype)


@dataclass(frozen=True, slots=True)
class BytesColumn:
    """Leaves of bytes or str: `values` [n, *shape] of Python objects; `dtype` says which of the two."""

    values: NDArray[np.object_]
    dtype: np.dtype[Any]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def nbytes(self) -> int:
        return sum(map(len, self.values.ravel().tolist())) + 8 * self.values.size

    @property
    def spec(self) -> Spec:
        return Spec(self.values.shape[1:], self.dtype)

    def row(self, index: int) -> Any:
        return self.values[index]

    def rows(self) -> Sequence[Any]:
        return self.values.tolist() if self.values.ndim == 1 else list(self.values)

    def take(self, indices: Indices) -> Column:
        return BytesColumn(self.values[indices], self.dtype)

    def slice(self, start: int, stop: int) -> Column:
        return BytesColumn(self.values[start:stop], self.dtype)


class PackedColumn(BytesColumn):
    """Bytes that lie in buffers: `scattered`. They become objects where rows are looked at, once.

    Whoever takes whole blocks (parse_example) reads `packed` instead, where they lie in one. A slice shares the buffers
    and keeps all of them; what is taken by number is copied, where that is less. Nothing may write into a buffer.
    """

    __slots__ = ("_nbytes", "_objects", "_packed", "scattered")
    scattered: Scattered
    _packed: Packed | None
    _objects: NDArray[np.object_] | None
    _nbytes: int | None

    def __init__(self, rows: Packed | Scattered) -> None:
        scattered = rows if isinstance(rows, Scattered) else Scattered((rows.data,), None, rows.starts, rows.stops)
        object.__setattr__(self, "dtype", BYTES)
        object.__setattr__(self, "scattered", scattered)
        object.__setattr__(self, "_packed", rows if isinstance(rows, Packed) else None)
        object.__setattr__(self, "_objects", None)
        object.__setattr__(self, "_nbytes", None)

    def __reduce__(self) -> tuple[Any, ...]:
        return PackedColumn, (gather_packed(self.scattered),)

    def __len__(self) -> int:
        return len(self.scattered.starts)

    @property
    def packed(self) -> Packed:
        """The rows in one buffer: theirs, where they have one."""
        packed = self._packed
        if packed is None:
            rows = self.scattered
            packed = Packed(rows.buffers[0], rows.starts, rows.stops) if rows.numbers is None else gather_packed(rows)
            object.__setattr__(self, "_packed", packed)
        return packed

    @property
    def values(self) -> NDArray[np.object_]:
        objects = self._objects
        if objects is None:
            objects = object_array(packed_objects(self.scattered))
            object.__setattr__(self, "_objects", objects)
        return objects

    @property
    def nbytes(self) -> int:
        nbytes = self._nbytes
        if nbytes is None:
            nbytes = self.scattered.nbytes + 8 * len(self)
            object.__setattr__(self, "_nbytes", nbytes)
        return nbytes

    @property
    def spec(self) -> Spec:
        return Spec((), BYTES)

    def row(self, index: int) -> Any:
        if self._objects is not None:
            return self._objects[index]
        buffers, numbers, starts, stops = self.scattered
        return buffers[0 if numbers is None else numbers[index]][starts[index] : stops[index]].tobytes()

    def rows(self) -> Sequence[Any]:
        return packed_objects(self.scattered) if self._objects is None else self._objects.tolist()

    def shared(self, indices: Indices) -> PackedColumn:
        """Rows by number where they lie: nothing is copied, and all buffers they lie in are kept."""
        return PackedColumn(self.scattered.rows(indices))

    def take(self, indices: Indices) -> Column:
        return PackedColumn(taken_packed(self.scattered, indices))

    def slice(self, start: int, stop: int) -> Column:
        return PackedColumn(self.scattered.rows(slice(start, stop)))


@dataclass(frozen=True, slots=True)
class RaggedColumn:
    """Leaves that are ragged: of one dtype, rank and ragged rank."""

    values: list[Ragged]

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values[0].dtype

    @property
    def nbytes(self) -> int:
        return sum(value.nbytes for value in self.values)

    @property
    def spec(self) -> Spec:
        first = self.values[0]
        merged: Spec = RaggedSpec(first.shape, first.dtype, first.ragged_rank)
        for shape in {value.shape for value in self.values}:
            merged = merged.merge(Spec(shape, first.dtype))
        return merged

    def row(self, index: int) -> Any:
        return self.values[index]

    def rows(self) -> Sequence[Any]:
        return self.values

    def take(self, indices: Indices) -> Column:
        return RaggedColumn([self.values[i] for i in indices.tolist()])

    def slice(self, start: int, stop: int) -> Column:
        return RaggedColumn(self.values[start:stop])


class Nested:
    """What marks a value as a dataset: a leaf that is not stacked, copied or looked into."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class DatasetsColumn:
    """Leaves that are datasets: `values` [n]. `held_bytes`: what all of them together keep alive, as far as known."""

    values: Any  # a list; whoever stacks has to ask first
    spec: DatasetSpec
    held_bytes: int = 0

    def __len__(self) -> int:
        return len(self.values)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.spec.dtype

    @property
    def nbytes(self) -> int:
        return self.held_bytes

    def row(self, index: int) -> Any:
        return self.values[index]

    def rows(self) -> Sequence[Any]:
        return list(self.values)

    def take(self, indices: Indices) -> Column:
        return DatasetsColumn([self.values[i] for i in indices.tolist()], self.spec, self._share(len(indices)))

    def slice(self, start: int, stop: int) -> Column:
        values = self.values[start:stop]
        return DatasetsColumn(values, self.spec, self._share(len(values)))

    def _share(self, count: int) -> int:
        return self.held_bytes * count // max(1, len(self.values))


Column: TypeAlias = ArrayColumn | RowsColumn | BytesColumn | RaggedColumn | DatasetsColumn


def object_array(values: Sequence[Any]) -> NDArray[np.object_]:
    """[n] objects, never looked into."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def kept_apart(values: list[Any], dtype: np.dtype[Any]) -> Column:
    """The column of values that are arrays, or all ragged."""
    return RaggedColumn(values) if values and isinstance(values[0], Ragged) else RowsColumn(values, dtype)


def column_of_array(array: Array) -> Column:
    """The rows of a user's array as a column that aliases it (read-only), text as objects.

    Shapes: array [n, ...]. An object array must hold only bytes or only str.
    """
    if array.dtype.kind in "SU":
        return BytesColumn(array.astype(object), BYTES if array.dtype.kind == "S" else STR)
    if array.dtype.kind == "O":
        kinds = {type(value) for value in array.ravel().tolist()}
        return BytesColumn(array, BYTES if kinds == {bytes} else STR)
    view = array.view()
    view.flags.writeable = False
    return ArrayColumn(view)


def concat_columns(columns: Sequence[Column]) -> Column:
    """One column after another. They hold the same leaf, so their dtypes agree; shapes may not."""
    if len(columns) == 1:
        return columns[0]
    first = columns[0]
    if isinstance(first, RaggedColumn):
        return RaggedColumn([row for c in columns for row in c.rows()])
    if isinstance(first, DatasetsColumn):
        return DatasetsColumn([row for c in columns for row in c.rows()], first.spec, sum(c.nbytes for c in columns))
    spans = [column.compact() for column in columns if isinstance(column, SpanColumn)]
    if len(spans) == len(columns):
        lengths = np.concatenate([column.lengths for column in spans])
        items = np.concatenate([column.items for column in spans])
        return SpanColumn(items, np.cumsum(lengths) - lengths, lengths, first.spec.dtype)
    packed = [column.scattered for column in columns if isinstance(column, PackedColumn)]
    if len(packed) == len(columns):
        return PackedColumn(joined_packed(packed))
    texts = [column.values for column in columns if isinstance(column, BytesColumn)]
    if len(texts) == len(columns) and len({text.shape[1:] for text in texts}) == 1:
        return BytesColumn(np.concatenate(texts), first.spec.dtype)
    if all(isinstance(c, ArrayColumn) and c.values.shape[1:] == first.spec.shape for c in columns):
        return ArrayColumn(np.concatenate([column.values for column in columns]))
    return RowsColumn([row for column in columns for row in column.rows()], first.spec.dtype)
