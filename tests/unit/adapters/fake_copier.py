"""A copier that takes notes, and whose device copies only when it is told to: what is overwritten too early shows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class FakeEvent:
    copier: FakeCopier
    number: int

    def has_passed(self) -> bool:
        return self.copier.done >= self.number

    def wait(self) -> None:
        self.copier.notes.append("wait")
        self.copier.advance(self.number - self.copier.done)


@dataclass
class FakeCopy:
    values: np.ndarray


@dataclass
class FakeCopier:
    """notes: what was asked, in order. `advance(n)` lets the device do its next n copies."""

    notes: list[str] = field(default_factory=list)
    locked: int = 0
    most_locked: int = 0
    done: int = 0
    fail_at: str | None = None
    event: Callable[[FakeCopier, int], Any] = FakeEvent
    _queue: list[tuple[np.ndarray, np.ndarray]] = field(default_factory=list)

    def advance(self, count: int) -> None:
        for source, target in self._queue[self.done : self.done + max(0, count)]:
            target[...] = source
            self.done += 1

    def lock(self, size_bytes: int) -> Any:
        self._note("lock")
        self.locked += 1
        self.most_locked = max(self.most_locked, self.locked)
        return np.zeros(size_bytes, np.uint8)

    def unlock(self, memory: Any) -> None:
        self._note("unlock")
        self.locked -= 1

    def stage(self, memory: Any, start: int, array: np.ndarray) -> Any:
        self._note("stage")
        staged = memory[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
        staged[...] = array
        return staged

    def borrow(self, array: np.ndarray) -> Any:
        return array

    def copy(self, staged: Any) -> Any:
        self._note("copy")
        target = np.empty_like(staged)
        self._queue.append((staged, target))
        return FakeCopy(target)

    def fence(self) -> Any:
        self._note("fence")
        return self.event(self, len(self._queue))

    def hand_over(self, copies: Sequence[Any], fence: FakeEvent) -> None:
        """The stream of the trainer waits; in the fake, it reads when the test does."""
        self._note("hand over")

    def close(self) -> None:
        self._note("close")

    def _note(self, what: str) -> None:
        self.notes.append(what)
        if what == self.fail_at:
            self.fail_at = None
            raise RuntimeError(f"no {what}")
