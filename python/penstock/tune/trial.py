"""A knob turned up beyond the cores is a trial: it stays if rows come clearly faster.

Whether a task waits or contends (for the GIL, for a core that others use, for a server that is busy) looks the same
from outside; what more of them bring tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.tune.load import Load
from penstock.tune.values import Knob, StageLook

_LEAST_GAIN = 0.2  # of the rate; of fewer than twice as many tasks, in proportion
_LEAST_S = 0.5
_DOUBTED_S = 1.0  # before it is taken back
_MOST_S = 3.0
_ROUNDS = 4  # of its workers: fewer tasks say little

USED_UP = 0.75  # of its setting: a stage could use more

Verdict = Literal["wait", "keep", "revert"]


@dataclass(frozen=True, slots=True)
class Trial:
    """`knob` of `stage` went from `before` to `after` at that moment, at so many rows per second."""

    stage: str
    knob: Knob
    before: int
    after: int
    rate: float
    at_s: float

    @property
    def wanted(self) -> float:
        """Rows per second from which on it stays."""
        return self.rate * (1 + _LEAST_GAIN * min(1.0, self.after / max(self.before, 1) - 1))

    def verdict(self, load: Load, look: StageLook, at_s: float, starves: bool) -> Verdict:
        """By the looks since it began. Where the new workers have nothing to do, something else is in the way."""
        elapsed = at_s - self.at_s
        is_shown = load.tasks >= _ROUNDS * self.after and elapsed >= _LEAST_S
        if not is_shown and elapsed < max(_MOST_S, 3 * look.task_s):
            return "wait"
        if load.rate >= self.wanted:
            return "keep"
        if elapsed < _DOUBTED_S:
            return "wait"
        return "revert" if starves and load.usage(look) >= USED_UP else "keep"
