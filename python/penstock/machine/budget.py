"""The budget of one process, with the limits that decided it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import InvalidArgumentError
from penstock.machine.cpu import cpu_limit
from penstock.machine.limit import ROOT
from penstock.machine.memory import memory_limit
from penstock.machine.readings import Capacities, Host


@dataclass(frozen=True, slots=True)
class Budget:
    """What the engine may use: at least 1 CPU, and bytes still free when it was measured.

    `cpu_reason` and `memory_reason` name the limit that decided each, for `explain()`.
    """

    cpus: int
    memory_bytes: int
    cpu_reason: str
    memory_reason: str

    def host(self, capacities: Capacities = Capacities()) -> Host:  # noqa: B008 - frozen
        """As traces carry it."""
        return Host(
            cpus=self.cpus, memory_bytes=self.memory_bytes, cpu_reason=self.cpu_reason,
            memory_reason=self.memory_reason, capacities=capacities,
        )  # fmt: skip

    def __post_init__(self) -> None:
        if self.cpus < 1:
            raise InvalidArgumentError("a budget without a CPU", got=self.cpus, expected="cpus >= 1")
        if self.memory_bytes < 0:
            raise InvalidArgumentError("a negative budget", got=self.memory_bytes, expected="memory_bytes >= 0")


def measure_budget(root: Path = ROOT, affinity: int | None = None) -> Budget:
    """The budget of this process now. Cost: some twenty small files, a millisecond or two."""
    cpu, memory = cpu_limit(root, affinity), memory_limit(root)
    return Budget(int(cpu.amount), int(memory.amount), cpu.reason, memory.reason)


class RecentBudget:
    """`measure()`, at most `KEPT_S` old: what opens many small pipelines a second need not read the files for each."""

    KEPT_S = 0.25

    def __init__(
        self, measure: Callable[[], Budget] = measure_budget, now: Callable[[], float] = time.monotonic
    ) -> None:
        self._measure = measure
        self._now = now
        self._kept: tuple[float, Budget] | None = None

    def __call__(self) -> Budget:
        kept, now = self._kept, self._now()
        if kept is None or now - kept[0] >= self.KEPT_S:
            self._kept = kept = (now, self._measure())
        return kept[1]


recent_budget = RecentBudget()
