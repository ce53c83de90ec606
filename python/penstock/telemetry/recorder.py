"""What one run records of its stages and functions, beside the totals of its steps. It outlives the run's threads.

Everything here is written under the run's lock, or once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from penstock.telemetry.gil import Looks
from penstock.telemetry.thinned import Thinned
from penstock.telemetry.trace import Occupancy

_MOST_MOMENTS = 512


@dataclass(slots=True)
class StageRecord:
    """Of one stage, over all its passes.

    tasks, task_rows: how many ended, and rows of the last. wait_in_s: seconds in which it could have started a task and
    its input had nothing for it. wait_out_s: seconds its blocks waited to be taken, summed over blocks. asked_s:
    seconds of the tasks whose threads were asked how long they waited for a core; queued_s: how long.
    """

    tasks: int = 0
    task_rows: int = 0
    wait_in_s: float = 0.0
    wait_out_s: float = 0.0
    asked_s: float = 0.0
    queued_s: float = 0.0
    occupancy: Thinned[Occupancy] = field(default_factory=lambda: Thinned(_MOST_MOMENTS))
    _starved_at: float | None = None

    def starve(self, now: float) -> None:
        """It could start a task now, and has no input."""
        if self._starved_at is None:
            self._starved_at = now

    def feed(self, now: float) -> None:
        """It starts a task, or will start none any more."""
        if self._starved_at is not None:
            self.wait_in_s += now - self._starved_at
            self._starved_at = None


@dataclass(frozen=True, slots=True)
class FunctionRecord:
    """What became of a function when its first block was seen. why: it is not compiled; "": it is.

    draws: what it compiled into draws at random. steps: how many operations it became. is_native: its images go through
    one native pass, in which no thread holds the GIL.
    """

    why: str = ""
    draws: bool = False
    steps: int = 0
    is_native: bool = False


@dataclass(slots=True)
class Recorder:
    """Of one iterator: its stages by id of their plan, and its functions by the key of their node.

    bars: of each step that has ended once, the seconds an element must exceed to be among its slowest. looks: at steps
    whose functions run as Python.
    """

    stages: dict[int, StageRecord] = field(default_factory=dict)
    functions: dict[tuple[int, str], FunctionRecord] = field(default_factory=dict)
    bars: dict[tuple[int, str], float] = field(default_factory=dict)
    looks: dict[tuple[int, str], Looks] = field(default_factory=dict)

    def stage(self, number: int) -> StageRecord:
        """The record of stage `number`: one, however often it is run."""
        return self.stages.setdefault(number, StageRecord())
