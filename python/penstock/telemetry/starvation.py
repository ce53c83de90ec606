"""Starvation: seconds in which a device had nothing to do for want of input. Pure; whoever measures calls it.

Frameworks that dispatch asynchronously ask for the next batch while the device still works on the last. The time inside
`next()` is then no starvation until the device is done with the step before:

    starved(i) = max(0, got(i) - max(asked(i), done(i - 1)))

With backends that wait for their device, `done` is past when the trainer asks, and all of the wait is starvation. Where
`done` is not known, the wait is an upper bound, and whoever shows it says so.
Source: measured against a fake device of known compute time in tests/unit/telemetry/test_starvation.py.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isnan, nan


def starved_s(asked: float, got: float, done: float = nan) -> float:
    """Seconds starved at one request; `done`: when the device finished the step before, NaN: unknown."""
    return max(0.0, got - (asked if isnan(done) else max(asked, done)))


def starvation(asked: Sequence[float], got: Sequence[float], done: Sequence[float]) -> Iterator[float]:
    """Seconds starved at each request after the first: before that, nothing had been given to the device.

    done: of the step that began with the same position's batch; NaN where it is not known.
    """
    return map(starved_s, asked[1:], got[1:], done)
