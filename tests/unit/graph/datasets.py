"""Small datasets whose cardinality is of every kind, and nodes made by hand."""

from __future__ import annotations

from typing import Any

import penstock as ps
from penstock.errors import Location
from penstock.graph.node import Node
from penstock.graph.nodes import Range

INT = ps.Spec((), "int64")
HERE = Location("train.py", 7)


def ten() -> ps.Dataset:
    return ps.Dataset.range(10)


def infinite() -> ps.Dataset:
    return ps.Dataset.range(10).repeat()


def unknown() -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: iter(range(10)), output_signature=INT)


def node_of(dataset: ps.Dataset) -> Node:
    node: Node = dataset._node
    return node


def range_node(stop: int = 10, **fields: Any) -> Range:
    return Range(location=HERE, start=0, stop=stop, step=1, dtype="int64", **fields)
