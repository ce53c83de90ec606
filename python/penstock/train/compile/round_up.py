"""Batches whose lengths vary, padded on to a few lengths: a function of a batch, for a map above `padded_batch`."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.tree import Structure

_SHORTEST = 8


@dataclass(frozen=True, slots=True)
class RoundUp:
    """Pads each leaf at the end of those of its `axes` up to the next of `lengths`; the rest is passed on.

    lengths: rising; what is longer than the last goes up to a multiple of it. Empty: powers of two from 8 on. axes,
    values: for each leaf of `structure`. Cost: two copies of a batch, here and by the engine.
    """

    structure: Structure
    axes: tuple[tuple[int, ...], ...]
    values: tuple[Any, ...]
    lengths: tuple[int, ...] = ()

    def __call__(self, *parts: Any) -> Any:
        is_whole = self.structure.kind in (None, dict) or (isinstance(parts[0], tuple) and len(parts) == 1)
        leaves = self.structure.flatten(parts[0] if is_whole else parts)
        padded = [
            self._padded(leaf, axes, value) for leaf, axes, value in zip(leaves, self.axes, self.values, strict=True)
        ]
        return self.structure.unflatten(padded)

    def length_for(self, length: int) -> int:
        """What an axis of this length becomes."""
        if not self.lengths:
            return max(_SHORTEST, 1 << (length - 1).bit_length()) if length else _SHORTEST
        last = self.lengths[-1]
        at = bisect_left(self.lengths, length)
        return self.lengths[at] if at < len(self.lengths) else -(-length // last) * last

    def _padded(self, leaf: Any, axes: tuple[int, ...], value: Any) -> Any:
        shape = tuple(self.length_for(size) if axis in axes else size for axis, size in enumerate(leaf.shape))
        if shape == leaf.shape:
            return leaf
        out = np.full(shape, value, leaf.dtype)
        out[tuple(slice(size) for size in leaf.shape)] = leaf
        return out
