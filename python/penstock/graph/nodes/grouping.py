"""Elements made of several, and several made of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.block.padding import per_leaf
from penstock.block.spec import Spec
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature
from penstock.graph.nodes.element import Map
from penstock.graph.nodes.nested import Nesting
from penstock.graph.nodes.sources import Indexed
from penstock.graph.nodes.stateful import Resample, Scan


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch(Node):
    """Consecutive elements stacked: leaves gain a leading axis."""

    batch_size: int
    drop_remainder: bool
    verb: ClassVar[str] = "batch"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        if count < 0:
            return count
        return count // self.batch_size if self.drop_remainder else -(-count // self.batch_size)

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        return Signature(inner.structure, tuple(spec.batched(self._rows()) for spec in inner.specs))

    def _rows(self) -> int | None:
        """How many rows every batch has; None where the last one may be short."""
        count = self.input.cardinality()
        whole = self.drop_remainder or (count >= 0 and count % self.batch_size == 0) or count == INFINITE
        return self.batch_size if whole else None

    def parameters(self) -> dict[str, Any]:
        return {"batch_size": self.batch_size, "drop_remainder": self.drop_remainder}


@dataclass(frozen=True, kw_only=True, eq=False)
class PaddedBatch(Batch):
    """Consecutive elements padded to one shape, then stacked.

    `padded_shapes`: a nest of `Dims`, None for the longest of each batch in every dimension. `padding_values`: a nest
    of values, or one for all leaves; None for zero.
    """

    padded_shapes: Any
    padding_values: Any
    verb: ClassVar[str] = "padded_batch"

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        specs = inner.specs
        if self.padded_shapes is not None:
            shapes = per_leaf("padded_shapes", self.padded_shapes, inner.structure)
            specs = tuple(Spec(dims.sizes, spec.dtype) for dims, spec in zip(shapes, specs, strict=True))
        elif not is_promised(self.input):  # the shapes of one element say nothing of the next one's
            specs = tuple(Spec(None if spec.shape is None else (None,) * len(spec.shape), spec.dtype) for spec in specs)
        return Signature(inner.structure, tuple(spec.batched(self._rows()) for spec in specs))

    def parameters(self) -> dict[str, Any]:
        own = {"padded_shapes": self.padded_shapes, "padding_values": self.padding_values}
        return {**super().parameters(), **own}


@dataclass(frozen=True, kw_only=True, eq=False)
class Unbatch(Node):
    """The rows of each element's leaves, one after another."""

    verb: ClassVar[str] = "unbatch"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        if count in (0, INFINITE):
            return count
        signature = self.input.signature() if is_promised(self.input) else None
        shape = signature.specs[0].shape if signature is not None else None
        rows = shape[0] if shape else None
        return count * rows if count > 0 and rows is not None else UNKNOWN

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        specs = tuple(Spec(None if s.shape is None else s.shape[1:], s.dtype) for s in inner.specs)
        return Signature(inner.structure, specs)

    def index_obstacle(self) -> str | None:
        return "gives each element a number of rows known only when it is read"


def is_promised(node: Node) -> bool:
    """Whether the shapes of its signature hold for every element, rather than being those of the first one."""
    if isinstance(node, Map | Indexed | Nesting | Scan | Resample):
        return isinstance(node, Map) and node.declared is not None
    return all(is_promised(source) for source in node.inputs)
