"""Sequences packed into elements of fixed length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from penstock.block.spec import Spec
from penstock.block.tree import LEAF, Structure
from penstock.errors import StructureError
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature

Strategy = Literal["first_fit", "best_fit", "concat"]
LONE = "tokens"
"""What the one array of an element that is no dict is called."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Pack(Node):
    """Sequences laid side by side in elements of fixed length.

    `lengths`: tokens of an element, by leaf, or of each leaf. `bins`: how many elements are open at a time.
    `padding_values`: as in `padded_batch`.
    """

    lengths: Any
    strategy: Strategy
    bins: int
    padding_values: Any
    verb: ClassVar[str] = "pack"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        return count if count in (0, INFINITE) else UNKNOWN

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        structure, lengths = packed(inner.structure), self.lengths_of(inner.structure)
        values = [Spec((length,), spec.dtype) for length, spec in zip(lengths, inner.specs, strict=True)]
        marks = [Spec((length,), np.int32) for length in lengths for _ in range(2)]
        return Signature(structure, (*values, *marks))

    def index_obstacle(self) -> str | None:
        return "packs sequences whose lengths are known only when they are read"

    def lengths_of(self, structure: Structure) -> list[int]:
        """Tokens of an element, for each leaf. Raises: StructureError: `lengths` names other leaves."""
        names = leaf_names(structure)
        if not isinstance(self.lengths, dict):
            return [self.lengths] * len(names)
        if set(self.lengths) != set(names):
            raise StructureError("the lengths to pack to", got=sorted(map(str, self.lengths)), expected=f"{names}")
        return [self.lengths[name] for name in names]

    def parameters(self) -> dict[str, Any]:
        return {
            "length": self.lengths,
            "strategy": self.strategy,
            "num_packing_bins": self.bins,
            "padding_values": self.padding_values,
        }


def leaf_names(structure: Structure) -> list[Any]:
    """The names of what is packed. Raises: StructureError: the elements are no dict of leaves, and no lone leaf."""
    if structure.is_leaf:
        return [LONE]
    if structure.kind is not dict or not all(child.is_leaf for child in structure.children):
        raise StructureError(
            "what to pack", got=str(structure), expected="a dict of 1-D arrays, or one array",
            remedy="name the sequences in a map",
        )  # fmt: skip
    return list(structure.keys)


def packed(structure: Structure) -> Structure:
    """The structure of packed elements: the leaves, then the segments and positions of each.

    Raises: StructureError: as `leaf_names`, or two leaves would have one name.
    """
    names = leaf_names(structure)
    keys = (*names, *(f"{name}_{kind}" for name in names for kind in ("segment_ids", "positions")))
    if len(set(keys)) < len(keys):
        raise StructureError("two leaves of one name after packing", got=sorted(map(str, keys)))
    return Structure(dict, keys, (LEAF,) * len(keys), len(keys))
