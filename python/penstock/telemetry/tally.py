"""What one task measured, and the running totals of every step. Inclusive and exclusive time are kept apart.

A tally belongs to one task on one thread, so it needs no lock; totals are merged in order, under the engine's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.telemetry.clock import Clock
from penstock.telemetry.sketch import Sketch
from penstock.telemetry.slowest import Slowest

Key = tuple[int, str]
_MOST_TOLD = 4


class Measured(Protocol):
    """What steps put out: blocks."""

    def __len__(self) -> int: ...

    @property
    def nbytes(self) -> int: ...


Output = TypeVar("Output", bound=Measured)


@dataclass(slots=True)
class OpTotals:
    """One op of a compiled function, within its step: seconds and CPU seconds of all its calls on blocks."""

    name: str
    calls: int = 0
    busy_s: float = 0.0
    cpu_s: float = 0.0

    def add(self, other: OpTotals) -> None:
        self.calls += other.calls
        self.busy_s += other.busy_s
        self.cpu_s += other.cpu_s


@dataclass(slots=True)
class StepTotals:
    """Totals of one step of the pipeline (one verb).

    elements, bytes: what it put out. inclusive_s: seconds in it and in what it called. busy_s: seconds in it alone, on
    any thread; near the run's length times the workers, it is the bottleneck. cpu_s: CPU seconds in it alone; far below
    busy_s, it waits (for I/O or for the GIL). storage_s, storage_bytes: of busy_s, those in reading, and what was read.
    calls: blocks. each: seconds of an element. slowest: with their origins. ops: by place in what it compiled into.
    """

    label: str
    elements: int = 0
    bytes: int = 0
    inclusive_s: float = 0.0
    busy_s: float = 0.0
    cpu_s: float = 0.0
    storage_s: float = 0.0
    storage_bytes: int = 0
    calls: int = field(default=0, compare=False)
    each: Sketch = field(default_factory=Sketch, compare=False)
    slowest: Slowest = field(default_factory=Slowest, compare=False)
    ops: dict[int, OpTotals] = field(default_factory=dict, compare=False)

    def add(self, other: StepTotals) -> None:
        self.elements += other.elements
        self.bytes += other.bytes
        self.inclusive_s += other.inclusive_s
        self.busy_s += other.busy_s
        self.cpu_s += other.cpu_s
        self.storage_s += other.storage_s
        self.storage_bytes += other.storage_bytes
        self.calls += other.calls
        self.each.merge(other.each)
        if other.slowest.found:
            self.slowest.merge(other.slowest)
        _add_ops(self, other.ops)


@dataclass(frozen=True, slots=True)
class Told:
    """Of a block whose elements were timed one by one: their seconds, and the slowest few with their origins."""

    seconds: NDArray[np.float64]
    slowest: tuple[tuple[float, str], ...]

    @classmethod
    def of(cls, seconds: NDArray[np.float64], describe: Callable[[int], str]) -> Told:
        """describe: says where row i came from. Cost: some 15 us."""
        top = np.argsort(seconds)[-_MOST_TOLD:]
        return cls(seconds, tuple((float(seconds[row]), describe(int(row))) for row in top))


@dataclass(slots=True)
class Tally:
    """The measurements of one task, by step key.

    bars: seconds that an element of a step must exceed to be among its slowest. A step that is not in it has never
    ended: its first blocks compile and warm up, so they tell nothing of its elements. None: not known. told, ops: of
    the block that is worked on now, by whoever works on it.
    """

    clock: Clock
    steps: dict[Key, StepTotals] = field(default_factory=dict)
    bars: Mapping[Key, float] | None = None
    told: Told | None = None
    ops: dict[int, OpTotals] | None = None
    _nested_s: float = 0.0
    _nested_cpu_s: float = 0.0
    _nested_storage_s: float = 0.0
    _nested_storage_bytes: int = 0

    def measure(self, key: Key, label: str, work: Callable[[], Output]) -> Output:
        """Run `work`, and charge its time to `key`: all of it inclusively, less what nested calls took exclusively.

        Cost: 5 us (benchmarks/micro/telemetry_overhead.py).
        """
        clock = self.clock
        outer = (
            self._nested_s, self._nested_cpu_s, self._nested_storage_s, self._nested_storage_bytes, self.told, self.ops
        )  # fmt: skip
        self._nested_s = self._nested_cpu_s = self._nested_storage_s = 0.0
        self._nested_storage_bytes, self.told, self.ops = 0, None, None
        read_s, read_bytes = clock.reads()
        began, cpu_began = clock.now(), clock.cpu()
        try:
            block = work()
        finally:
            cpu_s, spent_s = clock.cpu() - cpu_began, clock.now() - began
            stored_s, stored_bytes = clock.reads()
            stored_s, stored_bytes = stored_s - read_s, stored_bytes - read_bytes
            totals = self.steps.get(key)
            if totals is None:
                totals = self.steps[key] = StepTotals(label)
            own_s = spent_s - self._nested_s
            totals.inclusive_s += spent_s
            totals.busy_s += own_s
            totals.cpu_s += cpu_s - self._nested_cpu_s
            totals.storage_s += stored_s - self._nested_storage_s
            totals.storage_bytes += stored_bytes - self._nested_storage_bytes
            totals.calls += 1
            told, ops = self.told, self.ops
            self._nested_s, self._nested_cpu_s = outer[0] + spent_s, outer[1] + cpu_s
            self._nested_storage_s, self._nested_storage_bytes = outer[2] + stored_s, outer[3] + stored_bytes
            self.told, self.ops = outer[4], outer[5]
        elements = len(block)
        totals.elements += elements
        totals.bytes += block.nbytes
        if ops is not None:
            _add_ops(totals, ops)
        bar_s = totals.each.most_s if self.bars is None else self.bars.get(key)
        if bar_s is not None and elements:
            _tell(totals, told, own_s / elements, block, bar_s)
        return block

    def op(self, place: int, name: str, seconds: float, cpu_s: float) -> None:
        """An op of the step that is open took so long on its block."""
        if self.ops is None:
            self.ops = {}
        totals = self.ops.setdefault(place, OpTotals(name))
        totals.add(OpTotals(name, 1, seconds, cpu_s))

    def absorb(
        self, steps: dict[Key, StepTotals], cpu_s: float, storage_s: float = 0.0, storage_bytes: int = 0
    ) -> None:
        """What another process measured within the step that is open here.

        steps: the steps within it; its own busy time leaves theirs out. cpu_s, storage_s, storage_bytes: of it all
        there.
        """
        for key, totals in steps.items():
            known = self.steps.get(key)
            if known is None:
                self.steps[key] = totals
            else:
                known.add(totals)
            self._nested_s += totals.busy_s
            self._nested_cpu_s += totals.cpu_s
            self._nested_storage_s += totals.storage_s
            self._nested_storage_bytes += totals.storage_bytes
        self._nested_cpu_s -= cpu_s
        self._nested_storage_s -= storage_s
        self._nested_storage_bytes -= storage_bytes


def _tell(totals: StepTotals, told: Told | None, mean_s: float, block: Any, bar_s: float) -> None:
    """Of a block, how long its elements took: each, where they were told apart, else as long as each other."""
    if told is not None:
        totals.each.add_each(told.seconds)
        for seconds, origin in told.slowest:
            if seconds > bar_s:
                totals.slowest.add(seconds, origin)
        return
    totals.each.add(mean_s, len(block))
    describe = getattr(block, "describe", None)
    if mean_s > bar_s and describe is not None:
        more = f" and {len(block) - 1} more" if len(block) > 1 else ""
        totals.slowest.add(mean_s, f"{describe(0)}{more}")


def _add_ops(totals: StepTotals, ops: dict[int, OpTotals]) -> None:
    for place, op in ops.items():
        known = totals.ops.get(place)
        if known is None:
            totals.ops[place] = op
        else:
            known.add(op)


class NoTally(Tally):
    """Measures nothing: for work so small that measuring it would cost more. Who called for it measures the whole."""

    __slots__ = ()

    def measure(self, key: Key, label: str, work: Callable[[], Output]) -> Output:
        return work()

    def op(self, place: int, name: str, seconds: float, cpu_s: float) -> None:
        """Not measured either."""
