"""Epoch: one pass of the trainer over its data, in numbers; added up from its steps and the readings meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from penstock.telemetry.trace import Interval, Sample

_LEAST_S = 0.5
"""A core's busy share is that since the reading before, and the first one has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """What one epoch took. None: not measured, or nothing there to measure.

    number: as the trainer counts. steps, rows: batches and elements in them. seconds: of its steps, from request to
    request, without validation; wait_s: of these, in next(); starved_s: in which the device had nothing to do for want
    of input (where the trace's method is "host wait": at most). first_s: the wait for the very first batch of the run,
    which is neither. slowest_s: the longest step. skipped: steps that the loss scaler left out. new_shapes: batches of
    a shape or dtype not seen before. rss_bytes: of this process and its children; device_peak_bytes: what the
    framework had in use at most so far; device_bytes: in use on accelerators, by anyone. cores, utilisation: mean busy
    shares, 0 to 1. power_w: mean, all accelerators together. temperature_c: highest.
    """

    number: int
    steps: int = 0
    rows: int | None = None
    seconds: float = 0.0
    wait_s: float = 0.0
    starved_s: float | None = None
    first_s: float = 0.0
    slowest_s: float = 0.0
    skipped: int | None = None
    new_shapes: int = 0
    rss_bytes: int | None = None
    device_peak_bytes: int | None = None
    device_bytes: int | None = None
    cores: float | None = None
    utilisation: float | None = None
    power_w: float | None = None
    temperature_c: float | None = None

    @property
    def step_s(self) -> float:
        """Seconds of a step, on average, without the wait for the very first batch."""
        return (self.seconds - self.first_s) / self.steps if self.steps else 0.0

    @property
    def starved_share(self) -> float | None:
        """Share of its time in which the device starved, 0 to 1."""
        seconds = self.seconds - self.first_s
        return None if self.starved_s is None or seconds <= 0 else min(1.0, self.starved_s / seconds)

    @property
    def rate_elements_per_s(self) -> float | None:
        """Elements each second."""
        return self.rows / self.seconds if self.rows and self.seconds > 0 else None


class Sums:
    """What steps of one epoch add up to, as they leave the tape."""

    def __init__(self) -> None:
        self.steps = 0
        self.seconds = self.wait_s = self.starved_s = self.first_s = self.slowest_s = 0.0

    def add(self, request: Interval, between_s: float) -> None:
        """One more step: its request, and the trainer's own work after it."""
        step_s = request.wait_s + between_s
        self.steps += 1
        self.seconds += step_s
        self.wait_s += request.wait_s
        if request.starved_s is None:
            self.first_s += request.wait_s
            step_s = between_s
        else:
            self.starved_s += request.starved_s
        self.slowest_s = max(self.slowest_s, step_s)


def read_over(samples: Iterable[Sample], began_s: float, ended_s: float) -> dict[str, float | int | None]:
    """What readings between two moments come to, by the names of `Epoch`; where none is, the last one before."""
    known = [sample for sample in samples if sample.at_s <= ended_s]
    inside = [sample for sample in known if sample.at_s >= began_s] or known[-1:]
    hosts = [sample.host for sample in inside]
    devices = [host.accelerators for host in hosts if host.accelerators]
    power = [[one.power_w for one in each if one.power_w is not None] for each in devices]
    used = [[one.memory_used_bytes for one in each if one.memory_used_bytes is not None] for each in devices]
    return {
        "cores": _mean([share for one in inside if one.at_s >= _LEAST_S for share in one.host.cores]),
        "rss_bytes": max((host.rss_bytes for host in hosts), default=None),
        "utilisation": _mean([one.utilisation for each in devices for one in each if one.utilisation is not None]),
        "device_bytes": max((sum(each) for each in used if each), default=None),
        "power_w": _mean([sum(each) for each in power if each]),
        "temperature_c": max(
            (one.temperature_c for each in devices for one in each if one.temperature_c is not None), default=None
        ),
    }


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
