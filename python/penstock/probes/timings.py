"""How long elements of one function took: sums, quantiles, the slowest with their origins. Kept small however many."""

from __future__ import annotations

import heapq
from array import array
from dataclasses import asdict, dataclass, field
from typing import Any

from penstock.telemetry.trace import SlowElement

_MOST = 20_000
_SLOWEST = 8


@dataclass(slots=True)
class Timings:
    """Seconds that elements took.

    elements, busy_s: how many, and their sum. cpu_s: of it on a core. durations: of every `stride`th element.
    """

    elements: int = 0
    busy_s: float = 0.0
    cpu_s: float = 0.0
    stride: int = 1
    durations: array[float] = field(default_factory=lambda: array("d"))
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def add(self, origin: object, seconds: float) -> None:
        """One more element. Cost: 0.5 us."""
        self.busy_s += seconds
        if self.elements % self.stride == 0:
            self.durations.append(seconds)
            if len(self.durations) >= 2 * _MOST:
                self.durations, self.stride = self.durations[::2], 2 * self.stride
        self.elements += 1
        if len(self.slowest) < _SLOWEST:
            heapq.heappush(self.slowest, (seconds, str(origin)))
        elif seconds > self.slowest[0][0]:
            heapq.heapreplace(self.slowest, (seconds, str(origin)))

    def merge(self, other: Timings) -> None:
        """Those of another worker too."""
        self.elements += other.elements
        self.busy_s += other.busy_s
        self.cpu_s += other.cpu_s
        self.durations.extend(other.durations)
        self.slowest = heapq.nlargest(_SLOWEST, self.slowest + other.slowest)
        heapq.heapify(self.slowest)

    @property
    def quantiles(self) -> tuple[float, float, float, float] | None:
        """At 0.5, 0.9, 0.99 and 1."""
        if not self.durations:
            return None
        ordered = sorted(self.durations)
        last = len(ordered) - 1
        longest = max(ordered[-1], max(self.slowest)[0] if self.slowest else 0.0)
        return ordered[round(0.5 * last)], ordered[round(0.9 * last)], ordered[round(0.99 * last)], longest

    @property
    def slow(self) -> tuple[SlowElement, ...]:
        """The slowest, longest first."""
        return tuple(SlowElement(origin=origin, seconds=s) for s, origin in sorted(self.slowest, reverse=True))

    def as_json(self) -> dict[str, Any]:
        """For another process; `of_json` reads it."""
        return asdict(self) | {"durations": list(self.durations[-_MOST:])}

    @staticmethod
    def of_json(value: dict[str, Any]) -> Timings:
        """What `as_json` wrote."""
        return Timings(
            value["elements"], value["busy_s"], value["cpu_s"], value["stride"], array("d", value["durations"]),
            [(seconds, origin) for seconds, origin in value["slowest"]],
        )  # fmt: skip
