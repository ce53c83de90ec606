"""take(n) tells a generator below it to yield no more than it needs: take(3) of a generator pulls three.

The limit passes what is one-to-one; skip adds to it, a batch multiplies it. The take itself stays.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.node import Node
from penstock.graph.nodes import Batch, Enumerate, Generator, Map, Prefetch, Skip, Take
from penstock.optimize.rule import Rule


def rewrite(node: Node, is_root: bool) -> Node:
    if not isinstance(node, Take) or node.count < 0:
        return node
    limited = _limited(node.input, node.count)
    return node if limited is node.input else replace(node, inputs=(limited,))


def _limited(node: Node, limit: int) -> Node:
    if isinstance(node, Generator):
        return node if node.limit is not None and node.limit <= limit else replace(node, limit=limit)
    if isinstance(node, Batch):
        limit *= node.batch_size
    elif isinstance(node, Skip) and node.count >= 0:
        limit += node.count
    elif isinstance(node, Take) and node.count >= 0:
        limit = min(limit, node.count)
    elif not (isinstance(node, Enumerate | Prefetch) or (isinstance(node, Map) and not node.drops)):
        return node
    limited = _limited(node.input, limit)
    return node if limited is node.input else replace(node, inputs=(limited,))


LIMIT_BELOW_MAPS = Rule("limit_below_maps", rewrite)
