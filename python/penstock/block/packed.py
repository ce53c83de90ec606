"""Rows of bytes in buffers: row i from `starts[i]` to `stops[i]` of `buffers[numbers[i]]`, [n] int64 each.

Rows may lie in any order, apart or overlapping; what is between them is nobody's. So records can stay as they lie in
what was read of files, blocks are joined without a copy, and one native call gathers or parses all of their rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock import _native

Bytes = NDArray[np.uint8]
Places = NDArray[np.int64]


class Packed(NamedTuple):
    """Rows of bytes in one buffer."""

    data: Bytes
    starts: Places
    stops: Places


class Scattered(NamedTuple):
    """Rows of bytes in several buffers. `numbers`: the buffer of each row, None where all are in the first."""

    buffers: tuple[Bytes, ...]
    numbers: Places | None
    starts: Places
    stops: Places

    @property
    def nbytes(self) -> int:
        """Of the rows."""
        return int(self.stops.sum() - self.starts.sum())

    def rows(self, which: Places | slice) -> Scattered:
        """Some of the rows, over those of the buffers that they are in."""
        starts, stops = self.starts[which], self.stops[which]
        if self.numbers is None:
            return Scattered(self.buffers, None, starts, stops)
        numbers = self.numbers[which]
        used = np.flatnonzero(np.bincount(numbers, minlength=len(self.buffers)))
        if len(used) == len(self.buffers) > 1:
            return Scattered(self.buffers, numbers, starts, stops)
        buffers = tuple(self.buffers[number] for number in used.tolist()) or self.buffers[:1]
        places = np.zeros(len(self.buffers), dtype=np.int64)
        places[used] = np.arange(len(used))
        return Scattered(buffers, places[numbers] if len(used) > 1 else None, starts, stops)


def packed_objects(rows: Scattered) -> list[bytes]:
    """The rows as bytes objects. Raises: ValueError: one lies outside its buffer. Cost: 40 ns a row, and its copy."""
    return _native.packed_objects(*rows)


def gather_packed(rows: Scattered) -> Packed:
    """The rows copied one after another into a buffer of their own. Raises: ValueError: one lies outside its buffer."""
    data, bounds = _native.gather_packed(*rows)
    return Packed(data, bounds[:-1], bounds[1:])


def taken_packed(rows: Scattered, which: Places) -> Scattered:
    """Rows by number: copied, so that the buffers can go, unless they are most of what the buffers hold."""
    taken = rows.rows(which)
    if 2 * taken.nbytes >= sum(map(len, rows.buffers)):
        return taken
    data, starts, stops = gather_packed(taken)
    return Scattered((data,), None, starts, stops)


def joined_packed(parts: Sequence[Scattered]) -> Scattered:
    """The rows of one after another; no byte is copied."""
    buffers: dict[int, Bytes] = {id(buffer): buffer for part in parts for buffer in part.buffers}
    places = {key: number for number, key in enumerate(buffers)}
    numbers = []
    for part in parts:
        own = np.array([places[id(buffer)] for buffer in part.buffers], dtype=np.int64)
        numbers.append(np.repeat(own[:1], len(part.starts)) if part.numbers is None else own[part.numbers])
    starts, stops = (np.concatenate([part[side] for part in parts]) for side in (2, 3))
    joined = None if len(buffers) == 1 else np.concatenate(numbers)
    return Scattered(tuple(buffers.values()), joined, starts, stops)
