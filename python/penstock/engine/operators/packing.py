"""Sequences side by side in elements of fixed length, with the segment and the position of each token.

Segments count from 1 in each element, positions from 0 in each segment; where there is padding both are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.columns import Array, ArrayColumn, Column, Indices, RowsColumn
from penstock.block.origin import BatchOrigins, Origins
from penstock.block.padding import padding_value, per_leaf
from penstock.engine.buffers import BufferPool
from penstock.engine.operators.functions import empty_block
from penstock.errors import PenstockError, StructureError
from penstock.graph.nodes import Pack
from penstock.graph.nodes.packing import leaf_names, packed
from penstock.kernels.packing import mark_segments, place_rows

_MARK = np.dtype(np.int32)


def sequence_lengths(node: Pack, block: Block) -> tuple[Indices, Failure | None]:
    """[n, leaves] tokens of each sequence, up to the first that cannot be packed, and what follows those.

    Raises: StructureError, InvalidArgumentError: these elements, or their dtypes, cannot be packed so.
    """
    try:
        names, capacities = leaf_names(block.structure), node.lengths_of(block.structure)
        packed(block.structure)
        _padding(node, block)
    except PenstockError as error:
        raise error.at(node.label) from None
    columns = list(zip(names, block.columns, strict=True))
    for name, column in columns:
        if len(column.spec.shape or ()) != 1 or not isinstance(column, ArrayColumn | RowsColumn):
            raise StructureError(
                f'leaf "{name}" cannot be packed', got=str(column.spec), expected="a 1-D array of numbers",
                where=f"{node.label}, {block.describe(0)}",
            )  # fmt: skip
    lengths = np.stack([_lengths(column) for _, column in columns], axis=1)
    bad = (lengths > capacities).any(axis=1) if node.strategy != "concat" else (lengths != lengths[:, :1]).any(axis=1)
    if not bad.any():
        return lengths, block.failure
    row = int(np.argmax(bad))
    told = ", ".join(f"{name}: {count}" for name, count in zip(names, lengths[row].tolist(), strict=True))
    where = f"{node.label}, {block.describe(row)}"
    if node.strategy == "concat":
        fault = StructureError("sequences of different lengths", got=told, expected="one length for all", where=where)
    else:
        room = ", ".join(f"{name}: {count}" for name, count in zip(names, capacities, strict=True))
        fault = StructureError(
            "a sequence does not fit", got=told, expected=f"at most {room}", where=where,
            remedy='cut it in a map, or pack(strategy="concat"), which splits what does not fit',
        )  # fmt: skip
    return lengths[:row], Failure(fault)


def _lengths(column: Column) -> Indices:
    if isinstance(column, RowsColumn):
        return np.fromiter(map(len, column.values), dtype=np.int64, count=len(column))
    return np.full(len(column), column.spec.shape[0] if column.spec.shape else 0, dtype=np.int64)


def _padding(node: Pack, block: Block) -> list[Any]:
    values = per_leaf("padding_values", node.padding_values, block.structure)
    leaves = zip(block.structure.names(), values, block.columns, strict=True)
    return [padding_value(name, value, column.dtype) for name, value, column in leaves]


def pack_bins(node: Pack, block: Block, lengths: Indices, bins_of: Indices, pool: BufferPool) -> Block:
    """The sequences of `block`, sequence i in element bins_of[i], in the order they came."""
    order = np.argsort(bins_of, kind="stable")
    bins, lengths = bins_of[order], lengths[order]
    elements, first = np.unique(bins, return_index=True)
    ids = (np.arange(len(bins)) - first[bins] + 1).astype(np.int32)
    values, marks = [], []
    for leaf, (column, length, padding) in enumerate(_leaves(node, block)):
        before = np.cumsum(lengths[:, leaf]) - lengths[:, leaf]
        starts = bins * length + before - before[first[bins]]
        rows = [column.row(row) for row in order.tolist()]
        values.append(_placed(rows, starts, (len(elements), length), column.dtype, padding=padding, pool=pool))
        marks += _marks(starts, lengths[:, leaf], ids, (len(elements), length), pool)
    counts = np.diff(np.append(first, len(bins)))
    return _element_block(block, [*values, *marks], BatchOrigins(block.origins.take(order), first, counts))


def pack_stream(node: Pack, block: Block, ends: Indices, given: int, elements: int, *, pool: BufferPool) -> Block:
    """The sequences of `block` end to end, from token `given` of the first on, cut into `elements` elements.

    `ends`: where each sequence ends, counted in tokens from the start of the first. What does not fill the last
    element is padded; a sequence that is cut is a segment of each element it lies in.
    """
    length = node.lengths_of(block.structure)[0]
    starts = np.maximum(np.append(0, ends[:-1]) - given, 0)
    stop = min(elements * length, int(ends[-1]) - given)
    count = int(np.searchsorted(starts, stop))  # the sequences of which something is taken
    begins = starts[:count]
    pieces = np.unique(np.concatenate([begins[ends[:count] > given + begins], np.arange(0, stop, length)]))
    of_element = pieces // length
    ids = (np.arange(len(pieces)) - np.searchsorted(of_element, of_element) + 1).astype(np.int32)
    sizes = np.diff(np.append(pieces, stop))
    values, marks = [], []
    for column, _, padding in _leaves(node, block):
        rows = [column.row(row) for row in range(count)]
        if count:
            rows[0] = rows[0][given:]
            rows[-1] = rows[-1][: len(rows[-1]) - max(0, int(ends[count - 1]) - given - stop)]
        values.append(_placed(rows, begins, (elements, length), column.dtype, padding=padding, pool=pool))
        marks += _marks(pieces, sizes, ids, (elements, length), pool)
    edges = np.arange(elements, dtype=np.int64) * length
    first = np.searchsorted(ends, edges + given, side="right")
    last = np.searchsorted(begins, np.minimum(edges + length, stop))
    return _element_block(block, [*values, *marks], BatchOrigins(block.origins, first, last - first))


def _leaves(node: Pack, block: Block) -> list[tuple[Column, int, Any]]:
    return list(zip(block.columns, node.lengths_of(block.structure), _padding(node, block), strict=True))


def _placed(
    rows: list[Array], starts: Indices, shape: tuple[int, int], dtype: np.dtype[Any], *, padding: Any, pool: BufferPool
) -> Array:
    out = pool.array(shape, dtype)
    out.fill(padding)
    place_rows(rows, starts, out)
    return out


def _marks(starts: Indices, lengths: Indices, ids: Array, shape: tuple[int, int], pool: BufferPool) -> list[Array]:
    segments, positions = pool.array(shape, _MARK), pool.array(shape, _MARK)
    segments.fill(0)
    positions.fill(0)
    mark_segments(starts, lengths, ids, segments, positions)
    return [segments, positions]


def _element_block(block: Block, leaves: list[Array], origins: Origins) -> Block:
    if not len(origins):
        return empty_block(origins)
    return Block(packed(block.structure), tuple(ArrayColumn(leaf) for leaf in leaves), origins)
