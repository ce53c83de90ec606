"""What `ignore_errors` means: every step below it leaves out the elements that fail there, and goes on."""

from __future__ import annotations

from dataclasses import replace

from penstock.graph.node import Node
from penstock.graph.nodes import Cache, Nesting
from penstock.graph.nodes.fallible import Fallible
from penstock.graph.walk import rebuild


def ignoring(root: Node, *, tells: bool) -> Node:
    """The graph with every step that calls user code leaving out what fails. Caches in it are filled anew."""

    def change(node: Node, is_root: bool) -> Node:
        if isinstance(node, Fallible | Nesting):
            return replace(node, ignores=True, tells=tells or node.tells)
        if isinstance(node, Cache):  # what it keeps is no longer what the same cache without this keeps
            return replace(node, store=type(node.store)())
        return node

    return rebuild(root, change)
