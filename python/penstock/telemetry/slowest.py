"""The slowest elements of a step with their origins: a bounded list, and the bar that a new one has to pass."""

from __future__ import annotations

import heapq
from dataclasses import dataclass, field

MOST = 32


@dataclass(slots=True)
class Slowest:
    """Seconds and origin of the MOST slowest."""

    found: list[tuple[float, str]] = field(default_factory=list)

    def add(self, seconds: float, origin: str) -> None:
        """One element, if it is among them."""
        if len(self.found) < MOST:
            heapq.heappush(self.found, (seconds, origin))
        elif seconds > self.found[0][0]:
            heapq.heapreplace(self.found, (seconds, origin))

    def merge(self, other: Slowest) -> None:
        for seconds, origin in other.found:
            self.add(seconds, origin)

    @property
    def bar_s(self) -> float:
        """Seconds that an element must exceed to be among them."""
        return self.found[0][0] if len(self.found) >= MOST else 0.0
