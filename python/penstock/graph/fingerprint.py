"""The order fingerprint: equal when two graphs give the same elements in the same order, as far as a graph can say.

It guards resume. It covers verbs and the parameters that decide order and count, not what functions compute.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from penstock.graph.node import Node
from penstock.graph.nodes import Prefetch, WithOptions
from penstock.graph.walk import nodes_of


def order_description(root: Node) -> list[list[Any]]:
    """[verb, parameters as text] of every node, inputs first: what the fingerprint digests."""
    return [[name_of(node), {key: repr(value) for key, value in node.parameters().items()}] for node in _told(root)]


def _told(root: Node) -> list[Node]:
    return [node for node in nodes_of(root) if not isinstance(node, Prefetch | WithOptions)]


def name_of(node: Node) -> str:
    """Its verb, as the user knows it."""
    return node.label.split(" at ")[0]


def order_fingerprint(root: Node) -> str:
    """16 hex digits."""
    return hashlib.blake2b(json.dumps(order_description(root)).encode(), digest_size=8).hexdigest()


def order_difference(before: Sequence[Any], root: Node) -> str:
    """What became of the pipeline described by `before`: "shuffle at train.py:12: buffer_size 1000 became 5000"."""
    here = _told(root)
    changes: list[str] = []
    for (verb, parameters), node, (now, values) in zip(before, here, order_description(root), strict=False):
        if verb != now:
            return "; ".join([*changes, f"{verb} became {node.label}"])
        for key in sorted({*parameters, *values}):
            was, became = parameters.get(key, "not said"), values.get(key, "not said")
            if was != became:
                changes.append(f"{node.label}: {key} {was} became {became}")
    changes.extend(f"{verb} is no longer there" for verb, _ in before[len(here) :])
    changes.extend(f"{node.label} is new" for node in here[len(before) :])
    return "; ".join(changes)
