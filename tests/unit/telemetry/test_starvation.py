"""Starvation against a device whose idle time is known, because it is simulated: nothing here reads a clock."""

from __future__ import annotations

from math import nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.telemetry.starvation import starvation, starved_s

STEPS = 200


def run(compute: list[float], produce: list[float], overhead_s: float) -> tuple[list[list[float]], float, float]:
    """A trainer that dispatches to an asynchronous device: its requests, the device's idle seconds, all seconds.

    The device runs what was dispatched in order. The loader produces a batch when asked, in `produce[i]` seconds; the
    trainer's own Python takes `overhead_s` before it dispatches. At most two steps are in flight, as JAX has it on CPU.
    """
    asked, got, done = [], [], []
    now = idle = 0.0
    for i, (compute_s, produce_s) in enumerate(zip(compute, produce, strict=True)):
        asked.append(now)
        now += produce_s
        got.append(now)
        now += overhead_s
        if done:
            idle += max(0.0, now - done[-1])
        done.append(max(now, done[-1] if done else 0.0) + compute_s)
        if i >= 1:
            now = max(now, done[i - 1])
    return [asked, got, done], idle, done[-1] - got[0]


def device_idle_share(compute_s: float, share: float) -> float:
    """Seconds of production so that the device idles for `share` of the time."""
    return compute_s / (1 - share) if share else compute_s / 2


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
def test_starvation_is_the_planted_idle_time_within_three_points(share: float) -> None:
    compute_s = 0.028
    (asked, got, done), _, seconds = run([compute_s] * STEPS, [device_idle_share(compute_s, share)] * STEPS, 1e-4)
    true = 1 - STEPS * compute_s / seconds
    assert sum(starvation(asked, got, done)) / seconds == pytest.approx(true, abs=0.03)
    assert true == pytest.approx(share, abs=0.03)


def test_host_wait_overstates_it_where_dispatch_runs_ahead() -> None:
    (asked, got, done), _, seconds = run([0.028] * STEPS, [0.010] * STEPS, 0.0)
    waits = sum(b - a for a, b in zip(asked[1:], got[1:], strict=True))
    assert waits / seconds > 0.25
    assert sum(starvation(asked, got, done)) / seconds < 0.01


@given(
    st.lists(st.tuples(st.floats(1e-4, 0.1), st.floats(0, 0.3)), min_size=2, max_size=60),
    st.floats(0, 1e-3),
)
def test_starvation_is_the_devices_idle_time(work: list[tuple[float, float]], overhead_s: float) -> None:
    (asked, got, done), idle, _ = run([c for c, _ in work], [p for _, p in work], overhead_s)
    slack = 1e-9 + overhead_s * len(work)  # the device also idles while Python is between next() and the dispatch
    assert idle - slack <= sum(starvation(asked, got, done)) <= idle + 1e-9


@given(st.floats(0, 1e3), st.floats(0, 10), st.floats(0, 1e3))
def test_starvation_is_never_more_than_the_wait(asked: float, wait: float, done: float) -> None:
    assert 0 <= starved_s(asked, asked + wait, done) <= asked + wait - asked
    assert starved_s(asked, asked + wait, nan) == asked + wait - asked
