"""Buckets of elements of like length: the three functions that `group_by_window` is given for them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from penstock.block.padding import Dims, as_padded_shapes
from penstock.block.tree import structure_of
from penstock.errors import InvalidArgumentError, Location
from penstock.options import require_integer

_VERB = "bucket_by_sequence_length"


@dataclass(frozen=True, slots=True, kw_only=True)
class Buckets:
    """Bucket b holds lengths from boundaries[b - 1] to below boundaries[b], and gives batches of batch_sizes[b].

    `dims` and `padded_shapes`: nests of `Dims`, the shapes that are known beforehand, and those asked for; None: none.
    """

    boundaries: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    where: Location
    length_of: Callable[..., Any]
    dims: Any
    padded_shapes: Any
    padding_values: Any
    to_boundary: bool
    pads: bool
    drop_remainder: bool

    @classmethod
    def of(cls, boundaries: Sequence[int], batch_sizes: Sequence[int], where: Location, **rest: Any) -> Buckets:
        """Raises: InvalidArgumentError: boundaries that do not rise, or another number of sizes than of buckets."""
        limits = tuple(_integer("bucket_boundaries", limit, where) for limit in boundaries)
        sizes = tuple(_integer("bucket_batch_sizes", size, where) for size in batch_sizes)
        if len(sizes) != len(limits) + 1:
            expected = f"{len(limits) + 1}, one more than bucket_boundaries"
            raise InvalidArgumentError(f"{_VERB}: bucket_batch_sizes", got=len(sizes), expected=expected, where=where)
        if any(a >= b for a, b in pairwise(limits)):
            raise InvalidArgumentError(
                f"{_VERB}: bucket_boundaries", got=list(limits), expected="rising numbers", where=where
            )
        return cls(boundaries=limits, batch_sizes=sizes, where=where, **rest)

    def key(self, *element: Any) -> int:
        """The bucket of an element."""
        length = int(self.length_of(*element))
        limit = self.limit
        if limit is not None and length >= limit:
            raise InvalidArgumentError(
                "an element too long to be padded to the boundary of a bucket", got=length, expected=f"below {limit}",
                where=self.where, remedy="add a larger boundary, or filter long elements out",
            )  # fmt: skip
        return bisect_right(self.boundaries, length)

    @property
    def limit(self) -> int | None:
        """The length from which on an element has no boundary to be padded to; None: any length has its place."""
        if not (self.to_boundary and self.pads):
            return None
        return self.boundaries[-1] if self.boundaries else 0

    def known_shapes(self) -> tuple[Any, ...] | None:
        """The shape of the batches of each bucket as nests of `Dims`, None for the longest row; None: not all known."""
        if not self.pads or (self.padded_shapes is None and not self.to_boundary):
            return (None,) * len(self.batch_sizes)
        if self.padded_shapes is None and self.dims is None:
            return None
        count = len(self.boundaries) if self.to_boundary else len(self.batch_sizes)
        return tuple(as_padded_shapes(self._shapes(bucket, None)) for bucket in range(count))

    def size(self, bucket: Any) -> int:
        """Rows of a batch of `bucket`."""
        return self.batch_sizes[int(bucket)]

    def batch(self, bucket: Any, rows: Any) -> Any:
        """The dataset of one batch: the rows of `bucket`, padded."""
        size = self.size(bucket)
        if not self.pads:
            made = rows.batch(size, drop_remainder=self.drop_remainder)
        else:
            shapes = self._shapes(int(bucket), rows)
            made = rows.padded_batch(size, shapes, self.padding_values, drop_remainder=self.drop_remainder)
        return made._of(replace(made._node, location=self.where))  # the user's line, not the one above

    def _shapes(self, bucket: int, rows: Any) -> Any:
        """The shapes asked for, or known, with the boundary for what they leave open where that is wanted."""
        if not self.to_boundary:
            return None if self.padded_shapes is None else _filled(self.padded_shapes, None)
        length = self.boundaries[bucket] - 1
        if self.padded_shapes is not None:
            return _filled(self.padded_shapes, length)
        if self.dims is not None:
            return _filled(self.dims, length)
        spec = rows.element_spec
        structure = structure_of(spec)
        leaves = [[length, *([None] * (len(s.shape) - 1))] if s.shape else [] for s in structure.flatten(spec)]
        return structure.unflatten(leaves)


def _filled(shapes: Any, length: int | None) -> Any:
    """A nest of `Dims` with `length` for what they leave open."""
    if isinstance(shapes, Dims):
        return [length if size is None else size for size in shapes.sizes]
    if isinstance(shapes, dict):
        return {key: _filled(part, length) for key, part in shapes.items()}
    parts = [_filled(part, length) for part in shapes]
    return type(shapes)(*parts) if hasattr(shapes, "_fields") else tuple(parts)


def _integer(name: str, value: Any, where: Location) -> int:
    return require_integer(_VERB, name, value, minimum=1, where=where) or 1
