"""Rows of batches into batches of other sizes: slices of what came, copied once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.collate import stack_error
from penstock.block.columns import Column, Indices, RaggedColumn
from penstock.block.origin import RowOrigins
from penstock.block.ragged import Ragged
from penstock.engine.buffers import BufferPool
from penstock.engine.operators.batching import JoinStopError, join_batches


def rows_in_batches(
    block: Block, ends: Indices, first: int, counts: Indices, origins: RowOrigins, *, pool: BufferPool, label: str
) -> Block:
    """The rows of all elements of `block`, from row `first` on, as batches; batch i of counts[i] rows.

    `ends`: where the rows of each element end. `origins`: of the rows taken. Rows of unequal shape end the result
    before their batch, with a StackError.
    """

    def join(leaf: int, name: str, starts: Indices, counts: Indices) -> list[Any]:
        column = block.columns[leaf]
        dtype = np.dtype(object) if column.spec.dtype.kind in "SU" else column.spec.dtype
        batches: list[Any] = []
        for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
            parts = list(_slices(column, ends, first + start, first + start + count))
            if isinstance(column, RaggedColumn):
                batches.append(Ragged.concat(parts))
                continue
            shape, done = parts[0].shape[1:], 0
            out = pool.array((count, *shape), dtype)
            for part in parts:
                if part.shape[1:] != shape:
                    where = origins.describe(start + done)
                    raise JoinStopError(len(batches), batches, stack_error(name, part.shape[1:], where, shape))
                out[done : done + len(part)] = part
                done += len(part)
            batches.append(out)
        return batches

    return join_batches(block, origins, counts, label, join)


def _slices(column: Column, ends: Indices, start: int, stop: int) -> Iterator[Any]:
    """Rows start to stop of all elements laid one after another, a slice of each that has some."""
    element = int(np.searchsorted(ends, start, side="right"))
    while start < stop:
        begins = int(ends[element - 1]) if element else 0
        until = min(stop, int(ends[element]))
        if until > start:
            yield column.row(element)[start - begins : until - begins]
            start = until
        element += 1
