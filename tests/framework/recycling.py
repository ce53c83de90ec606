"""Pools for `FakeFeed`: one that recycles by turn, as a ring does, and one that is the engine's own."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.engine.buffers import BufferPool
from tests.framework.fake_feed import ROW, FakeFeed, SpoilingPool


class RingPool:
    """The same few aligned buffers of each size, in turn, whoever still reads them."""

    def __init__(self, buffers: int) -> None:
        self._pool, self._buffers = BufferPool(), buffers
        self._rings: dict[tuple[int, ...], list[np.ndarray]] = {}
        self._turns: dict[tuple[int, ...], int] = {}

    def array(self, values: np.ndarray) -> np.ndarray:
        ring = self._rings.setdefault(values.shape, [])
        turn = self._turns.get(values.shape, 0)
        self._turns[values.shape] = turn + 1
        if turn < self._buffers:
            ring.append(self._pool.array(values.shape, values.dtype))
        out = ring[turn % self._buffers]
        out[...] = values
        return out


class OwnedPool:
    """The engine's pool; `addresses` has those that it ever gave out."""

    def __init__(self) -> None:
        self._pool = BufferPool()
        self.addresses: set[int] = set()

    def array(self, values: np.ndarray) -> np.ndarray:
        out = self._pool.array(values.shape, values.dtype)
        self.addresses.add(out.ctypes.data)
        out[...] = values
        return out


def rows(ids: np.ndarray, pool: SpoilingPool) -> Any:
    """A batch of rows that are filled with their sample's number."""
    return pool.array(np.repeat(ids[:, None], ROW, axis=1))


def feed(pool: Any, batches: int = 40) -> FakeFeed:
    """Full batches of four rows from that pool."""
    return FakeFeed(samples=4 * batches, cardinality=batches, make=rows, pool=pool)


def wrong(held: list[Any]) -> int:
    """How many of the batches, held since they were given, no longer hold their samples."""
    return sum(not np.array_equal(np.asarray(batch)[:, 0], np.arange(4 * n, 4 * n + 4)) for n, batch in enumerate(held))
