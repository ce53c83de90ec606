"""How long the trainer waited for input, and how that is known.

The first request is left out: it opens files and fills buffers, once. What counts is starvation, the time in which the
device had nothing to do; time inside next() is more than that where the device runs behind the host, so it is then an
upper bound and said to be one. A replay tells best: what a step takes beyond the trainer's own speed was input.
"""

from __future__ import annotations

from dataclasses import dataclass

from penstock.telemetry.trace import Trace

LEAST_STEPS = 4
"""Fewer steps than these say nothing."""

_HOW = {
    "device done": "the device's own end of each step",
    "synchronous": "the time in next(), for the trainer waits for its device",
    "profile": "the framework's profile",
    "host wait": "the time in next(), an upper bound",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """The trainer's waiting after its first step.

    share: of its time, 0 to 1; None: not known. seconds, total_s: waited, and in all; steps: over which. how: in words.
    is_upper_bound: the true share may be far lower. readiness: share of requests that found a batch waiting.
    """

    share: float | None
    seconds: float = 0.0
    total_s: float = 0.0
    steps: int = 0
    how: str = ""
    is_upper_bound: bool = False
    readiness: float | None = None

    @property
    def au(self) -> float | None:
        """Accelerator utilisation as MLPerf Storage defines it: compute time over total time."""
        return None if self.share is None else 1.0 - self.share

    @property
    def step_s(self) -> float:
        """Seconds of a step, waiting included."""
        return self.total_s / self.steps if self.steps else 0.0


def waiting_of(trace: Trace) -> Waiting:
    """The waiting that a trace tells of."""
    consumer = trace.consumer
    first = trace.intervals[0] if trace.intervals else None
    first_wait_s = min(first.wait_s if first is not None else consumer.first_s, consumer.wait_s)
    steps = consumer.steps - 1
    wait_s = consumer.wait_s - first_wait_s
    total_s = wait_s + consumer.between_s
    readiness = consumer.ready / consumer.requests if consumer.requests else None
    if consumer.steps < LEAST_STEPS or total_s <= 0:
        return Waiting(share=None, steps=max(steps, 0), total_s=max(total_s, 0.0), readiness=readiness)
    how, is_upper_bound = _HOW[consumer.method], consumer.method == "host wait"
    seconds = wait_s
    if consumer.replay_step_s is not None:
        seconds, how, is_upper_bound = total_s - consumer.replay_step_s * steps, "a replay from memory", False
    elif consumer.starved_s is not None:
        seconds = consumer.starved_s - ((first.starved_s or 0.0) if first is not None else 0.0)
    seconds = min(max(seconds, 0.0), total_s)
    return Waiting(
        share=seconds / total_s, seconds=seconds, total_s=total_s, steps=steps, how=how,
        is_upper_bound=is_upper_bound, readiness=readiness,
    )  # fmt: skip
