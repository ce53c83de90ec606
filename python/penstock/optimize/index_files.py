"""Which files get an index of what is in them, and the graph with it: lines, records, samples can be had by number.

Policy: an index is built where it changes what a pipeline can do, before its first element: below a `shuffle`, which
then permutes all of them, whatever its buffer, as over any source with random access; below a slice, and for `ds[i]`;
of records also below a `shard`, which then reads no others. A pipeline that only streams its files builds none.
Compressed files have none, nor have objects behind URLs, so a shuffle over them keeps a buffer; nor have records of
which the damaged are left out.

This is no rule: what an order is may not hang on which rules are skipped. It comes before them, from the user's graph
alone.
"""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from penstock.errors import PenstockError
from penstock.formats.files import RemoteFile
from penstock.graph.node import Node, becomes_index_driven
from penstock.graph.nodes import (
    FormatStream,
    IndexedLines,
    IndexedTFRecords,
    Interleave,
    Lines,
    Range,
    Shard,
    Shuffle,
    Stride,
    TFRecords,
)
from penstock.graph.nodes.files import FileStream
from penstock.graph.walk import nodes_of, rebuild


def with_indices(root: Node, *, everywhere: bool = False) -> Node:
    """The graph with lines and records by number where they are wanted; `everywhere`: wherever they can be.

    Raises: ReadError: a file cannot be read; DecodeError: a record of it is cut short. Cost: one pass over each file
    that gets an index, the first time; 8 bytes a line for as long as the dataset lives.
    """
    able = {id(node) for node in nodes_of(root) if _is_able(node)}
    wanted = able if everywhere else able & _below_what_wants_it(root) if able else able
    return rebuild(root, lambda node, _: _indexed(node) if id(node) in wanted else node) if wanted else root


def _is_able(node: Node) -> bool:
    if isinstance(node, FormatStream):
        return node.has_index
    if isinstance(node, Interleave):
        return node.by_number is not None and not node.ignores and _is_able(node.by_number)
    if type(node) is TFRecords:
        return node.may_index and not node.drops and _can_be_indexed(node)
    return type(node) is Lines and _can_be_indexed(node)


def _can_be_indexed(node: FileStream) -> bool:
    return not node.compression and not any(isinstance(file, RemoteFile) for file in node.files)


def _below_what_wants_it(root: Node) -> set[int]:
    """What is below a shuffle, a slice or a shard that would be index-driven if lines and records were."""
    below: set[int] = set()
    for node in nodes_of(root):
        if isinstance(node, Shuffle | Stride | Shard) and becomes_index_driven(_as_if(node)):
            found = nodes_of(node)
            below.update(id(each) for each in found if not isinstance(node, Shard) or not isinstance(each, Lines))
    return below


def _as_if(root: Node) -> Node:
    """The graph as if each file had one line or record: enough to see what it would become."""
    return rebuild(root, lambda node, _: _stand_in(node) if _is_able(node) else node)


def _stand_in(node: Node) -> Node:
    return Range(start=0, stop=1, step=1, dtype=np.int64) if isinstance(node, FormatStream) else _with(node, (1,))


def _indexed(node: Node) -> Node:
    node = _by_number(node)
    assert isinstance(node, Lines | TFRecords | FormatStream)
    try:
        if isinstance(node, FormatStream):
            return node.indexed()
        if isinstance(node, TFRecords):
            bounds = node.index.bounds(node.files, node.index_folder)
            return _with(node, tuple(len(each) - 1 for each in bounds))
        return _with(node, tuple(len(each) - 1 for each in node.index.bounds(node.files)))
    except PenstockError as error:
        raise error.at(node.label) from error.__cause__


def _by_number(node: Node) -> Node:
    return node.by_number if isinstance(node, Interleave) and node.by_number is not None else node


def _with(node: Node, counts: tuple[int, ...]) -> Node:
    node = _by_number(node)
    kind = IndexedTFRecords if isinstance(node, TFRecords) else IndexedLines
    return kind(**{field.name: getattr(node, field.name) for field in fields(node)}, counts=counts)
