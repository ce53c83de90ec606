"""An emulated accelerator: busy for a given time with each batch, on no core of this machine."""

from __future__ import annotations

import time


class Accelerator:
    """`step(batch)` returns when the step is done. A sleep that was too long is made up for by the next one."""

    def __init__(self, step_s: float) -> None:
        self.step_s = step_s
        self.steps = 0
        self.waited_s = 0.0
        self._deadline_s = self._done_s = self._started_s = time.perf_counter()

    def step(self, batch: object) -> None:
        del batch  # taken, and not looked at
        waited_s = time.perf_counter() - self._done_s
        if self.steps:  # the first batch takes as long as it takes
            self.waited_s += waited_s
        else:
            self._started_s += waited_s
        self.steps += 1
        self._deadline_s += waited_s + self.step_s
        time.sleep(max(0.0, self._deadline_s - time.perf_counter()))
        self._done_s = time.perf_counter()

    def __str__(self) -> str:
        elapsed_s = self._done_s - self._started_s
        return f"{self.steps} steps in {elapsed_s:.1f} s, {self.waited_s / elapsed_s:.0%} of it waiting for input"
