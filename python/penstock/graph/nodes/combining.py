"""Several inputs made one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from penstock.block.tree import Structure
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature


@dataclass(frozen=True, kw_only=True, eq=False)
class Zip(Node):
    """One element of each input, nested as `template`; ends with the shortest."""

    template: Structure
    verb: ClassVar[str] = "zip"

    def cardinality(self) -> int:
        counts = [node.cardinality() for node in self.inputs]
        finite = [count for count in counts if count >= 0]
        if UNKNOWN in counts:
            return UNKNOWN
        return min(finite) if finite else INFINITE

    def signature(self) -> Signature | None:
        parts = [node.signature() for node in self.inputs]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        specs = tuple(spec for part in known for spec in part.specs)
        return Signature(graft(self.template, [part.structure for part in known]), specs)


def graft(template: Structure, children: list[Structure]) -> Structure:
    """`template` with its leaves replaced, in order, by `children`."""
    return _graft(template, iter(children))


def _graft(template: Structure, children: Iterator[Structure]) -> Structure:
    if template.is_leaf:
        return next(children)
    parts = tuple(_graft(part, children) for part in template.children)
    return Structure(template.kind, template.keys, parts, sum(part.leaf_count for part in parts))


@dataclass(frozen=True, kw_only=True, eq=False)
class Concatenate(Node):
    """The first input, then the second."""

    verb: ClassVar[str] = "concatenate"

    def cardinality(self) -> int:
        counts = [node.cardinality() for node in self.inputs]
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)

    def signature(self) -> Signature | None:
        first, second = (node.signature() for node in self.inputs)
        if first is None or second is None:
            return first or second
        return Signature(first.structure, tuple(a.merge(b) for a, b in zip(first.specs, second.specs, strict=True)))
