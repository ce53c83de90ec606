"""Rows of different lengths into ragged batches: items end to end, and where each row ends."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Array, ArrayColumn, Column, Indices, RaggedColumn, RowsColumn
from penstock.block.ragged import Ragged
from penstock.engine.buffers import BufferPool
from penstock.engine.operators.batching import join_batches, ragged_batches, stack_leaf
from penstock.graph.nodes import RaggedBatch


def gather_ragged(node: RaggedBatch, block: Block, counts: Indices, pool: BufferPool) -> Block:
    """The rows of `block` as len(counts) batches, ragged in the axes that the node says vary."""

    def join(leaf: int, name: str, starts: Indices, counts: Indices) -> list[Any]:
        column = block.columns[leaf]
        rank = node.ragged_rank_of(leaf, len(column.spec.shape or ()))
        if isinstance(column, RaggedColumn) or not rank:  # what is ragged already is batched as it is
            return stack_leaf(name, column, starts, counts, pool=pool, describe=block.describe)
        rows = _as_rows(column, rank, node.row_splits_dtype)
        return ragged_batches(
            name, rows, starts, counts, describe=block.describe, row_splits_dtype=node.row_splits_dtype
        )

    return join_batches(block, block.origins, counts, node.label, join)


def _as_rows(column: Column, rank: int, dtype: np.dtype[Any]) -> RowsColumn | RaggedColumn:
    """Each row by itself, as ragged as its batch is to be but for the first axis."""
    rows = list(column.values) if isinstance(column, ArrayColumn) else list(column.rows())
    return (
        RowsColumn(rows, column.dtype)
        if rank == 1
        else RaggedColumn([_partitioned(row, rank - 1, dtype) for row in rows])
    )


def _partitioned(row: Array, rank: int, dtype: np.dtype[Any]) -> Ragged:
    """A dense array as a Ragged of this rank."""
    items = row.reshape(row.shape[0] * row.shape[1], *row.shape[2:])
    splits = np.arange(len(row) + 1, dtype=dtype) * row.shape[1]
    return Ragged(items if rank == 1 else _partitioned(items, rank - 1, dtype), splits.astype(dtype))
