"""A loop over a fake device that works behind the host, by a clock that only the test moves: its idle time is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.probes.recording import Recording
from penstock.telemetry.clock import Clock
from penstock.train import Monitor


class Time:
    """A clock that moves only when told to."""

    def __init__(self) -> None:
        self.at = 100.0

    def __call__(self) -> float:
        return self.at

    @property
    def clock(self) -> Clock:
        return Clock(now=self)


@dataclass
class Loader:
    """Batches of 8 rows that take `seconds` each of `time` to make."""

    time: Time
    steps: int
    seconds: float
    rows: Callable[[int], int] = lambda number: 8

    def __iter__(self) -> Iterator[Any]:
        for number in range(self.steps):
            self.time.at += self.seconds
            yield np.zeros((self.rows(number), 2), np.float32)


class Device:
    """Runs what was dispatched in order, `compute_s` each; at most two steps are in flight."""

    def __init__(self, time: Time, compute_s: float) -> None:
        self.time, self.compute_s = time, compute_s
        self.done: list[float] = []
        self.idle_s = 0.0

    def dispatch(self) -> float:
        """One step; when it will be done."""
        if self.done:
            self.idle_s += max(0.0, self.time.at - self.done[-1])
        self.done.append(max(self.time.at, self.done[-1] if self.done else 0.0) + self.compute_s)
        if len(self.done) > 1:
            self.time.at = max(self.time.at, self.done[-2])
        return self.done[-1]


def monitor(time: Time, **options: Any) -> Monitor:
    return Monitor(clock=time.clock, **{"sample": False, "tell": None, **options})


def recording_of(monitor: Monitor) -> Recording:
    assert monitor._run is not None
    return monitor._run.recording


def looped(produce_s: float, compute_s: float, *, steps: int = 200, tells_done: bool = True, epochs: int = 1) -> Any:
    """A monitored loop on the fake device: the monitor, and the true share of the time the device was idle."""
    time = Time()
    told = monitor(time)
    device = Device(time, compute_s)
    began = None
    for _ in range(epochs):
        for _ in told.watch(Loader(time, steps, produce_s)):
            began = time.at if began is None else began
            recording_of(told).framework = "jax"  # dispatches and goes on
            step, at = len(recording_of(told).tape) - 1, device.dispatch()
            if tells_done:
                recording_of(told).tape.note_done(step, at)
    told.close()
    assert began is not None
    return told, device.idle_s / (device.done[-1] - began)
