"""What the iterators of one dataset hand on: an epoch starts with the buffers and the task sizes of the one before."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.buffers import BufferPool
from penstock.engine.sizing import TaskSize


@dataclass(frozen=True, slots=True)
class Kept:
    """Buffers to use again, and how many rows a task of each step does best with. Neither changes a result."""

    pool: BufferPool = field(default_factory=BufferPool)
    sizes: dict[tuple[int, str], TaskSize] = field(default_factory=dict)
