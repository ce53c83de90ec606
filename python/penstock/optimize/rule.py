"""A rule: a name and a small pure function from a node to the node that takes its place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.graph.node import Node


@dataclass(frozen=True, slots=True)
class Rule:
    """`rewrite(node, is_root)` gives the node itself when it has nothing to say. Inputs are already rewritten."""

    name: str
    rewrite: Callable[[Node, bool], Node]


@dataclass(frozen=True, slots=True)
class Step:
    """One rule's effect, for `explain()`: the graph before and after, and the seconds it took."""

    rule: str
    before: Node
    after: Node
    seconds: float
