"""Verbs that group elements: batches of every kind, and back."""

from __future__ import annotations

from typing import Any, Self

from penstock.block.padding import as_padded_shapes, padding_value, per_leaf
from penstock.errors import InvalidArgumentError, PenstockError, user_location
from penstock.graph.node import Node
from penstock.graph.nodes import Batch, PaddedBatch, Unbatch
from penstock.options import require_integer
from penstock.verbs.base import Verbs


class GroupingVerbs(Verbs):
    """Elements into batches and back."""

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Self:
        """Consecutive elements stacked: each leaf gains a leading axis of `batch_size`.

        The last batch may be short; `drop_remainder=True` leaves it out, so every batch has one shape. Text leaves
        become object arrays. Batches are writable and 64-byte aligned, so frameworks can alias them.
        Raises, while iterating: StackError: names leaf, element and both shapes when rows differ in shape.
        """
        where = user_location()
        size = require_integer("batch", "batch_size", batch_size, minimum=1, where=where)
        return self._of(
            Batch(inputs=(self._node,), location=where, batch_size=size or 1, drop_remainder=bool(drop_remainder))
        )

    def padded_batch(
        self,
        batch_size: int,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Self:
        """Consecutive elements padded at their ends to one shape, then stacked.

        padded_shapes: for each leaf a list of sizes, None (or -1) in it for the longest row of the batch; without it,
        every dimension is padded to the longest. padding_values: for each leaf, or one for all; None is zero, False or
        an empty text, and a Python number takes the dtype of its leaf. name: not used, as tf.data has it.
        Cost: each byte is copied once, into the aligned batch. Index-driven where its input is, as `batch`.
        Raises, while iterating: StackError: names leaf, element and both shapes when a row is larger than its padded
        shape; InvalidArgumentError: a leaf cannot hold its padding value.
        """
        where = user_location()
        size = require_integer("padded_batch", "batch_size", batch_size, minimum=1, where=where)
        try:
            shapes = None if padded_shapes is None else as_padded_shapes(padded_shapes)
            _check_padding(self._node, shapes, padding_values)
        except PenstockError as error:
            raise error.at(f"padded_batch at {where}") from None
        return self._of(
            PaddedBatch(
                inputs=(self._node,), location=where, batch_size=size or 1, drop_remainder=bool(drop_remainder),
                padded_shapes=shapes, padding_values=padding_values,
            )
        )  # fmt: skip

    def unbatch(self) -> Self:
        """The rows of each element, one after another; all leaves must have as many rows."""
        return self._of(Unbatch(inputs=(self._node,), location=user_location()))


def _check_padding(node: Node, shapes: Any, values: Any) -> None:
    """What can be said of them before an element is seen. Raises: InvalidArgumentError, StructureError."""
    signature = node.signature()
    if signature is None:
        return
    leaves = signature.structure.names()
    wanted = per_leaf("padded_shapes", shapes, signature.structure)
    padding = per_leaf("padding_values", values, signature.structure)
    for leaf, spec, dims, value in zip(leaves, signature.specs, wanted, padding, strict=True):
        padding_value(leaf, value, spec.dtype)
        if dims is not None and spec.shape is not None and not dims.has_room(spec.shape):
            raise InvalidArgumentError(
                f'leaf "{leaf}" cannot be padded', got=f"padded shape {dims}", expected=f"room for {spec}"
            )
