"""Alarms over traces made by hand: which are raised, and that each has one line of what to do."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.telemetry.trace import Trace
from penstock.train.monitor.alarms import alarms
from tests.unit.diagnose.traces import GIB, consumer, foreign, ours, samples


def in_turns(second: float) -> float:
    return 0.95 if int(second) % 4 < 2 else 0.05


def growing(second: float) -> float:
    return GIB * (1 + second / 30)


HOT = {"used": lambda second: 0.9, "throttled": ("too hot",)}

TABLE: dict[str, tuple[Trace, set[str]]] = {
    "healthy": (ours(0.001), set()),
    "waits 29 %": (ours(0.0204), set()),
    "waits 33 %": (ours(0.025), {"input"}),
    "waits 50 %, of others": (foreign("torch", 0.05), {"input"}),
    "host waits 50 %, and batches were ready": (
        ours(consumer=consumer(0.05, method="host wait", ready=100, requests=101)), set(),
    ),
    "host waits 50 %": (ours(consumer=consumer(0.05, method="host wait")), {"input"}),
    "too short": (ours(consumer=consumer(0.005, work_s=0.004)), set()),
    "too few steps": (ours(consumer=consumer(0.05, steps=9)), set()),
    "in turns": (ours(0.05, samples=samples(count=40, used=in_turns)), {"input", "sawtooth"}),
    "in turns, of itself": (ours(0.001, samples=samples(count=40, used=in_turns)), set()),
    "grows": (ours(0.001, samples=samples(count=120, rss=growing)), {"memory"}),
    "too hot": (ours(0.001, samples=samples(**HOT)), {"throttled"}),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_alarms_are_raised_where_something_is_wrong(name: str) -> None:
    trace, kinds = TABLE[name]
    found = alarms(trace)
    assert {alarm.kind for alarm in found} == kinds
    assert all(alarm.advice and "\n" not in str(alarm) for alarm in found)


def test_a_bound_is_called_one() -> None:
    (alarm,) = alarms(ours(consumer=consumer(0.05, method="host wait")))
    assert alarm.text.startswith("at most 50 % of each step is waiting for input")


@pytest.mark.parametrize(
    "trace", [ours(consumer=consumer(0.05, steps=0, rows=0)), ours(samples=()), foreign("iterable")]
)
def test_any_trace_will_do(trace: Any) -> None:
    assert isinstance(alarms(trace), tuple)
