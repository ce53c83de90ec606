"""What every kind of verb stands on: a dataset is a node, and a verb gives a dataset over a new node."""

from __future__ import annotations

from typing import Any, Self

from penstock.block.columns import Nested
from penstock.block.spec import as_spec, render_spec
from penstock.block.tree import Structure, structure_of
from penstock.errors import InvalidArgumentError, Location, PenstockError, StructureError, UnknownLengthError
from penstock.formats.streams import COMPRESSIONS
from penstock.graph.node import INFINITE, Node, Signature
from penstock.options import AUTOTUNE, require_integer


class Verbs(Nested):
    """Base of the verb classes; `Dataset` joins them."""

    _node: Node

    @classmethod
    def _of(cls, node: Node) -> Self:
        raise NotImplementedError


def require_callable(verb: str, name: str, function: Any, where: Location) -> None:
    """Raises: InvalidArgumentError: `function` cannot be called."""
    if not callable(function):
        raise InvalidArgumentError(f"{verb}: {name}", got=repr(function), expected="a function", where=where)


def require_end(verb: str, node: Node, where: Location) -> None:
    """Raises: UnknownLengthError when the elements of `node` never end."""
    if node.cardinality() == INFINITE:
        raise UnknownLengthError(
            f"{verb} of an endless dataset", got=node.label, expected="a dataset that ends", where=where,
            remedy=f"{verb} before repeat(), or take(n) first",
        )  # fmt: skip


def require_alike(what: str, first: Signature, second: Signature, where: Location) -> None:
    """Raises: StructureError, with both specs, when elements of the two cannot stand in one dataset."""
    alike = first.structure == second.structure and all(
        a.dtype == b.dtype and (a.shape is None or b.shape is None or len(a.shape) == len(b.shape))
        for a, b in zip(first.specs, second.specs, strict=False)
    )
    if not alike:
        raise StructureError(
            f"{what}: different elements",
            got=render_spec(second.tree()), expected=render_spec(first.tree()), where=where,
        )  # fmt: skip


def require_parallelism(verb: str, value: Any, where: Location, *, name: str = "num_parallel_calls") -> int | None:
    """`num_parallel_calls` or the like, as in tf.data: None (one, in order), AUTOTUNE, or a number of workers."""
    if value is None or value == AUTOTUNE:
        return None if value is None else AUTOTUNE
    return require_integer(verb, name, value, minimum=1, where=where)


def require_compression(verb: str, value: Any, where: Location) -> str:
    """`compression_type` as in tf.data: "GZIP", "ZLIB", or "" or None for none."""
    if value is None or value in COMPRESSIONS:
        return value or ""
    expected = '"GZIP", "ZLIB", "" or None'
    raise InvalidArgumentError(f"{verb}: compression_type", got=repr(value), expected=expected, where=where)


def require_signature(verb: str, value: Any, where: Location) -> Signature:
    """What the user says elements look like. Raises: InvalidArgumentError naming the verb and its line."""
    try:
        return Signature(*as_spec(value))
    except PenstockError as error:
        raise error.at(f"{verb} at {where}") from None


def require_structure(verb: str, value: Any, where: Location) -> Structure:
    """How `value` is nested. Raises: UnsupportedValueError naming the verb and its line."""
    try:
        return structure_of(value)
    except PenstockError as error:
        raise error.at(f"{verb} at {where}") from None
