"""Verbs that group elements: batches of every kind, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, Self, get_args

import numpy as np

from penstock.block.padding import as_padded_shapes, padding_value, per_leaf
from penstock.block.spec import Spec
from penstock.errors import InvalidArgumentError, PenstockError, user_location
from penstock.graph.node import Node
from penstock.graph.nodes import Batch, Pack, PaddedBatch, RaggedBatch, Rebatch, Unbatch
from penstock.graph.nodes.grouping import ragged_ranks
from penstock.graph.nodes.packing import Strategy
from penstock.options import require_integer
from penstock.verbs.base import Verbs


class GroupingVerbs(Verbs):
    """Elements into batches and back."""

    def batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        num_parallel_calls: int | None = None,
        deterministic: bool | None = None,
        name: str | None = None,
        *,
        remainder: Literal["pad"] | None = None,
    ) -> Self:
        """Consecutive elements stacked: each leaf gains a leading axis of `batch_size`.

        The last batch may be short; `drop_remainder=True` leaves it out, so every batch has one shape. So does
        `remainder="pad"`, which loses nothing: the last batch is filled up with copies of its last row, and every batch
        has a leaf more, float32 [batch_size]: 1 for a row of the data, 0 for a copy. It stands last in a tuple (so
        `(x, y)` becomes the `(x, y, sample_weight)` of Keras), as "weights" in a dict, and beside a lone leaf.
        Text leaves become object arrays. Batches are writable and 64-byte aligned, so frameworks can alias them.
        num_parallel_calls, deterministic, name: not used, as tf.data has them; batches are made in parallel, in order.
        Raises, while iterating: StackError: names leaf, element and both shapes when rows differ in shape.
        """
        where = user_location()
        size = require_integer("batch", "batch_size", batch_size, minimum=1, where=where)
        if remainder not in (None, "pad") or (remainder and drop_remainder):
            raise InvalidArgumentError(
                "batch: remainder", got=f"{remainder!r}, drop_remainder={drop_remainder}",
                expected='None, or "pad" without drop_remainder', where=where,
            )  # fmt: skip
        node = Batch(
            inputs=(self._node,), location=where, batch_size=size or 1, drop_remainder=bool(drop_remainder),
            pads_remainder=remainder == "pad",
        )  # fmt: skip
        try:
            node.signature()
        except PenstockError as error:
            raise error.at(node.label) from None
        return self._of(node)

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

    def ragged_batch(
        self,
        batch_size: int,
        drop_remainder: bool = False,
        row_splits_dtype: Any = np.int64,
        name: str | None = None,
    ) -> Self:
        """Consecutive elements whose lengths differ, as `penstock.Ragged`: items end to end, nothing padded.

        Ragged up to the last axis that varies, as tf.data says it: a leaf whose spec has no None is stacked. Where
        shapes are not known before a function has run (a map without `output_signature`), the first axis of every leaf
        that has one is ragged, and inner axes must agree. What is ragged already gains an axis. TensorFlow is given a
        tf.RaggedTensor; other frameworks have none: use `padded_batch`, or `to_padded()` in a map.
        row_splits_dtype: int64 or int32. name: not used, as tf.data has it.
        Raises, while iterating: StackError: inner axes, or leaves that are stacked, differ in shape.
        """
        where = user_location()
        size = require_integer("ragged_batch", "batch_size", batch_size, minimum=1, where=where)
        try:
            splits = Spec((), row_splits_dtype).dtype
        except PenstockError:
            splits = None
        if splits is None or splits.name not in ("int32", "int64"):
            raise InvalidArgumentError(
                "ragged_batch: row_splits_dtype", got=repr(row_splits_dtype), expected="int64 or int32", where=where
            )
        return self._of(
            RaggedBatch(
                inputs=(self._node,), location=where, batch_size=size or 1, drop_remainder=bool(drop_remainder),
                ragged_ranks=ragged_ranks(self._node), row_splits_dtype=splits,
            )
        )  # fmt: skip

    def rebatch(self, batch_size: int | Sequence[int], drop_remainder: bool = False, name: str | None = None) -> Self:
        """The rows of all elements in batches of another size: as `unbatch().batch(batch_size)`, copied once.

        batch_size: a number, or several that take turns. `drop_remainder` leaves out a last batch that is short.
        Raises, while iterating: StructureError: a leaf is a scalar, or leaves of one element differ in rows;
        StackError: rows of one batch differ in shape.
        """
        where = user_location()
        given = batch_size if isinstance(batch_size, Sequence | np.ndarray) and len(batch_size) else [batch_size]
        sizes = [require_integer("rebatch", "batch_size", size, minimum=1, where=where) or 1 for size in given]
        signature = self._node.signature()
        for leaf, spec in zip(signature.structure.names(), signature.specs, strict=True) if signature else ():
            if spec.shape == ():
                raise InvalidArgumentError(
                    f'rebatch: leaf "{leaf}" has no rows', got=str(spec), expected="batches", where=where,
                    remedy="batch first",
                )  # fmt: skip
        return self._of(
            Rebatch(inputs=(self._node,), location=where, batch_sizes=tuple(sizes), drop_remainder=bool(drop_remainder))
        )

    def pack(
        self,
        length: int | dict[Any, int],
        strategy: Strategy = "first_fit",
        num_packing_bins: int = 64,
        padding_values: Any = None,
    ) -> Self:
        """Sequences of any length packed into elements of `length` tokens, little of which is padding.

        Elements are a dict of 1-D arrays, or one (which is called "tokens"). Each leaf `name` becomes an array of
        `length` (a number, or one for each leaf), beside int32 `name_segment_ids` (from 1 in each element) and
        `name_positions` (from 0 in each segment), 0 where there is padding: the names of Grain.

        strategy: "first_fit" puts a whole sequence into the first of `num_packing_bins` open elements that has room,
        "best_fit" into the fullest; a sequence for which none has closes all of them. More bins, less padding, and
        sequences further from where they came. "concat" lays sequences end to end and splits them where an element is
        full: no padding but at the end; the leaves of one element need one length.
        Nothing is shuffled, as in Grain with shuffle_bins=False: `shuffle` before or after. padding_values: as in
        `padded_batch`.
        Raises, while iterating: StructureError: a sequence longer than its length (not with "concat"), or not 1-D.
        Cost: a token is copied once; about 3 us of CPU a sequence (benchmarks/compare/packing.py).
        """
        where = user_location()
        if strategy not in get_args(Strategy):
            raise InvalidArgumentError(
                "pack: strategy", got=repr(strategy), expected=f"one of {get_args(Strategy)}", where=where
            )
        bins = require_integer("pack", "num_packing_bins", num_packing_bins, minimum=1, where=where) or 1
        given = length if isinstance(length, dict) else {None: length}
        lengths = {
            key: require_integer("pack", "length", one, minimum=1, where=where) or 1 for key, one in given.items()
        }
        if strategy == "concat" and len(set(lengths.values())) > 1:
            raise InvalidArgumentError("pack: length", got=repr(length), expected="one, for concat", where=where)
        node = Pack(
            inputs=(self._node,), location=where, lengths=lengths if isinstance(length, dict) else lengths[None],
            strategy=strategy, bins=bins, padding_values=padding_values,
        )  # fmt: skip
        try:
            node.signature()
            _check_padding(self._node, None, padding_values)
        except PenstockError as error:
            raise error.at(node.label) from None
        return self._of(node)

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
