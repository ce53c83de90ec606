"""A feed with the habits of the engine: a thread per open pass, and buffers that are spoiled when nobody owns them."""

from __future__ import annotations

import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.block.spec import Spec

SPOILED = -1000.0
ROW = 256  # floats: large enough that no framework copies a batch for being small


class _Owner:
    def __init__(self, raw: np.ndarray, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
        self.__array_interface__ = {
            "data": (raw.ctypes.data + offset, False),
            "shape": shape,
            "typestr": dtype.str,
            "version": 3,
        }


class SpoilingPool:
    """Buffers aligned to 64 bytes; one that comes back is overwritten, and given out again."""

    def __init__(self) -> None:
        self.allocated = 0
        self._free: list[np.ndarray] = []

    def array(self, values: np.ndarray) -> np.ndarray:
        fitting = [raw for raw in self._free if raw.nbytes == values.nbytes + 64]
        if fitting:
            raw = fitting[0]
            self._free = [other for other in self._free if other is not raw]
        else:
            raw = np.empty(values.nbytes + 64, np.uint8)
            self.allocated += 1
        offset = -raw.ctypes.data % 64
        owner = _Owner(raw, offset, values.shape, values.dtype)
        weakref.finalize(owner, self._give_back, raw, offset, values.nbytes)
        out = np.asarray(owner)
        out[...] = values
        return out

    def _give_back(self, raw: np.ndarray, offset: int, size_bytes: int) -> None:
        raw[offset : offset + size_bytes].view(np.float32)[...] = SPOILED
        self._free.append(raw)


def as_pair(ids: np.ndarray, pool: SpoilingPool) -> Any:
    """(inputs, targets): rows filled with their sample's number, and that number."""
    return pool.array(np.repeat(ids[:, None], ROW, axis=1)), pool.array(ids)


PAIR_SPEC = (Spec((None, ROW), "float32"), Spec((None,), "float32"))


@dataclass
class FakeFeed:
    """Samples 0 to `samples` - 1 in batches; records what was opened and what is still open."""

    samples: int = 22
    batch_size: int | None = 4
    cardinality: int = 6
    make: Callable[[np.ndarray, SpoilingPool], Any] = as_pair
    element_spec: Any = PAIR_SPEC
    fail_at: int | None = None
    pool: SpoilingPool = field(default_factory=SpoilingPool)
    opened: list[int | None] = field(default_factory=list)
    live: int = 0

    @property
    def has_partial_batch(self) -> bool | None:
        return self.partial_batch_size is not None

    @property
    def partial_batch_size(self) -> int | None:
        return self.samples % (self.batch_size or 1) or None

    def open(self, epoch: int | None = None, start: int = 0) -> FakeBatches:
        self.opened.append(epoch)
        return FakeBatches(self, start)

    def numbers(self, start: int) -> Iterator[np.ndarray]:
        assert self.batch_size is not None
        while True:
            for first in range(start * self.batch_size, self.samples, self.batch_size):
                yield np.arange(first, min(first + self.batch_size, self.samples), dtype=np.float32)
            if self.cardinality != -1:
                return


class FakeBatches:
    def __init__(self, feed: FakeFeed, start: int) -> None:
        self._feed = feed
        self._queue: queue.Queue[Any] = queue.Queue(maxsize=2)
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._produce, args=(start,), name="penstock-fake", daemon=True)
        self._is_open = True
        feed.live += 1
        self._thread.start()

    def __iter__(self) -> FakeBatches:
        return self

    def __next__(self) -> Any:
        batch = self._queue.get()
        if isinstance(batch, BaseException):
            self.close()
            raise batch
        return batch

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._feed.live -= 1
            self._stop.set()
            self._thread.join()

    def _produce(self, start: int) -> None:
        for index, ids in enumerate(self._feed.numbers(start), start):
            if index == self._feed.fail_at:
                self._put(RuntimeError("no more"))
                return
            if not self._put(self._feed.make(ids, self._feed.pool)):
                return
        self._put(StopIteration())

    def _put(self, item: Any) -> bool:
        while not self._stop.is_set():
            try:
                self._queue.put(item, timeout=0.02)
            except queue.Full:
                continue
            return True
        return False
