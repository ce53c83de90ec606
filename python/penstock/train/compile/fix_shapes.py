"""`fix_shapes`: a dataset whose batches have one shape, or few, so that what is compiled for them is compiled once.

Two things make batches differ: a last batch that is short, which is dropped or filled up; and lengths padded to the
longest row of each batch, which are padded on to few lengths. Both are done where the batches are made, the batching
nearest the trainer. What cannot be done without guessing is refused, with the reason and what to write instead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from penstock.block.padding import Dims, padding_value, per_leaf
from penstock.block.spec import Spec
from penstock.dataset import Dataset
from penstock.errors import InvalidArgumentError, Location, user_location
from penstock.graph.node import Node, Signature
from penstock.graph.nodes import AssertCardinality, Batch, Bucket, Map, PaddedBatch, RaggedBatch, Rebatch, Unbatch
from penstock.graph.nodes.grouping import is_promised
from penstock.graph.nodes.nested import Nesting, Window
from penstock.graph.walk import rebuild
from penstock.train.compile.round_up import RoundUp
from penstock.verbs.buckets import Buckets

_PASSES_WEIGHTS = (
    "prefetch", "with_options", "repeat", "take", "skip", "cache", "shuffle", "shard", "distribute", "ignore_errors",
    "assert_cardinality", "concatenate", "slice",
)  # fmt: skip
"""Verbs that pass an element on as it is, so that one with a leaf of weights more passes, too."""

Remainder = Literal["drop", "pad"]


class FixedShapes(NamedTuple):
    """The new dataset, and what was changed, a line each; none: its batches had one shape already."""

    dataset: Dataset
    changes: tuple[str, ...]


def fix_shapes(dataset: Dataset, *, remainder: Remainder = "drop", lengths: Sequence[int] | None = None) -> FixedShapes:
    """`dataset` with batches of one shape, or of few; with what was changed.

        train, changes = penstock.train.fix_shapes(train)

    remainder: what becomes of a last batch that is short: "drop" leaves it out; "pad" fills it up with rows of weight
    0, as `batch(remainder="pad")`: every element gains a leaf of weights (`(x, y)` becomes `(x, y, sample_weight)`).
    lengths: what lengths that `padded_batch` and `bucket_by_sequence_length` leave open are padded on to, as few as
    you like; None: powers of two from 8 on, or the buckets' own boundaries. Which axes vary must be known: from
    `padded_shapes` with None in them, or an `output_signature` below.

    Raises: InvalidArgumentError: it cannot be done: no batch is made here, a verb above would not take the weights,
        nothing would be left, or which axes vary is not known. Each says what to write instead.
    """
    where = user_location()
    if remainder not in ("drop", "pad"):
        raise InvalidArgumentError(
            "fix_shapes: remainder", got=repr(remainder), expected='"drop" or "pad"', where=where
        )
    sizes = tuple(lengths or ())
    if any(type(size) is not int or size < 1 for size in sizes) or any(a >= b for a, b in pairwise(sizes)):
        raise InvalidArgumentError("fix_shapes: lengths", got=lengths, expected="rising numbers", where=where)
    changed: dict[int, Node] = {}
    changes: list[str] = []
    for node, above in _batchings(dataset._node, (), where):
        if id(node) not in changed:
            fixed = _with_whole_batches(node, above, remainder, where, changes)
            changed[id(node)] = _with_few_lengths(fixed, sizes, where, changes)
    if not changes:
        return FixedShapes(dataset, ())
    root = rebuild(dataset._node, lambda node, is_root: changed.get(id(node), node))
    if root.cardinality() == 0:
        raise _refusal("dropping the short batch leaves none", where, 'remainder="pad", or a smaller batch_size')
    return FixedShapes(type(dataset)._of(root), tuple(changes))


def _batchings(node: Node, above: tuple[Node, ...], where: Location) -> Iterator[tuple[Node, tuple[Node, ...]]]:
    """The batching nearest the trainer on each way down, with what is above it."""
    if isinstance(node, RaggedBatch):
        raise _refusal(f"{node.label} gives ragged leaves, which differ in each batch", where, "padded_batch instead")
    if isinstance(node, Batch | Rebatch | Bucket):
        yield node, above
        return
    if isinstance(node, Nesting | Window):
        remedy = "call fix_shapes on the dataset that the function returns"
        raise _refusal(f"the batches are made by the function of {node.label}", where, remedy)
    if isinstance(node, Unbatch) or not node.inputs:
        raise _refusal(f"no batch is made above {node.label}", where, "add .batch(batch_size, drop_remainder=True)")
    for source in node.inputs:
        yield from _batchings(source, (*above, node), where)


def _with_whole_batches(
    node: Node, above: tuple[Node, ...], remainder: Remainder, where: Location, changes: list[str]
) -> Node:
    """`node` without a short last batch."""
    if not _may_be_short(node):
        return node
    if remainder == "pad":
        _require_pad(node, above, where)
        changes.append(f'{node.label}: remainder="pad", and a leaf of weights')
        return replace(node, pads_remainder=True)  # type: ignore[call-arg] # it is a Batch: just required
    counted = next((one for one in above if isinstance(one, AssertCardinality)), None)
    if counted is not None:
        remedy = f'remainder="pad", or without {counted.verb}'
        raise _refusal(f"{counted.label} holds the number of batches, and dropping one changes it", where, remedy)
    changes.append(f"{node.label}: drop_remainder=True")
    if isinstance(node, Bucket):
        buckets: Buckets = replace(node.function.__self__, drop_remainder=True)  # type: ignore[attr-defined] # its method
        return replace(
            node, drop_remainder=True, function=buckets.batch, key_function=buckets.key, window_size=buckets.size
        )
    return replace(node, drop_remainder=True)  # type: ignore[call-arg] # a Batch or a Rebatch


def _may_be_short(node: Node) -> bool:
    if isinstance(node, Batch):
        return node._rows() is None and node.batch_size > 1
    return isinstance(node, Rebatch | Bucket) and not node.drop_remainder


def _require_pad(node: Node, above: tuple[Node, ...], where: Location) -> None:
    if type(node) is not Batch:
        raise _refusal(f"{node.label} cannot fill up its last batch", where, 'remainder="drop"')
    bar = next((one for one in above if one.verb not in _PASSES_WEIGHTS), None)
    if bar is not None:
        remedy = f'remainder="drop", or batch(remainder="pad") and a {bar.verb} that takes the weights'
        raise _refusal(f"{bar.label} would be given a leaf of weights more than it was written for", where, remedy)


def _with_few_lengths(node: Node, lengths: tuple[int, ...], where: Location, changes: list[str]) -> Node:
    """`node` with a map above it that pads lengths on, where it leaves any open."""
    if not isinstance(node, PaddedBatch | Bucket):
        return node
    if isinstance(node, Bucket) and not node.pads:
        return node
    axes = _open_axes(node, where)
    if not any(axes):
        return node
    inner = node.input.signature()
    if inner is None:
        raise _refusal(f"the elements of {node.label} are not known", where, "say output_signature in the map below it")
    chosen = lengths or (tuple(limit - 1 for limit in node.boundaries if limit > 1) if isinstance(node, Bucket) else ())
    values = per_leaf("padding_values", node.padding_values, inner.structure)
    padding = (
        padding_value(name, value, spec.dtype)
        for name, value, spec in zip(inner.structure.names(), values, inner.specs, strict=True)
    )
    function = RoundUp(inner.structure, axes, tuple(padding), chosen)
    told = (
        f"to {', '.join(map(str, chosen))}, and multiples of {chosen[-1]}" if chosen else "to powers of two from 8 on"
    )
    changes.append(f"{node.label}: lengths are padded on {told} (which copies them)")
    specs = tuple(
        Spec((rows, *(None if axis + 1 in open_ else size for axis, size in enumerate(spec.shape or ()))), spec.dtype)
        for spec, open_, rows in zip(inner.specs, axes, [_rows(node)] * len(axes), strict=True)
    )
    return Map(
        inputs=(node,), location=where, function=function, compiles=False, declared=Signature(inner.structure, specs)
    )


def _rows(node: Node) -> int | None:
    return node._rows() if isinstance(node, Batch) else None


def _open_axes(node: PaddedBatch | Bucket, where: Location) -> tuple[tuple[int, ...], ...]:
    """For each leaf the axes of a batch whose length differs from batch to batch."""
    inner = node.input.signature()
    said: list[Any] = [node.padded_shapes] if isinstance(node, PaddedBatch) else list(node.shapes)
    if inner is None or (any(nest is None for nest in said) and not is_promised(node.input)):
        if all(nest is not None and _is_closed(nest) for nest in said):
            return ()
        raise _refusal(
            f"which axes of {node.label} vary is not known", where,
            "say padded_shapes, with None for what varies, and output_signature in the map below it",
        )  # fmt: skip
    known = [Dims(spec.shape) if spec.shape is not None else None for spec in inner.specs]
    open_: list[set[int]] = [set() for _ in known]
    for nest in said:
        for leaf, dims in enumerate(known if nest is None else per_leaf("padded_shapes", nest, inner.structure)):
            if dims is None:
                raise _refusal(f"the rank of a leaf of {node.label} is not known", where, "say padded_shapes")
            open_[leaf] |= {axis + 1 for axis, size in enumerate(dims.sizes) if size is None}
    return tuple(tuple(sorted(axes)) for axes in open_)


def _is_closed(nest: Any) -> bool:
    """Whether no size in a nest of `Dims` is left open."""
    if isinstance(nest, Dims):
        return None not in nest.sizes
    return all(map(_is_closed, nest.values() if isinstance(nest, dict) else nest))


def _refusal(why: str, where: Location, remedy: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"fix_shapes: {why}", where=where, remedy=remedy)
