"""Ways over a graph: every node once, inputs first; rebuilt from the sources down; numbered.

Graphs share nodes (one dataset zipped with itself), so each node is visited once and sharing is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from penstock.graph.node import Node
from penstock.graph.nodes import WithOptions
from penstock.options import Options

_UNNUMBERED = ("with_options", "prefetch", "cache", "distribute", "ignore_errors")


def nodes_of(root: Node) -> Iterator[Node]:
    """Every node once, inputs before what draws from them. Iterative: graphs may be deeper than the stack."""
    seen: set[int] = set()
    stack: list[tuple[Node, bool]] = [(root, False)]
    while stack:
        node, expanded = stack.pop()
        if expanded:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            stack.append((node, True))
            stack.extend((source, False) for source in reversed(node.inputs))


def rebuild(root: Node, change: Callable[[Node, bool], Node]) -> Node:
    """The graph with `change(node, is_root)` applied to every node, inputs first; untouched parts stay as they are."""
    done: dict[int, Node] = {}
    for node in nodes_of(root):
        inputs = tuple(done[id(source)] for source in node.inputs)
        same = all(new is old for new, old in zip(inputs, node.inputs, strict=True))
        done[id(node)] = change(node if same else replace(node, inputs=inputs), node is root)
    return done[id(root)]


def numbered(root: Node) -> Node:
    """The graph with every node's place in it written down: equal graphs get equal numbers.

    Options, prefetch, cache, distribute and ignore_errors take no number of their own: adding one changes no draw.
    """
    chain = chain_of(root)
    if chain is not None:
        return _numbered_chain(chain)
    numbers: dict[int, int] = {}
    count = 0
    for node in nodes_of(root):
        numbers[id(node)] = count
        count += node.verb not in _UNNUMBERED
    done: dict[int, Node] = {}
    for node in nodes_of(root):
        inputs = tuple(done[id(source)] for source in node.inputs)
        done[id(node)] = _copied(node, inputs, numbers[id(node)])
    return done[id(root)]


def chain_of(root: Node) -> list[Node] | None:
    """The nodes from the root to the source, where each draws from one at most; else None."""
    chain = [root]
    while inputs := chain[-1].inputs:
        if len(inputs) > 1:
            return None
        chain.append(inputs[0])
    return chain


def _numbered_chain(chain: list[Node]) -> Node:
    """As `numbered`, without a table: most nested datasets are a source and a verb or two."""
    count = 0
    inputs: tuple[Node, ...] = ()
    for node in reversed(chain):
        made = _copied(node, inputs, count)
        count += node.verb not in _UNNUMBERED
        inputs = (made,)
    return inputs[0]


def _copied(node: Node, inputs: tuple[Node, ...], number: int) -> Node:
    """As `replace`, without validating again: it is done for every one of a million nested datasets."""
    copy: Node = object.__new__(type(node))
    copy.__dict__.update(node.__dict__, inputs=inputs, number=number)
    return copy


def collected_options(root: Node) -> Options:
    """All options said in the graph; those nearer the root win."""
    options = Options()
    for node in nodes_of(root):
        if isinstance(node, WithOptions):
            options = options.merged(node.options)
    return options
