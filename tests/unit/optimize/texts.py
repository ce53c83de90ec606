"""Graphs as short text, for tests of rules: what is compared is read in the failure."""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock as ps
from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Generator, Prefetch
from penstock.graph.walk import nodes_of, numbered
from penstock.optimize.driver import optimize
from penstock.optimize.order import RULE_NAMES


def text(root: Node) -> list[str]:
    """One line a node, sources first: verb, what it was told, elements."""
    nodes = list(nodes_of(root))
    places = {id(node): place for place, node in enumerate(nodes)}
    lines = []
    for place, node in enumerate(nodes):
        said = " ".join(str(value) for value in _said(node))
        feeds = [places[id(source)] for source in node.inputs]
        drawn = "" if feeds in ([], [place - 1]) else f" <- {feeds}"
        lines.append(
            f"{node.label.split(' at ')[0] if not isinstance(node, Chain) else 'segment'} {said}".strip() + drawn
        )
    return lines


def _said(node: Node) -> list[Any]:
    if isinstance(node, Chain):
        return ["+".join(step.verb for step in node.steps)]
    if isinstance(node, Prefetch):
        return [node.buffer_size]
    if isinstance(node, Generator):
        return [] if node.limit is None else [f"limit={node.limit}"]
    return [
        value for key, value in node.parameters().items() if key in ("count", "start", "step", "num_shards", "index")
    ]


def rewritten(dataset: ps.Dataset, *rules: str) -> tuple[list[str], list[str]]:
    """The text of the graph before, and after these rules alone."""
    root = numbered(dataset._node)
    after, _ = optimize(root, frozenset(RULE_NAMES) - set(rules), lambda: 0.0)
    return text(root), text(after)


def elements(dataset: ps.Dataset, *rules: str) -> list[Any]:
    """Two epochs of it with these rules alone, as plain values."""
    # inline: where results may come as they complete, one thread still has one order
    options = ps.Options(skip_rules=frozenset(RULE_NAMES) - set(rules), block_size=3, executor="inline")
    run = dataset.with_options(options)
    return [_plain(element) for epoch in range(2) for element in run.iterator(epoch)]


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()
