"""A graph as text: one line a node, the source first."""

from __future__ import annotations

import re
from difflib import SequenceMatcher

from penstock.block.spec import render_spec
from penstock.graph.node import INFINITE, UNKNOWN, Node
from penstock.graph.walk import nodes_of


def render_cardinality(count: int) -> str:
    return {INFINITE: "infinite", UNKNOWN: "unknown"}.get(count, str(count))


def render_graph(root: Node) -> str:
    """One line a node: number, verb and line, parameters, elements, spec. Inputs are named where not just above."""
    nodes = list(nodes_of(root))
    places = {id(node): place for place, node in enumerate(nodes)}
    lines = []
    for place, node in enumerate(nodes):
        parameters = ", ".join(f"{key}={value}" for key, value in node.parameters().items())
        signature = node.signature()
        spec = render_spec(signature.tree()) if signature is not None else "unknown"
        feeds = [places[id(source)] for source in node.inputs]
        drawn = "" if feeds in ([], [place - 1]) else f" <- {', '.join(f'#{feed}' for feed in feeds)}"
        count = render_cardinality(node.cardinality())
        lines.append(f"#{place:<2} {node.label}{f' ({parameters})' if parameters else ''}{drawn}: {count} x {spec}")
    return "\n".join(lines)


def graph_difference(before: Node, after: Node) -> list[str]:
    """The lines that go ("- ...") and come ("+ ...") from one graph to the other, without the nodes' places."""
    old, new = (
        [re.sub(r"^#\d+ +", "", line) for line in render_graph(graph).splitlines()] for graph in (before, after)
    )
    lines: list[str] = []
    for change, start, stop, first, last in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if change != "equal":
            lines += [f"- {line}" for line in old[start:stop]] + [f"+ {line}" for line in new[first:last]]
    return lines
