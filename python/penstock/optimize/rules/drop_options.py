"""Drop the nodes that carry options: they were collected before.

On its own and first, so that a prefetch below the options of a whole pipeline is seen to be its last step.
"""

from __future__ import annotations

from penstock.graph.node import Node
from penstock.graph.nodes import WithOptions
from penstock.optimize.rule import Rule


def rewrite(node: Node, is_root: bool) -> Node:
    return node.input if isinstance(node, WithOptions) else node


DROP_OPTIONS = Rule("drop_options", rewrite)
