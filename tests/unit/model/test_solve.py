"""What all stations keep up with at once: by itself each bound holds, together they may be lower."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.model.demand import demands, stretch
from penstock.model.limits import limits
from penstock.model.predict import predict
from penstock.model.solve import attainable
from penstock.telemetry.trace import Trace
from tests.unit.model.traces import run, stage, step

WAITING = run(step("map", busy_s=20.0, cpu_s=0.0), stages=(stage(workers=2),))
COMPUTING = run(step("map", busy_s=10.0, cpu_s=10.0), stages=(stage(workers=8),), cpus=4)
HOLDING = run(step("map", busy_s=10.0, cpu_s=10.0, gil_s=10.0), stages=(stage(workers=8),), cpus=4)
SHARED = run(
    step("map", busy_s=10.0), step("read", "1", busy_s=10.0), threads=2,
    stages=(stage(workers=2, inputs=("1",)), stage("1", workers=2)),
)  # fmt: skip


@pytest.mark.parametrize(
    ("trace", "rate"),
    [(WAITING, 100.0), (COMPUTING, 400.0), (HOLDING, 100.0), (SHARED, 100.0), (run(), float("inf"))],
    ids=["workers", "cores", "GIL", "threads", "nothing"],
)
def test_attainable_is_what_the_scarcest_station_lets_through(trace: Trace, rate: float) -> None:
    assert attainable(demands(trace)) == pytest.approx(rate)


@pytest.mark.parametrize(("others", "workers", "rate"), [(0.0, 2, 200.0), (2.0, 2, 100.0), (2.0, 6, 150.0)])
def test_cores_are_shared_fairly_with_other_processes(others: float, workers: int, rate: float) -> None:
    trace = run(step("map", busy_s=10.0, cpu_s=10.0), stages=(stage(workers=workers),))
    assert attainable(replace(demands(trace), others=others)) == pytest.approx(rate)


def test_what_holds_the_gil_waits_for_its_core_meanwhile() -> None:
    assert attainable(replace(demands(HOLDING), others=7.0)) == pytest.approx(50.0, rel=0.01)


def test_the_gil_is_what_binds_however_long_its_holders_waited_for_a_core() -> None:
    trace = run(
        step("map", busy_s=40.0, cpu_s=8.0, gil_s=40.0, queued_s=24.0),
        stages=(stage(workers=4),),
        batch=1,
        seconds=10.0,
    )
    assert [bound.resource for bound in limits(trace).bounds][:2] == ["gil", "cpu"]
    assert predict(trace) == pytest.approx(100.0)


def test_other_processes_are_seen_in_how_long_a_core_was_waited_for() -> None:
    trace = run(step("map", busy_s=5.0, cpu_s=2.5, queued_s=2.5), stages=(stage(workers=1),))
    assert demands(trace).others == pytest.approx(2.0 * (2 - 100 * 0.0025))
    assert stretch(demands(trace), demands(trace).rate) == pytest.approx(2.0)


def test_waiting_for_a_core_that_the_pipeline_itself_keeps_busy_is_nobody_elses() -> None:
    trace = run(step("map", busy_s=80.0, cpu_s=20.0, queued_s=60.0), stages=(stage(workers=8),))
    assert demands(trace).others == pytest.approx(0.0, abs=1e-9)


def test_stretch_has_no_end_where_the_cores_cannot_do_it() -> None:
    assert stretch(demands(COMPUTING), 500.0) == float("inf")
    assert stretch(demands(COMPUTING), 100.0) == 1.0
