"""Rows of unequal shape into batches of one: each row goes to the start of its slot, the rest of which is padding.

A dimension that `padded_shapes` leaves open is as long as the longest row of its batch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Array, ArrayColumn, BytesColumn, Indices, RaggedColumn, RowsColumn, SpanColumn
from penstock.block.padding import Dims, padding_value, per_leaf
from penstock.engine.buffers import BufferPool
from penstock.engine.operators.batching import JoinStopError, join_batches
from penstock.engine.operators.functions import empty_block
from penstock.errors import PenstockError, StackError, StructureError
from penstock.graph.nodes import PaddedBatch
from penstock.kernels.packing import pad_spans, place_rows

_Dense: TypeAlias = ArrayColumn | RowsColumn | BytesColumn


def pad_batches(node: PaddedBatch, block: Block, counts: Indices, pool: BufferPool) -> Block:
    """The rows of `block` as len(counts) batches, padded. Rows that do not fit end the result before their batch.

    Raises: StructureError, InvalidArgumentError: `padded_shapes` or `padding_values` do not suit these elements.
    """
    wanted = [node.padded_shapes] * len(counts)
    return pad_each(block, counts, wanted, node.padding_values, label=node.label, pool=pool)


def pad_each(
    block: Block, counts: Indices, wanted: Sequence[Any], padding_values: Any, *, label: str, pool: BufferPool
) -> Block:
    """As `pad_batches`, batch i of a shape of its own, wanted[i]: a nest of `Dims`, None for the longest rows."""
    if not len(block):  # it has no columns, and says nothing of the elements
        return empty_block(block.origins, block.failure)
    names = block.structure.names()
    try:
        known: dict[int, list[Any]] = {}
        for nest in wanted:
            if id(nest) not in known:
                known[id(nest)] = per_leaf("padded_shapes", nest, block.structure)
        values = per_leaf("padding_values", padding_values, block.structure)
        padding = [
            padding_value(name, value, column.dtype)
            for name, value, column in zip(names, values, block.columns, strict=True)
        ]
    except PenstockError as error:
        raise error.at(label) from None

    odd = next((n for n, column in zip(names, block.columns, strict=True) if isinstance(column, RaggedColumn)), None)
    if odd is not None:
        raise StructureError(
            f'leaf "{odd}" is ragged, and cannot be padded', where=label,
            remedy="unbatch, or map it to its to_padded(), first",
        )  # fmt: skip

    def join(leaf: int, name: str, starts: Indices, counts: Indices) -> list[Any]:
        column = block.columns[leaf]
        shapes = [known[id(nest)][leaf] for nest in wanted]
        if isinstance(column, SpanColumn) and column.items.dtype.kind != "O":
            together = _padded_spans(column, starts, counts, shapes, value=padding[leaf], pool=pool)
            if together is not None:
                return together
        batches: list[Array] = []
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            rows = column.slice(start, start + count)
            assert isinstance(rows, _Dense)
            describe = partial(_describe, block, start)
            try:
                shape = _shape(name, rows, shapes[len(batches)], describe)
            except StackError as error:
                raise JoinStopError(len(batches), batches, error) from None
            batches.append(_padded(rows, shape, padding[leaf], pool))
        return batches

    return join_batches(block, block.origins, counts, label, join)


def _padded_spans(
    column: SpanColumn, starts: Indices, counts: Indices, shapes: list[Dims | None], *, value: Any, pool: BufferPool
) -> list[Array] | None:
    """All batches of a leaf in one call; None where a row does not fit, which is told one batch after another."""
    if not len(counts) or not counts.all():
        return None
    rows = slice(0, int(starts[-1] + counts[-1]))
    longest = np.maximum.reduceat(column.lengths[rows], starts).tolist()
    widths: list[int] = []
    for most, dims in zip(longest, shapes, strict=False):
        wanted = None if dims is None or not dims.sizes else dims.sizes[0]
        if (dims is not None and len(dims.sizes) != 1) or (wanted is not None and wanted < most):
            return None
        widths.append(most if wanted is None else wanted)
    outs = pool.arrays(
        tuple((count, width) for count, width in zip(counts.tolist(), widths, strict=True)), column.dtype
    )
    if sum(widths):
        pad_spans(column.items, column.starts[rows], column.lengths[rows], value, outs)
    return outs


def _describe(block: Block, start: int, row: int) -> str:
    return block.describe(start + row)


def _row_shapes(column: _Dense) -> list[tuple[int, ...]]:
    if isinstance(column, SpanColumn):
        return [(length,) for length in column.lengths.tolist()]
    if isinstance(column, RowsColumn):
        return [row.shape for row in column.values]
    return [column.values.shape[1:]]


def _shape(name: str, rows: _Dense, wanted: Dims | None, describe: Callable[[int], str]) -> tuple[int, ...]:
    """The shape all rows of a batch get. Raises: StackError: one does not fit."""
    if isinstance(rows, SpanColumn):
        longest: tuple[int, ...] = (int(rows.lengths.max()),)
    else:
        longest = tuple(max(sizes) for sizes in zip(*_row_shapes(rows), strict=True))
    if wanted is None:
        return longest
    if len(wanted.sizes) != len(longest):
        shapes = _row_shapes(rows)
        raise StackError(
            f'leaf "{name}" has shape {shapes[0]} at {describe(0)}',
            expected=f"{len(wanted.sizes)} dimensions, to be padded to {wanted}",
            remedy="padded_shapes needs a size or None for every dimension",
        )
    if all(size is None or size >= most for size, most in zip(wanted.sizes, longest, strict=True)):
        return tuple(most if size is None else size for size, most in zip(wanted.sizes, longest, strict=True))
    shapes = _row_shapes(rows)
    odd = next(row for row, shape in enumerate(shapes) if not wanted.has_room(shape))
    raise StackError(
        f'leaf "{name}" has shape {shapes[odd]} at {describe(odd)}',
        expected=f"at most {wanted}, its padded shape",
        remedy="cut it in a map, or leave the dimension None: then it is padded to the longest of its batch",
    )


def _padded(rows: _Dense, shape: tuple[int, ...], value: Any, pool: BufferPool) -> Array:
    """[len(rows), *shape], rows at the start of their slots."""
    dtype = np.dtype(object) if rows.dtype.kind in "SU" else rows.dtype
    out = pool.array((len(rows), *shape), dtype)
    if isinstance(rows, RowsColumn):
        if any(row.shape != shape for row in rows.values):
            out.fill(value)
        if dtype.kind != "O" and all(row.shape[1:] == shape[1:] for row in rows.values):  # each lies in one piece
            place_rows(rows.values, np.arange(len(rows), dtype=np.int64) * math.prod(shape), out)
            return out
        for place, row in enumerate(rows.values):
            out[place][_corner(row)] = row
        return out
    if rows.values.shape[1:] != shape:
        out.fill(value)
    out[_corner(rows.values)] = rows.values
    return out


def _corner(rows: Array) -> tuple[slice, ...]:
    """Where a row goes in its slot, or rows in theirs."""
    return tuple(slice(size) for size in rows.shape)
