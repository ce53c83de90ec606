"""Adjacent maps of one segment become one program, if all of them compile: what the last ones drop, none computes.

A decoded image that the next map drops is not decoded, and decode, resize and normalise written as three maps still
become one pass over the file. A map that may drop elements stays alone: which elements come must not depend on what is
read of them; so does one with an `output_signature`, except as the last.
"""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Map
from penstock.optimize.rule import Rule
from penstock.trace.tracer import obstacle


def rewrite(node: Node, is_root: bool) -> Node:
    if not isinstance(node, Chain) or node.joined:
        return node
    runs: list[tuple[int, int]] = []
    start = 0
    for stop in range(1, len(node.steps) + 1):
        if stop < len(node.steps) and _joins(node.steps[stop - 1], node.steps[stop]):
            continue
        if stop - start > 1:
            runs.append((start, stop))
        start = stop
    return replace(node, joined=tuple(runs)) if runs else node


def _joins(first: Node, second: Node) -> bool:
    return (
        isinstance(first, Map)
        and isinstance(second, Map)
        and first.declared is None
        and all(map(_is_compilable, (first, second)))
    )


def _is_compilable(node: Map) -> bool:
    return node.compiles and node.on_error == "raise" and not node.ignores and obstacle(node.function) is None


JOIN_MAPS = Rule("join_maps", rewrite)
