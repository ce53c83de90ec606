"""Drop what changes nothing.

A prefetch inside the graph is dropped because every stage runs ahead of the next one anyway; the one at the root is
kept, as it says how far. An ignore_errors has been heard already. take, skip, shard and repeat go when they keep
everything, an assertion when it is known to hold.
"""

from __future__ import annotations

from penstock.graph.node import Node
from penstock.graph.nodes import AssertCardinality, IgnoreErrors, Prefetch, Repeat, Shard, Skip, Stride, Take
from penstock.optimize.rule import Rule


def rewrite(node: Node, is_root: bool) -> Node:
    if (isinstance(node, Prefetch) and not is_root) or isinstance(node, IgnoreErrors):
        return node.input
    count = node.input.cardinality() if node.inputs else 0
    idle = (
        (isinstance(node, Take) and (node.count == -1 or 0 <= count <= node.count))
        or (isinstance(node, Skip) and node.count == 0)
        or (isinstance(node, Shard) and node.num_shards == 1)
        or (isinstance(node, Repeat) and node.count == 1)
        or (isinstance(node, AssertCardinality) and node.count == count)
        or (isinstance(node, Stride) and (node.start, node.step, node.count) == (0, 1, count))
    )
    return node.input if idle else node


DROP_NOOPS = Rule("drop_noops", rewrite)
