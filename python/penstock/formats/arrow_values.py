"""Arrow arrays as the columns of a block: numbers without a copy, the rest row by row as it is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.columns import Array, ArrayColumn, BytesColumn, Column, Indices, RaggedColumn, RowsColumn
from penstock.block.ragged import Ragged
from penstock.block.spec import Spec
from penstock.formats.arrow_leaves import EXTRA, ArrowLeaf, is_list, scalar_of
from penstock.formats.extras import library
from penstock.formats.store import Memory
from penstock.kernels.gather import gather_parts

Columns = tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class LeafValues:
    """One leaf of many rows: an array of numbers, else an Arrow array.

    nulls: rows that hold one, None if none do. is_view: it lies where the table does.
    """

    values: Any
    nulls: NDArray[np.bool_] | None
    is_view: bool = True

    @property
    def nbytes(self) -> int:
        return int(self.values.nbytes)


def leaf_values(table: Any, leaf: ArrowLeaf) -> LeafValues:
    """A leaf of a table or a record batch. Cost: none for numbers without nulls that lie in one piece."""
    array = _one_piece(table.column(leaf.path[0]))
    for key in leaf.path[1:]:
        array = _plain(array)
        array = array.flatten()[array.type.get_field_index(key)]  # a null struct makes all its fields null
    stored = array
    array = _decoded(array)
    if leaf.fills and (array.null_count or is_list(array.type)):
        array = _filled(array, scalar_of(leaf.fill, array.type))
    nulls = _null_rows(array)
    if not leaf.is_number:
        return LeafValues(array, nulls, array is stored)
    numbers = _numbers(array, leaf.spec.dtype)
    is_view = array is stored and not numbers.flags.owndata
    return LeafValues(numbers.reshape(len(array), *(leaf.spec.shape or ())), nulls, is_view)


def _one_piece(column: Any) -> Any:
    """The column of a table or batch as one array."""
    if not hasattr(column, "combine_chunks"):
        return column
    if column.num_chunks == 1:
        return column.chunk(0)
    joined = column.combine_chunks()
    return joined if not hasattr(joined, "num_chunks") else library("pyarrow", EXTRA).concat_arrays(joined.chunks)


def _plain(array: Any) -> Any:
    """Without dictionaries and extensions at the outside."""
    while True:
        if hasattr(array, "dictionary_decode"):
            array = array.dictionary_decode()
        elif hasattr(array, "storage"):
            array = array.storage
        else:
            return array


def _decoded(array: Any) -> Any:
    """Without dictionaries, extensions and views of lists, inside lists too."""
    pa = library("pyarrow", EXTRA)
    array = _plain(array)
    kind = array.type
    if pa.types.is_list_view(kind) or pa.types.is_large_list_view(kind):
        array = array.cast(pa.list_(kind.value_type) if pa.types.is_list_view(kind) else pa.large_list(kind.value_type))
        kind = array.type
    if not (is_list(kind) or pa.types.is_fixed_size_list(kind)):
        return array
    inner = array.values
    plain = _decoded(inner)
    if plain is inner or plain.type == inner.type:
        return array
    return _relisted(array, plain)


def _relisted(array: Any, items: Any) -> Any:
    """The same lists, of other items."""
    pa = library("pyarrow", EXTRA)
    mask = array.is_null() if array.null_count else None
    if pa.types.is_fixed_size_list(array.type):
        size = array.type.list_size
        return pa.FixedSizeListArray.from_arrays(items.slice(array.offset * size, len(array) * size), size, mask=mask)
    made = pa.LargeListArray if pa.types.is_large_list(array.type) else pa.ListArray
    offsets = pa.concat_arrays([array.offsets, array.offsets.slice(0, 0)])  # a mask goes with offsets from 0 on
    return made.from_arrays(offsets, items, mask=mask)


def _filled(array: Any, scalar: Any) -> Any:
    """Nulls replaced: whole rows by a list, items by what is none."""
    compute = library("pyarrow.compute", EXTRA)
    if array.type == scalar.type:
        return compute.if_else(array.is_null(), scalar, array) if array.null_count else array
    return _relisted(array, _filled(array.values, scalar))


def _null_rows(array: Any) -> NDArray[np.bool_] | None:
    """The rows that are null, or hold a null item."""
    types = library("pyarrow", EXTRA).types
    nulls: NDArray[np.bool_] | None = None
    if array.null_count:
        nulls = array.is_null().to_numpy(zero_copy_only=False).astype(bool)
    if is_list(array.type) or types.is_fixed_size_list(array.type):
        inner = _null_rows(array.flatten())
        if inner is not None:
            parents = library("pyarrow.compute", EXTRA).list_parent_indices(array).to_numpy(zero_copy_only=False)
            nulls = np.zeros(len(array), dtype=bool) if nulls is None else nulls
            nulls[parents[inner]] = True
    return nulls


def _numbers(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """An array of numbers, dates or truths; flat. Nulls are zeros."""
    pa = library("pyarrow", EXTRA)
    while pa.types.is_fixed_size_list(array.type):
        start, size = array.offset * array.type.list_size, len(array) * array.type.list_size
        array = array.values.slice(start, size)  # not `flatten`: rows that are null keep their place
    if dtype.kind in "mM":
        array = array.view(pa.int32() if array.type.bit_width == 32 else pa.int64())
    if array.null_count:
        array = array.fill_null(pa.scalar(0).cast(array.type))
    numbers: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return numbers.astype(np.int64).view(dtype) if dtype.kind in "mM" else numbers


@dataclass(frozen=True, slots=True)
class Picked:
    """Rows of several parts: row i of the result is row `rows[i]` of part `parts[i]`.

    places: for each part, which rows of the result it gives. run: all of one part, one after another.
    """

    parts: Indices
    rows: Indices
    places: tuple[Indices, ...]
    run: tuple[int, int] | None

    @classmethod
    def of(cls, parts: Indices, rows: Indices, count: int) -> Picked:
        """Of `count` parts."""
        if count == 1:
            is_run = int(rows[-1]) - int(rows[0]) == len(rows) - 1 and bool((np.diff(rows) == 1).all())
            run = (int(rows[0]), int(rows[-1]) + 1) if is_run else None
            return cls(parts, rows, (np.arange(len(rows)),), run)
        return cls(parts, rows, tuple(np.flatnonzero(parts == number) for number in range(count)), None)


def pick(leaves: Sequence[ArrowLeaf], parts: Sequence[Sequence[LeafValues]], picked: Picked, memory: Memory) -> Columns:
    """Rows of several parts as columns. Cost: a copy, but for numbers that follow each other in one part: a view."""
    count = len(picked.rows)
    columns: list[Column | None] = [None] * len(leaves)
    numbers = [index for index, leaf in enumerate(leaves) if leaf.is_number]
    if picked.run is not None:
        for index in numbers:
            columns[index] = ArrayColumn(_view(parts[0][index].values, *picked.run))
    else:
        for index, outs in _gather({n: leaves[n].spec for n in numbers}, parts, picked, (count,), memory).items():
            columns[index] = ArrayColumn(outs[0])
    for index, leaf in enumerate(leaves):
        if not leaf.is_number:
            values = [part[index].values for part in parts]
            columns[index] = _texts(leaf, values, picked) if leaf.is_text else _lists(leaf, values, picked)
    return tuple(column for column in columns if column is not None)


def pick_batches(
    leaves: Sequence[ArrowLeaf], parts: Sequence[Sequence[LeafValues]], picked: Picked, counts: Indices, memory: Memory
) -> Columns:
    """As `pick`, rows going straight to their places in batches of `counts` rows; for numbers and text alone."""
    sizes = counts.tolist()
    numbers = [index for index, leaf in enumerate(leaves) if leaf.is_number]
    batches: dict[int, list[Any]] = _gather({n: leaves[n].spec for n in numbers}, parts, picked, sizes, memory)
    starts = (np.cumsum(counts) - counts).tolist()
    for index, leaf in enumerate(leaves):
        if leaf.is_text:
            texts = _texts(leaf, [part[index].values for part in parts], picked).values
            batches[index] = [texts[start : start + size].copy() for start, size in zip(starts, sizes, strict=True)]
    return tuple(RowsColumn(batches[index], leaf.spec.dtype) for index, leaf in enumerate(leaves))


def _gather(
    specs: dict[int, Spec],
    parts: Sequence[Sequence[LeafValues]],
    picked: Picked,
    sizes: Sequence[int],
    memory: Memory,
) -> dict[int, list[Array]]:
    """The picked rows of the leaves of these numbers, in arrays of `sizes` rows. One piece of memory a spec."""
    kinds: dict[Spec, list[int]] = {}
    for index, spec in specs.items():
        kinds.setdefault(spec, []).append(index)
    outs: dict[int, list[Array]] = {}
    for spec, alike in kinds.items():
        shapes = tuple((size, *(known or 0 for known in spec.shape or ())) for size in sizes)
        arrays = memory.arrays(shapes * len(alike), spec.dtype)
        outs |= {index: arrays[n * len(sizes) : (n + 1) * len(sizes)] for n, index in enumerate(alike)}
    if specs:
        sources = [[part[index].values for part in parts] for index in specs]
        gather_parts(sources, picked.parts, picked.rows, [outs[index] for index in specs])
    return outs


def _view(values: Array, start: int, stop: int) -> Array:
    view = values[start:stop]
    view.flags.writeable = False
    return view


def _texts(leaf: ArrowLeaf, arrays: Sequence[Any], picked: Picked) -> BytesColumn:
    if len(arrays) == 1:
        return BytesColumn(_objects(_taken(arrays[0], picked, 0)), leaf.spec.dtype)
    out = np.empty(len(picked.rows), dtype=object)
    for number, array in enumerate(arrays):
        out[picked.places[number]] = _objects(_taken(array, picked, number))
    return BytesColumn(out, leaf.spec.dtype)


def _lists(leaf: ArrowLeaf, arrays: Sequence[Any], picked: Picked) -> Column:
    out: list[Any] = [None] * len(picked.rows)
    for number, array in enumerate(arrays):
        taken = _taken(array, picked, number)
        rows = _ragged(taken, leaf) if leaf.spec.ragged_rank else _rows(taken, leaf)
        for row, place in zip(rows, picked.places[number].tolist(), strict=True):
            out[place] = row
    return RaggedColumn(out) if leaf.spec.ragged_rank else RowsColumn(out, leaf.spec.dtype)


def _taken(array: Any, picked: Picked, part: int) -> Any:
    if picked.run is not None:
        return array.slice(picked.run[0], len(picked.rows))
    return array.take(library("pyarrow", EXTRA).array(picked.rows[picked.places[part]]))


def _objects(array: Any) -> NDArray[np.object_]:
    """Text as Python objects."""
    values: NDArray[Any] = array.to_numpy(zero_copy_only=False)
    return values if values.dtype == object else values.astype(object)


def _splits(array: Any) -> NDArray[np.int64]:
    """Where rows begin and end in what `flatten` gives, from 0 on. No row may be null."""
    lengths = library("pyarrow.compute", EXTRA).list_value_length(array).to_numpy(zero_copy_only=False)
    splits = np.zeros(len(array) + 1, dtype=np.int64)
    np.cumsum(lengths, out=splits[1:])
    return splits


def _flat(array: Any, dtype: np.dtype[Any]) -> NDArray[Any]:
    """What stands in lists: numbers, with the axes of lists of fixed size, or text."""
    types = library("pyarrow", EXTRA).types
    shape: tuple[int, ...] = ()
    inner = array
    while types.is_fixed_size_list(inner.type):
        shape, inner = (*shape, inner.type.list_size), inner.flatten()
    flat = _objects(inner) if dtype.kind in "SU" else _numbers(inner, dtype)
    return flat.reshape(len(array), *shape)


def _rows(array: Any, leaf: ArrowLeaf) -> list[NDArray[Any]]:
    """Each row of a list as an array."""
    if library("pyarrow", EXTRA).types.is_fixed_size_list(array.type):
        return list(_flat(array, leaf.spec.dtype))
    flat, ends = _flat(array.flatten(), leaf.spec.dtype), _splits(array).tolist()
    return [flat[start:stop] for start, stop in pairwise(ends)]


def _ragged(array: Any, leaf: ArrowLeaf) -> Ragged:
    """Lists of lists as one Ragged, a row of which is a row of the table."""
    inner = array.flatten()
    return Ragged(_ragged(inner, leaf) if is_list(inner.type) else _flat(inner, leaf.spec.dtype), _splits(array))
