"""What the iterators of one dataset hand on: an epoch starts with what the one before found."""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.engine.buffers import BufferPool
from penstock.engine.executors.evidence import Finding
from penstock.engine.knobs import Setting
from penstock.engine.sizing import TaskSize


@dataclass(frozen=True, slots=True, weakref_slot=True, eq=False)
class Kept:
    """Buffers to use again, how many rows a task of each step does best with, where it runs best, and its setting.

    None of it changes a result.
    """

    pool: BufferPool = field(default_factory=BufferPool)
    sizes: dict[tuple[int, str], TaskSize] = field(default_factory=dict)
    findings: dict[tuple[int, str], Finding] = field(default_factory=dict)
    settings: dict[tuple[int, str], Setting] = field(default_factory=dict)
