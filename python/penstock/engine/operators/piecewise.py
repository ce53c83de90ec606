"""The order of a shuffle over what is read in pieces: computed from a position, as a permutation of the range is.

Pieces come in a random order, in windows: as many as hold the elements to be mixed at a time. The elements of a window
are permuted. So a window's pieces are read once, and held until its last element has gone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.block.columns import Indices
from penstock.formats.store import Pieces
from penstock.kernels.permute import permute, permute_range
from penstock.rng import derive_key

_KEPT = 4  # orders: of this pass, of the next, and as much again for repeats that overlap


@dataclass(frozen=True, slots=True)
class _Order:
    """Pieces in their random order: where each begins in the range, and in the order; where windows begin in that."""

    starts: Indices
    ends: Indices
    windows: Indices


class PieceOrder:
    """The images of positions, for any key. Cost: of a permutation; and once for each key, a sort of the pieces."""

    def __init__(self, pieces: Pieces) -> None:
        rows = np.array([rows for rows in pieces.rows if rows], dtype=np.int64)
        self._rows = rows
        self._starts = np.cumsum(rows) - rows
        self._together = pieces.together
        self._orders: dict[int, _Order] = {}

    def images(self, key: int, positions: Indices) -> Indices:
        """Shapes: positions [n] in [0, rows); result [n], of all positions a permutation of all."""
        order = self._order(key)
        numbers = np.searchsorted(order.windows, positions, side="right") - 1
        ranks = np.empty_like(positions)
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            first, stop = int(order.windows[number]), int(order.windows[number + 1])
            within = permute(derive_key("window", key, number), stop - first, positions[places] - first)
            ranks[places] = first + within
        pieces = np.searchsorted(order.ends, ranks, side="right")
        begun = np.where(pieces > 0, order.ends[pieces - 1], 0)
        images: Indices = order.starts[pieces] + (ranks - begun)
        return images

    def _order(self, key: int) -> _Order:
        found = self._orders.get(key)
        if found is None:
            order = permute_range(derive_key("pieces", key), len(self._rows), 0, len(self._rows))
            ends = np.cumsum(self._rows[order])
            found = _Order(self._starts[order], ends, self._windows(ends))
            orders = {**self._orders, key: found}
            self._orders = dict(list(orders.items())[-_KEPT:])  # replaced, never changed: other threads read it
        return found

    def _windows(self, ends: Indices) -> Indices:
        windows = [0]
        total = int(ends[-1]) if len(ends) else 0
        while windows[-1] < total:
            last = int(np.searchsorted(ends, windows[-1] + self._together, side="left"))
            windows.append(int(ends[min(last, len(ends) - 1)]))
        return np.array(windows, dtype=np.int64)
