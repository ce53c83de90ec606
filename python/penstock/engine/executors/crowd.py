"""How many calls of Python functions run at once, in the threads of one iterator."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    """When a call began: the time, and the calls' seconds, summed, until then."""

    now_s: float
    spent_s: float


class Crowd:
    """Counts calls as they begin and end. Thread-safe; a microsecond a call."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent_s = 0.0
        self._changed_s = 0.0
        self.size = 0

    def enter(self, now: Callable[[], float]) -> Entry:
        """A call begins."""
        with self._lock:
            entry = Entry(self._advance(now), self._spent_s)
            self.size += 1
            return entry

    def leave(self, entry: Entry, now: Callable[[], float]) -> tuple[float, float]:
        """It ends. (its wall seconds, how many ran at once meanwhile on average, itself included)."""
        with self._lock:
            wall_s = self._advance(now) - entry.now_s
            self.size -= 1
            return wall_s, (self._spent_s - entry.spent_s) / wall_s if wall_s > 0 else 1.0

    def _advance(self, now: Callable[[], float]) -> float:
        at_s = now()
        self._spent_s += self.size * (at_s - self._changed_s)
        self._changed_s = at_s
        return at_s
