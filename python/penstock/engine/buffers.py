"""Buffers: 64-byte aligned, recycled by ownership.

Law: a buffer returns to the pool when the last array over it dies, never by turn; so a framework that keeps a batch
longer (JAX runs tens of steps ahead) only makes the pool allocate afresh. Alignment lets JAX, TensorFlow and PyTorch
alias a batch instead of copying it (docs: facts of the frameworks, measured).
"""

from __future__ import annotations

import math
import threading
from collections import defaultdict
from typing import Any

import numpy as np

from penstock.block.columns import Array

ALIGNMENT = 64
_KEPT_BYTES = 256 * 2**20


class _Owner:
    """Holds one piece of memory for as long as any array over it lives, then gives it back."""

    __slots__ = ("__array_interface__", "memory", "pool")

    def __init__(self, memory: Array, pool: BufferPool) -> None:
        self.memory = memory
        self.pool = pool
        self.__array_interface__ = memory.__array_interface__

    def __del__(self) -> None:
        self.pool.give_back(self.memory)


class BufferPool:
    """Aligned memory by size. Free memory kept is bounded; beyond that it goes back to the system."""

    def __init__(self, kept_bytes: int = _KEPT_BYTES) -> None:
        self._free: defaultdict[int, list[Array]] = defaultdict(list)
        self._lock = threading.RLock()  # give_back runs in destructors, at any point of any thread
        self._kept_bytes = kept_bytes
        self._free_bytes = 0

    def array(self, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
        """An uninitialised, writable, C-contiguous, 64-byte aligned array; text dtypes give an object array."""
        return self.arrays((shape,), dtype)[0]

    def arrays(self, shapes: tuple[tuple[int, ...], ...], dtype: np.dtype[Any]) -> list[Array]:
        """Several such arrays over one piece of memory: it is recycled when the last of them dies."""
        if dtype.kind in "SUO":
            return [np.empty(shape, dtype=object) for shape in shapes]
        sizes = [math.prod(shape) * dtype.itemsize for shape in shapes]
        padded = [-(-size // ALIGNMENT) * ALIGNMENT for size in sizes]
        memory = np.asarray(_Owner(self._memory(sum(padded)), self))
        if sizes == padded and shapes.count(shapes[0]) == len(shapes):  # the usual case, without a loop
            return list(memory[: sum(sizes)].view(dtype).reshape(len(shapes), *shapes[0]))
        arrays, start = [], 0
        for shape, size, step in zip(shapes, sizes, padded, strict=True):
            arrays.append(memory[start : start + size].view(dtype).reshape(shape))
            start += step
        return arrays

    def _memory(self, wanted: int) -> Array:
        size = size_class(wanted)
        with self._lock:
            free = self._free.get(size)
            if free:
                self._free_bytes -= size
                return free.pop()
        raw = np.empty(size + ALIGNMENT, dtype=np.uint8)
        start = -raw.ctypes.data % ALIGNMENT
        return raw[start : start + size]

    def give_back(self, memory: Array) -> None:
        """Called when the last array over `memory` has died."""
        with self._lock:
            if self._free_bytes + memory.nbytes <= self._kept_bytes:
                self._free[memory.nbytes].append(memory)
                self._free_bytes += memory.nbytes


def size_class(size: int) -> int:
    """`size` rounded up to one of four steps per power of two, so that pieces of nearly one size replace each other."""
    step = max(ALIGNMENT, 1 << max(0, size.bit_length() - 3))
    return -(-size // step) * step
