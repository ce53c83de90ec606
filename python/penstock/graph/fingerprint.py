"""The order fingerprint: equal when two graphs give the same elements in the same order, as far as a graph can say.

It guards resume. It covers verbs and the parameters that decide order and count, not what functions compute.
"""

from __future__ import annotations

import hashlib
import json

from penstock.graph.node import Node
from penstock.graph.nodes import Prefetch, WithOptions
from penstock.graph.walk import nodes_of


def order_description(root: Node) -> list[str]:
    """One line a node, inputs first: what the fingerprint digests and what a mismatch is explained with."""
    kept = [node for node in nodes_of(root) if not isinstance(node, Prefetch | WithOptions)]
    lines = []
    for node in kept:
        parameters = ", ".join(f"{key}={value!r}" for key, value in node.parameters().items())
        lines.append(f"{node.label.split(' at ')[0]}({parameters})")
    return lines


def order_fingerprint(root: Node) -> str:
    """16 hex digits."""
    return hashlib.blake2b(json.dumps(order_description(root)).encode(), digest_size=8).hexdigest()
