"""take, skip, shard and slices of an index-driven input become one stride: indices are computed, none skipped over.

Two strides in a row become one.
"""

from __future__ import annotations

from penstock.graph.node import INFINITE, Node, is_index_driven
from penstock.graph.nodes import Shard, Skip, Stride, Take
from penstock.optimize.rule import Rule


def rewrite(node: Node, is_root: bool) -> Node:
    if isinstance(node, Take | Skip | Shard) and is_index_driven(node.input):
        node = _stride(node)
    if isinstance(node, Stride) and isinstance(node.input, Stride):
        inner = node.input
        return Stride(
            inputs=inner.inputs,
            location=node.location,
            number=node.number,
            name=node.name,
            start=inner.start + node.start * inner.step,
            step=inner.step * node.step,
            count=node.count,
        )
    return node


def _stride(node: Take | Skip | Shard) -> Stride:
    start, step = 0, 1
    if isinstance(node, Skip):
        count = node.input.cardinality()
        start = count if node.count == -1 else node.count if count == INFINITE else min(node.count, count)
    elif isinstance(node, Shard):
        start, step = node.index, node.num_shards
    return Stride(
        inputs=node.inputs,
        location=node.location,
        number=node.number,
        name=node.verb,
        start=max(start, 0),
        step=step,
        count=node.cardinality(),
    )


SLICES_TO_STRIDES = Rule("slices_to_strides", rewrite)
