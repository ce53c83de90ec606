"""Node: one step of the user's graph. Immutable, runs nothing, remembers the user's line.

A node says what it is, what goes in, how many elements come out and what they look like. It knows no backend: the plan
turns nodes into stages by a table.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from penstock.block.spec import Spec, SpecTree
from penstock.block.tree import Structure
from penstock.errors import Location

INFINITE = -1
UNKNOWN = -2


@dataclass(frozen=True, slots=True)
class Signature:
    """What every element of a dataset looks like: its structure, and a spec for each leaf."""

    structure: Structure
    specs: tuple[Spec, ...]

    def tree(self) -> SpecTree:
        return self.structure.unflatten(self.specs)


class SignatureMemo:
    """What an opaque function was found to return, once asked for; shared by every rewrite of its node."""

    __slots__ = ("lock", "signature")

    def __init__(self, signature: Signature | None = None) -> None:
        self.lock = threading.Lock()
        self.signature = signature


@dataclass(frozen=True, kw_only=True, eq=False)
class Node:
    """One step of the graph.

    `inputs` are the nodes it draws from; `location` is the user's file and line; `number` is the node's place in the
    user's graph, given when an iterator opens and kept through every rewrite, because randomness is keyed by it.
    """

    verb: ClassVar[str] = "node"

    inputs: tuple[Node, ...] = ()
    location: Location = field(default=Location("?", 0))
    number: int = -1

    @cached_property
    def label(self) -> str:
        """`map at train.py:12`, for errors, telemetry and explain()."""
        return f"{self.verb} at {self.location}"

    @property
    def key(self) -> tuple[int, str]:
        """What its measurements are filed under."""
        return self.number, self.verb

    @property
    def input(self) -> Node:
        return self.inputs[0]

    def cardinality(self) -> int:
        """Elements per pass; INFINITE or UNKNOWN where that is so."""
        return self.input.cardinality()

    def signature(self) -> Signature | None:
        """What its elements look like, as far as it can be said without running user code."""
        return self.input.signature()

    def index_obstacle(self) -> str | None:
        """Why this node's element i cannot be computed from elements of its inputs by number; None when it can."""
        return None

    def becomes_indexed(self) -> bool:
        """Whether a rule makes this node index-driven where its inputs are, or it is so already."""
        return self.index_obstacle() is None

    def parameters(self) -> dict[str, Any]:
        """What decides which elements come and in what order, as plain values: fingerprints and explain() use it."""
        return {}


def index_obstacle(node: Node) -> str | None:
    """The first reason, from the source down, why `node` is not index-driven; None when it is."""
    for source in node.inputs:
        reason = index_obstacle(source)
        if reason is not None:
            return reason
    own = node.index_obstacle()
    return None if own is None else f"{node.label} {own}"


def becomes_index_driven(node: Node) -> bool:
    """Whether all rules together make `node` index-driven: what a graph means must not hang on which are skipped."""
    return node.becomes_indexed() and all(becomes_index_driven(source) for source in node.inputs)


def is_index_driven(node: Node) -> bool:
    """Whether element i of `node` can be computed alone, for any i."""
    return index_obstacle(node) is None
