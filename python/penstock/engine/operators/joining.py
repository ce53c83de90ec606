"""How rows become batches, by the kind of batch."""

from __future__ import annotations

from penstock.block.block import Block
from penstock.block.columns import Indices
from penstock.engine.buffers import BufferPool
from penstock.engine.operators.batching import stack_batches
from penstock.engine.operators.padding import pad_batches
from penstock.graph.nodes import Batch, PaddedBatch


def is_plain(node: Batch) -> bool:
    """Whether a batch is its rows stacked and nothing else, so that each row has its place before any is known."""
    return type(node) is Batch


def join_rows(node: Batch, block: Block, counts: Indices, pool: BufferPool, *, adopt: bool = False) -> Block:
    """The rows of `block` as len(counts) batches of the kind `node` makes, batch i of counts[i] rows.

    A failure, of the block or of a batch that cannot be made, follows the batches before it. `adopt`: as
    `stack_batches`.
    """
    if isinstance(node, PaddedBatch):
        return pad_batches(node, block, counts, pool)
    return stack_batches(block, counts, pool, node.label, adopt=adopt)
