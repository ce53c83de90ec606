"""Predictions: a change to what binds gives what binds next; a change elsewhere gives nothing."""

from __future__ import annotations

import pytest

from penstock.errors import InvalidArgumentError
from penstock.machine.readings import Capacities
from penstock.model.flow import through
from penstock.model.predict import (
    CacheAfter,
    Change,
    Compiled,
    Executor,
    Prefetch,
    TrainerStep,
    Workers,
    cache_bytes,
    predict,
)
from penstock.telemetry.trace import NodeTrace, Trace
from tests.unit.model.traces import run, stage, step

SLEEPING = run(step("map", busy_s=20.0, cpu_s=0.2), stages=(stage(workers=2),), seconds=10.0)
HOLDING = run(
    step("map", busy_s=20.0, cpu_s=10.0, gil_s=20.0), stages=(stage(workers=2, task_rows=100),), seconds=10.0
)  # fmt: skip
READING = run(
    step("map", cpu_s=1.0, busy_s=1.0, bytes_out=10**6), step("decode", cpu_s=14.0, busy_s=14.0),
    step("read", "1", cpu_s=5.0, busy_s=5.0), stages=(stage(workers=2, inputs=("1",)), stage("1", workers=2)),
    seconds=10.0, step_s=0.02,
)  # fmt: skip

CASES: list[tuple[str, Trace, list[Change], float]] = [
    ("nothing", SLEEPING, [], 100.0),
    ("twice the workers of what waits", SLEEPING, [Workers(stage="0", workers=4)], 200.0),
    ("by the label of a step", SLEEPING, [Workers(stage="map", workers=1)], 50.0),
    ("so many that the GIL binds", SLEEPING, [Workers(stage="0", workers=1000)], 5000.0),
    ("a slower trainer", SLEEPING, [TrainerStep(seconds=0.2)], 50.0),
    ("workers and a slower trainer", SLEEPING, [Workers(stage="0", workers=8), TrainerStep(seconds=0.05)], 200.0),
    ("workers under the GIL", HOLDING, [Workers(stage="0", workers=4)], 100.0),
    ("processes", HOLDING, [Executor(step="map", executor="processes")], 200.0 / 1.0003),
    ("compiled", HOLDING, [Compiled(step="map", times=2.0)], 400.0),
    ("another prefetch", SLEEPING, [Prefetch(depth=8)], 100.0),
    ("a cache above what costs", READING, [CacheAfter(step="decode")], 500.0),
    ("a cache above all", READING, [CacheAfter(step="map-0")], 500.0),
    ("a cache below what costs", READING, [CacheAfter(step="read")], 2 / 0.015),
]


@pytest.mark.parametrize(("trace", "changes", "rate"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_predict_gives_what_binds_after_the_change(trace: Trace, changes: list[Change], rate: float) -> None:
    assert predict(trace, changes) == pytest.approx(rate, rel=0.02)


def test_predict_of_one_change_needs_no_list() -> None:
    assert predict(SLEEPING, Workers(stage="0", workers=4)) == predict(SLEEPING, [Workers(stage="0", workers=4)])


def test_predict_keeps_how_far_below_its_bound_the_run_was() -> None:
    slower = run(step("map", busy_s=16.0, cpu_s=0.2), stages=(stage(workers=2),), seconds=10.0)
    assert predict(slower, Workers(stage="0", workers=4)) == pytest.approx(200.0)  # 250 by its bound, 0.8 of that


def test_predict_of_more_workers_adds_the_threads_they_need() -> None:
    trace = run(step("map", busy_s=20.0, cpu_s=0.2), stages=(stage(workers=2),), seconds=10.0, threads=2)
    assert predict(trace, Workers(stage="0", workers=4)) == pytest.approx(200.0)


def test_predict_takes_other_processes_as_they_will_be() -> None:
    trace = run(step("map", busy_s=20.0, cpu_s=20.0), stages=(stage(workers=2),), seconds=10.0)
    assert predict(trace) == pytest.approx(100.0)
    assert predict(trace, others=2.0) == pytest.approx(50.0)


def test_predict_of_nothing_measured_is_nothing() -> None:
    assert predict(run()) == 0.0


@pytest.mark.parametrize(
    ("change", "named"),
    [(Workers(stage="9", workers=2), "stage"), (CacheAfter(step="zip"), "step"), (Compiled(step="zip"), "step")],
)
def test_predict_of_what_is_not_there_names_it(change: Change, named: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        predict(SLEEPING, change)
    assert named in caught.value.what


@pytest.mark.parametrize(
    ("kind", "given"),
    [(Workers, {"stage": "0", "workers": 0}), (Prefetch, {"depth": 0}), (Compiled, {"step": "map", "times": 0}),
     (TrainerStep, {"seconds": -1.0})],
)  # fmt: skip
def test_changes_refuse_what_cannot_be(kind: type, given: dict[str, object]) -> None:
    with pytest.raises(InvalidArgumentError):
        kind(**given)


def test_a_cache_is_as_large_as_its_elements() -> None:
    node = NodeTrace(id="1", verb="map", label="map", cardinality=1000, element_bytes=2e3)
    assert cache_bytes(run(nodes=(node,)), "map") == 2e6
    assert cache_bytes(run(nodes=(NodeTrace(id="1", verb="map", label="map"),)), "1") is None
    assert cache_bytes(run(), "1") is None


def test_a_cache_costs_memory_bandwidth() -> None:
    trace = run(
        step("map", cpu_s=18.0, busy_s=18.0, bytes_out=10**9), capacities=Capacities(memcpy_core=1e9), seconds=10.0
    )
    assert predict(trace, CacheAfter(step="map")) == pytest.approx(1e9 / 1e6 * 0.9)


@pytest.mark.parametrize(
    ("supply", "demand", "ahead", "spread", "rate"),
    [
        (10.0, 5.0, 2.0, 0.0, 5.0),  # nothing varies: the slower one
        (10.0, 10.0, 1.0, 2.0, 20 / 3),  # M/M/1/2 at load 1: K / (K + 1)
        (5.0, 10.0, 1.0, 2.0, 5 * (1 - 0.25) / (1 - 0.125)),
        (10.0, 10.0, 99.0, 2.0, 10 * 100 / 101),  # a buffer absorbs it
        (1.0, 1e9, 2.0, 1.0, 1.0),
        (float("inf"), 4.0, 2.0, 1.0, 4.0),
        (0.0, 4.0, 2.0, 1.0, 0.0),
    ],
)
def test_what_varies_needs_a_buffer(supply: float, demand: float, ahead: float, spread: float, rate: float) -> None:
    assert through(supply, demand, ahead, spread) == pytest.approx(rate)
