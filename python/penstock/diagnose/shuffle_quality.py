"""How well a buffer of some size shuffles a range: measured by running its algorithm over positions.

The measure: how far an element lands from where it came, on average, as a share of the range. A permutation of all
drawn at random gives 1/3 (the mean distance of two points of a line); no shuffle gives 0.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

PERMUTATION = 1 / 3
_MOST = 20_000
"""Longer ranges are measured at this length with the buffer in proportion; the share is the same within a percent."""


@lru_cache(64)
def displacement(buffer: int, count: int) -> float:
    """Mean displacement, as a share of the range, of `count` elements through a buffer of `buffer`.

    The algorithm is tf.data's: the buffer is filled, then a slot drawn at random is delivered and filled anew.
    Cost: a few milliseconds.
    """
    if buffer <= 1 or count < 2:
        return 0.0
    scale = max(1.0, count / _MOST)
    size, length = max(1, round(buffer / scale)), round(count / scale)
    if size <= 1:  # too small to scale: an element waits for a geometric number of turns, of mean `buffer`
        return buffer / count * 0.75
    rng = np.random.default_rng(0)
    held = list(range(min(size, length)))
    draws = rng.random(length)
    moved = 0
    for turn in range(length):
        slot = int(draws[turn] * len(held))
        moved += abs(held[slot] - turn)
        if turn + size < length:
            held[slot] = turn + size
        else:
            held[slot] = held[-1]
            held.pop()
    return moved / length / length
