"""Which text files get an index of their lines, and the graph with it: lines can then be had by number.

Policy: an index is built where it changes what a pipeline can do, before its first element: below a `shuffle`, which
then permutes all lines, whatever its buffer, as over any source with random access; below a slice, and for `ds[i]`. A
pipeline that only streams its files builds none. Compressed files have none, nor have objects behind URLs, so a shuffle
over them keeps a buffer.

This is no rule: what an order is may not hang on which rules are skipped. It comes before them, from the user's graph
alone.
"""

from __future__ import annotations

from dataclasses import fields

from penstock.errors import PenstockError
from penstock.formats.files import RemoteFile
from penstock.graph.node import Node, becomes_index_driven
from penstock.graph.nodes import IndexedLines, Lines, Shuffle, Stride
from penstock.graph.walk import nodes_of, rebuild


def with_indices(root: Node, *, everywhere: bool = False) -> Node:
    """The graph with lines by number where they are wanted; `everywhere`: wherever they can be.

    Raises: ReadError: a file cannot be read. Cost: one pass over each file that gets an index, the first time; 8 bytes
    a line for as long as the dataset lives.
    """
    able = {id(node) for node in nodes_of(root) if _is_able(node)}
    wanted = able if everywhere else able & _below_what_wants_it(root) if able else able
    return rebuild(root, lambda node, _: _indexed(node) if id(node) in wanted else node) if wanted else root


def _is_able(node: Node) -> bool:
    return type(node) is Lines and not node.compression and not any(isinstance(file, RemoteFile) for file in node.files)


def _below_what_wants_it(root: Node) -> set[int]:
    """What is below a shuffle or a slice that would be index-driven if lines were."""
    below: set[int] = set()
    for node in nodes_of(root):
        if isinstance(node, Shuffle | Stride) and becomes_index_driven(_as_if(node)):
            below.update(map(id, nodes_of(node)))
    return below


def _as_if(root: Node) -> Node:
    """The graph as if each file had one line: enough to see what it would become."""
    return rebuild(root, lambda node, _: _with(node, (1,)) if _is_able(node) else node)


def _indexed(node: Node) -> IndexedLines:
    assert isinstance(node, Lines)
    try:
        bounds = node.index.bounds(node.files)
    except PenstockError as error:
        raise error.at(node.label) from error.__cause__
    return _with(node, tuple(len(each) - 1 for each in bounds))


def _with(node: Node, counts: tuple[int, ...]) -> IndexedLines:
    return IndexedLines(**{field.name: getattr(node, field.name) for field in fields(node)}, counts=counts)
