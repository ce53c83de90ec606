"""Nested structures: tuples, named tuples and dicts of leaves, taken apart and put together in a fixed order.

Dicts keep the order in which they were first written. A list is a leaf (a stacked array), never a structure, and None
is not a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import StructureError, UnsupportedValueError


@dataclass(frozen=True, slots=True)
class Structure:
    """The shape of a nest: a leaf, or a tuple, named tuple or dict of structures.

    `kind` is None for a leaf, else `tuple`, `dict` or the named tuple's class; `keys` are the dict's keys or the
    tuple's field names.
    """

    kind: type | None = None
    keys: tuple[Any, ...] = ()
    children: tuple[Structure, ...] = ()
    leaf_count: int = 1

    @property
    def is_leaf(self) -> bool:
        return self.kind is None

    @property
    def is_flat_tuple(self) -> bool:
        """A plain tuple of leaves, whose leaves in order are the value itself."""
        return self.kind is tuple and all(child.kind is None for child in self.children)

    def names(self, prefix: str = "") -> list[str]:
        """A dotted name for each leaf: `image`, `0`, `meta.size`; a lone leaf is `element`."""
        if self.kind is None:
            return [prefix or "element"]
        names: list[str] = []
        for key, child in zip(self.keys, self.children, strict=True):
            names += child.names(f"{prefix}.{key}" if prefix else str(key))
        return names

    def flatten(self, value: Any) -> list[Any]:
        """The leaves of `value`. Raises: StructureError when `value` is nested in another way."""
        if self.kind is None:
            if isinstance(value, tuple | dict):
                raise StructureError(
                    "a leaf became a structure", got=str(structure_of(value)), expected=f"{self}, as before"
                )
            return [value]
        if self.kind is dict:
            if (
                not isinstance(value, dict)
                or len(value) != len(self.keys)
                or any(key not in value for key in self.keys)
            ):
                self._differs(value)
            parts: Sequence[Any] = [value[key] for key in self.keys]
        else:
            if not isinstance(value, tuple) or len(value) != len(self.children):
                self._differs(value)
            parts = value
        leaves: list[Any] = []
        for child, part in zip(self.children, parts, strict=True):
            if child.kind is None and not isinstance(part, tuple | dict):
                leaves.append(part)
            else:
                leaves += child.flatten(part)
        return leaves

    def _differs(self, value: Any) -> None:
        got = structure_of(value) if isinstance(value, tuple | dict) else type(value).__name__
        raise StructureError("another structure", got=str(got), expected=f"{self}, as before")

    def unflatten(self, leaves: Sequence[Any]) -> Any:
        """The nest with these leaves, in the order of `flatten`."""
        if self.kind is None:
            return leaves[0]
        if self.leaf_count == len(self.children) and all(child.kind is None for child in self.children):
            return self._build(leaves)
        parts, start = [], 0
        for child in self.children:
            parts.append(child.unflatten(leaves[start : start + child.leaf_count]))
            start += child.leaf_count
        return self._build(parts)

    def _build(self, parts: Sequence[Any]) -> Any:
        if self.kind is tuple:
            return tuple(parts)
        if self.kind is dict:
            return dict(zip(self.keys, parts, strict=True))
        return self.kind(*parts) if self.kind is not None else parts[0]

    def __str__(self) -> str:
        if self.kind is None:
            return "leaf"
        if self.kind is dict:
            return "{" + ", ".join(f"{k!r}: {c}" for k, c in zip(self.keys, self.children, strict=True)) + "}"
        inner = ", ".join(str(child) for child in self.children)
        return f"({inner},)" if len(self.children) == 1 else f"({inner})"


LEAF = Structure()


def tuple_of(*children: Structure) -> Structure:
    """The structure of a plain tuple."""
    keys = tuple(range(len(children)))
    return Structure(tuple, keys, children, sum(child.leaf_count for child in children))


def structure_of(value: Any, is_leaf: Callable[[Any], bool] | None = None) -> Structure:
    """How `value` is nested. Raises: UnsupportedValueError for a None leaf or an empty structure."""
    if is_leaf is not None and is_leaf(value):
        return LEAF
    if isinstance(value, dict):
        keys: tuple[Any, ...] = tuple(value)
        children = tuple(structure_of(part, is_leaf) for part in value.values())
        kind: type = dict
    elif isinstance(value, tuple):
        fields = getattr(value, "_fields", None)
        kind = tuple if fields is None else type(value)
        keys = tuple(range(len(value))) if fields is None else tuple(fields)
        children = tuple(structure_of(part, is_leaf) for part in value)
    elif value is None:
        raise UnsupportedValueError(
            "a leaf is None", expected="arrays, numbers, bytes or str", remedy="leave it out, or use a sentinel value"
        )
    else:
        return LEAF
    if not children:
        raise UnsupportedValueError("an empty structure", got=repr(value), expected="at least one leaf")
    return Structure(kind, keys, children, sum(child.leaf_count for child in children))
