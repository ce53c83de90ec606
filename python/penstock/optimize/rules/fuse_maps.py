"""Adjacent maps and filters that run the same way become one segment: one task, one hand-over of a block.

The same way means: equal settings, and both known to be pure or both not. What may drop elements that fail ends its
segment: how many it let through before one that failed is then what the segment put out.
"""

from __future__ import annotations

from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Map
from penstock.optimize.rule import Rule
from penstock.trace.purity import impurity


def rewrite(node: Node, is_root: bool) -> Node:
    if not isinstance(node, Map | Filter):
        return node
    below = node.input
    last = below.steps[-1] if isinstance(below, Chain) else below
    if not isinstance(last, Map | Filter) or _way(last) != _way(node) or last.drops:
        return node
    steps = below.steps if isinstance(below, Chain) else (below,)
    return Chain(inputs=below.inputs, location=node.location, number=node.number, steps=(*steps, node))


def _way(node: Map | Filter) -> tuple[object, ...]:
    if isinstance(node, Filter):
        return (-1, None, "auto", impurity(node.predicate) is None)
    return (node.num_parallel_calls, node.deterministic, node.executor, impurity(node.function) is None)


FUSE_MAPS = Rule("fuse_maps", rewrite)
