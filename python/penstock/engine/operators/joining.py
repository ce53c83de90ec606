"""How rows become batches, by the kind of batch."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Array, Indices, RowsColumn
from penstock.block.origin import BatchOrigins
from penstock.engine.buffers import BufferPool
from penstock.engine.operators.batching import stack_batches
from penstock.engine.operators.padding import pad_batches
from penstock.engine.operators.ragged import gather_ragged
from penstock.errors import StructureError
from penstock.graph.nodes import Batch, PaddedBatch, RaggedBatch
from penstock.graph.nodes.grouping import weighted


def is_plain(node: Batch) -> bool:
    """Whether a batch is its rows stacked and nothing else, so that each row has its place before any is known."""
    return type(node) is Batch and not node.pads_remainder


def join_rows(node: Batch, block: Block, counts: Indices, pool: BufferPool, *, adopt: bool = False) -> Block:
    """The rows of `block` as len(counts) batches of the kind `node` makes, batch i of counts[i] rows.

    A failure, of the block or of a batch that cannot be made, follows the batches before it. `adopt`: as
    `stack_batches`.
    """
    if isinstance(node, PaddedBatch):
        return pad_batches(node, block, counts, pool)
    if isinstance(node, RaggedBatch):
        return gather_ragged(node, block, counts, pool)
    if not node.pads_remainder:
        return stack_batches(block, counts, pool, node.label, adopt=adopt)
    counts = counts[: int(np.searchsorted(np.cumsum(counts), len(block), side="right"))]
    if not len(counts) or int(counts.min()) == node.batch_size:
        return weigh(node, stack_batches(block, counts, pool, node.label, adopt=adopt), counts, pool)
    places = np.minimum(np.arange(node.batch_size, dtype=np.int64), counts[:, np.newaxis] - 1)
    rows = block.take((places + (np.cumsum(counts) - counts)[:, np.newaxis]).ravel())
    filled = Block(rows.structure, rows.columns, rows.origins, block.failure)
    full = np.full_like(counts, node.batch_size)
    return weigh(node, stack_batches(filled, full, pool, node.label), counts, pool)


def weigh(node: Batch, batches: Block, counts: Indices, pool: BufferPool) -> Block:
    """Batches of `node.batch_size` rows with the weights of their rows: 1 for the first `counts[i]`, 0 for the rest."""
    if not len(batches):
        return batches
    weights: list[Array] = []
    for count in counts.tolist()[: len(batches)]:
        of_rows = pool.array((node.batch_size,), np.dtype(np.float32))
        of_rows[:count], of_rows[count:] = 1, 0
        weights.append(of_rows)
    try:
        structure = weighted(batches.structure)
    except StructureError as error:
        raise error.at(node.label) from None
    origins = batches.origins
    if isinstance(origins, BatchOrigins):
        origins = BatchOrigins(origins.inner, origins.starts, counts[: len(batches)])  # a copy is no row of its own
    columns = (*batches.columns, RowsColumn(weights, np.dtype(np.float32)))
    return Block(structure, columns, origins, batches.failure)
