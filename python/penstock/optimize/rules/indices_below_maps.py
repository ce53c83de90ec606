"""Permutations and strides move below maps, next to the source.

A map is one-to-one and draws by origin, so choosing elements first gives the same elements. What is gained: a map that
must run with one worker no longer ties what is above it to that worker, and adjacent maps meet.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.node import Node
from penstock.graph.nodes import Map, Permute, Stride
from penstock.optimize.rule import Rule


def rewrite(node: Node, is_root: bool) -> Node:
    if isinstance(node, Permute | Stride) and isinstance(node.input, Map) and not node.input.drops:
        lower = node.input
        return replace(lower, inputs=(replace(node, inputs=lower.inputs),))
    return node


INDICES_BELOW_MAPS = Rule("indices_below_maps", rewrite)
