"""What one task measured, and the running totals of every step. Inclusive and exclusive time are kept apart.

A tally belongs to one task on one thread, so it needs no lock; totals are merged in order, under the engine's.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from penstock.telemetry.clock import Clock


class Measured(Protocol):
    """What steps put out: blocks."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


Output = TypeVar("Output", bound=Measured)


@dataclass(slots=True)
class StepTotals:
    """Totals of one step of the pipeline (one verb).

    elements, bytes: what it put out. inclusive_s: seconds in it and in what it called. busy_s: seconds in it alone, on
    any thread; near the run's length times the workers, it is the bottleneck. cpu_s: CPU seconds in it alone; far below
    busy_s, it waits (for I/O or for the GIL).
    """

    label: str
    elements: int = 0
    bytes: int = 0
    inclusive_s: float = 0.0
    busy_s: float = 0.0
    cpu_s: float = 0.0

    def add(self, other: StepTotals) -> None:
        self.elements += other.elements
        self.bytes += other.bytes
        self.inclusive_s += other.inclusive_s
        self.busy_s += other.busy_s
        self.cpu_s += other.cpu_s


@dataclass(slots=True)
class Tally:
    """The measurements of one task, by step key."""

    clock: Clock
    steps: dict[tuple[int, str], StepTotals] = field(default_factory=dict)
    _nested_s: float = 0.0
    _nested_cpu_s: float = 0.0

    def measure(self, key: tuple[int, str], label: str, work: Callable[[], Output]) -> Output:
        """Run `work`, and charge its time to `key`: all of it inclusively, less what nested calls took exclusively."""
        outer_s, outer_cpu_s = self._nested_s, self._nested_cpu_s
        self._nested_s = self._nested_cpu_s = 0.0
        began, cpu_began = self.clock.now(), self.clock.cpu()
        try:
            block = work()
        finally:
            cpu_s, spent_s = self.clock.cpu() - cpu_began, self.clock.now() - began
            totals = self.steps.get(key)
            if totals is None:
                totals = self.steps[key] = StepTotals(label)
            totals.inclusive_s += spent_s
            totals.busy_s += spent_s - self._nested_s
            totals.cpu_s += cpu_s - self._nested_cpu_s
            self._nested_s, self._nested_cpu_s = outer_s + spent_s, outer_cpu_s + cpu_s
        totals.elements += len(block)
        totals.bytes += block.nbytes
        return block

    def absorb(self, steps: dict[tuple[int, str], StepTotals], cpu_s: float) -> None:
        """What another process measured within the step that is open here.

        steps: the steps within it; its own busy time leaves theirs out. cpu_s: CPU seconds of it all there.
        """
        for key, totals in steps.items():
            known = self.steps.get(key)
            if known is None:
                self.steps[key] = totals
            else:
                known.add(totals)
            self._nested_s += totals.busy_s
            self._nested_cpu_s += totals.cpu_s
        self._nested_cpu_s -= cpu_s


class NoTally(Tally):
    """Measures nothing: for work so small that measuring it would cost more. Who called for it measures the whole."""

    __slots__ = ()

    def measure(self, key: tuple[int, str], label: str, work: Callable[[], Output]) -> Output:
        return work()
