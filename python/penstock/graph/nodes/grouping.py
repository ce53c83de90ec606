"""Elements made of several, and several made of one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import Any, ClassVar

import numpy as np

from penstock.block.padding import per_leaf
from penstock.block.spec import RaggedSpec, Spec
from penstock.block.tree import LEAF, Structure, tuple_of
from penstock.errors import StructureError
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature
from penstock.graph.nodes.element import Chain, Map
from penstock.graph.nodes.nested import Nesting
from penstock.graph.nodes.sources import Indexed
from penstock.graph.nodes.stateful import Resample, Scan


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch(Node):
    """Consecutive elements stacked: leaves gain a leading axis.

    `pads_remainder`: the last batch is as long as the others, and each has a leaf of weights (`weighted`).
    """

    batch_size: int
    drop_remainder: bool
    pads_remainder: bool = False
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
        batched = Signature(inner.structure, tuple(spec.batched(self._rows()) for spec in inner.specs))
        if not self.pads_remainder:
            return batched
        return Signature(weighted(inner.structure), (*batched.specs, Spec((self.batch_size,), np.float32)))

    def _rows(self) -> int | None:
        """How many rows every batch has; None where the last one may be short."""
        count = self.input.cardinality()
        whole = (
            self.drop_remainder
            or self.pads_remainder
            or (count >= 0 and count % self.batch_size == 0)
            or count == INFINITE
        )
        return self.batch_size if whole else None

    def parameters(self) -> dict[str, Any]:
        own: dict[str, Any] = {"batch_size": self.batch_size, "drop_remainder": self.drop_remainder}
        return {**own, "remainder": "pad"} if self.pads_remainder else own


WEIGHTS = "weights"


def weighted(structure: Structure) -> Structure:
    """Where the weights of rows go: last in a tuple, as `weights` in a dict, beside a lone leaf.

    Raises: StructureError: the dict has such a leaf already.
    """
    if structure.is_leaf:
        return tuple_of(structure, LEAF)
    if structure.kind is not dict:
        return tuple_of(*structure.children, LEAF)
    if WEIGHTS in structure.keys:
        raise StructureError(
            f'the elements have a leaf "{WEIGHTS}" already', remedy="rename it in a map: padding adds one of this name"
        )
    return Structure(dict, (*structure.keys, WEIGHTS), (*structure.children, LEAF), structure.leaf_count + 1)


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
class RaggedBatch(Batch):
    """Consecutive elements whose lengths differ, as ragged leaves.

    `ragged_ranks`: of the batches, for each leaf: how many of its axes vary, 0 where none does. None: known when it is
    read, and the first axis then (`ragged_rank_of`). `row_splits_dtype`: int32 or int64.
    """

    ragged_ranks: tuple[int | None, ...] | None
    row_splits_dtype: np.dtype[Any]
    verb: ClassVar[str] = "ragged_batch"

    def ragged_rank_of(self, leaf: int, rank: int) -> int:
        """The ragged rank of the batches of a leaf whose elements have `rank` axes."""
        known = None if self.ragged_ranks is None else self.ragged_ranks[leaf]
        return min(rank, 1) if known is None else known

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        specs = (self._spec(leaf, spec) for leaf, spec in enumerate(inner.specs))
        return Signature(inner.structure, tuple(specs))

    def _spec(self, leaf: int, spec: Spec) -> Spec:
        if spec.ragged_rank or spec.shape is None:
            return spec.batched(self._rows())
        rank = self.ragged_rank_of(leaf, len(spec.shape))
        if not rank:
            return spec.batched(self._rows())
        promised = self.ragged_ranks is not None and self.ragged_ranks[leaf] is not None
        shape = spec.shape if promised else (None,) * len(spec.shape)
        return RaggedSpec((self._rows(), *shape), spec.dtype, rank)

    def parameters(self) -> dict[str, Any]:
        own = {"ragged_ranks": self.ragged_ranks, "row_splits_dtype": self.row_splits_dtype.name}
        return {**super().parameters(), **own}


def ragged_ranks(node: Node) -> tuple[int | None, ...] | None:
    """How many axes of each leaf of `node` may vary: up to the last of unknown size, as tf.data. None: not promised."""
    signature = node.signature() if is_promised(node) else None
    if signature is None:
        return None
    return tuple(
        None
        if spec.shape is None
        else max((axis + 1 for axis, size in enumerate(spec.shape) if size is None), default=0)
        for spec in signature.specs
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Rebatch(Node):
    """The rows of all elements, in batches of `batch_sizes`, one size after another and over again."""

    batch_sizes: tuple[int, ...]
    drop_remainder: bool
    verb: ClassVar[str] = "rebatch"

    def cardinality(self) -> int:
        rows = _row_cardinality(self.input)
        if rows < 0:
            return rows
        turns, rest = divmod(rows, sum(self.batch_sizes))
        ends = list(accumulate(self.batch_sizes))
        whole = sum(end <= rest for end in ends)
        is_short = rest > (ends[whole - 1] if whole else 0) and not self.drop_remainder
        return turns * len(ends) + whole + is_short

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        rows = _row_cardinality(self.input)
        size = self.batch_sizes[0] if len(set(self.batch_sizes)) == 1 else None
        promised = inner.specs[0].shape if is_promised(self.input) else None
        is_whole = rows == INFINITE or (rows >= 0 and size is not None and rows % size == 0)
        if promised and promised[0] is not None and size is not None:
            is_whole = is_whole or promised[0] % size == 0
        rest = size if is_whole or self.drop_remainder else None
        return Signature(inner.structure, tuple(spec.with_rows(rest) for spec in inner.specs))

    def index_obstacle(self) -> str | None:
        return "takes elements apart whose numbers of rows are known only when they are read"

    def parameters(self) -> dict[str, Any]:
        return {"batch_size": list(self.batch_sizes), "drop_remainder": self.drop_remainder}


@dataclass(frozen=True, kw_only=True, eq=False)
class Unbatch(Node):
    """The rows of each element's leaves, one after another."""

    verb: ClassVar[str] = "unbatch"

    def cardinality(self) -> int:
        return _row_cardinality(self.input)

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        return Signature(inner.structure, tuple(spec.unbatched() for spec in inner.specs))

    def index_obstacle(self) -> str | None:
        return "gives each element a number of rows known only when it is read"


def _row_cardinality(node: Node) -> int:
    """Rows of all its elements together, as a cardinality."""
    count = node.cardinality()
    if count in (0, INFINITE):
        return count
    signature = node.signature() if is_promised(node) else None
    shape = signature.specs[0].shape if signature is not None else None
    rows = shape[0] if shape else None
    return count * rows if count > 0 and rows is not None else UNKNOWN


def is_promised(node: Node) -> bool:
    """Whether the shapes of its signature hold for every element, rather than being those of the first one."""
    if isinstance(node, Chain):
        return is_promised(node.steps[-1])
    if isinstance(node, Map | Indexed | Nesting | Scan | Resample):
        return isinstance(node, Map) and node.declared is not None
    return all(is_promised(source) for source in node.inputs)
