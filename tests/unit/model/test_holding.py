"""Who holds the GIL shows in how long threads wait in company, and in nothing else."""

from __future__ import annotations

import pytest

from penstock.model.holding import held_and_waited
from penstock.telemetry.trace import NodeTrace, StepTrace, Trace
from tests.unit.model.traces import run, stage, step


def _of(trace: Trace, name: str = "map-0") -> tuple[float, float]:
    return held_and_waited(trace, trace.steps)[name]


@pytest.mark.parametrize(
    ("given", "workers", "held", "waited"),
    [
        ({"busy_s": 20.0, "cpu_s": 10.0, "gil_s": 18.0}, 2, 10.0, 8.0),  # measured
        ({"busy_s": 20.0, "cpu_s": 10.0}, 2, 10.0, 10.0),  # two at once, and each waits for the other
        ({"busy_s": 40.0, "cpu_s": 10.0}, 4, 10.0, 30.0),
        ({"busy_s": 20.0, "cpu_s": 20.0}, 2, 0.0, 0.0),  # on two cores at once
        ({"busy_s": 20.0, "cpu_s": 10.0, "queued_s": 10.0}, 2, 0.0, 0.0),  # waited for a core
        ({"busy_s": 20.0, "cpu_s": 10.0, "storage_s": 10.0}, 2, 0.0, 0.0),
        ({"busy_s": 10.0, "cpu_s": 9.0}, 1, 0.0, 0.0),  # alone, nothing shows
    ],
)
def test_held_is_what_the_waits_of_others_allow(
    given: dict[str, float], workers: int, held: float, waited: float
) -> None:
    trace = run(step("map", **given), stages=(stage(workers=workers),), batch=1, seconds=10.0)
    assert _of(trace) == pytest.approx((held, waited))


def test_of_what_sleeps_next_to_nothing_is_taken_for_waiting() -> None:
    held, waited = _of(run(step("map", busy_s=40.0, cpu_s=1.0), stages=(stage(workers=4),), batch=1))
    assert held <= 1.0
    assert waited < 0.05


def test_functions_in_processes_hold_none_here() -> None:
    trace = run(step("map", busy_s=20.0, cpu_s=10.0, gil_s=9.0), stages=(stage(executor="processes"),), batch=1)
    assert _of(trace) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("one", "nodes"),
    [
        (step("batch", busy_s=3.0, cpu_s=1.0, queued_s=0.5), ()),
        (step("map", busy_s=3.0, cpu_s=1.0, queued_s=0.5),
         (NodeTrace(id="map-0", verb="map", label="map", facts={"compiles": True}),)),
    ],
)  # fmt: skip
def test_what_runs_no_python_of_the_users_does_not_wait_by_itself(one: StepTrace, nodes: tuple[NodeTrace, ...]) -> None:
    assert _of(run(one, batch=1, nodes=nodes), one.id) == pytest.approx((0.0, 1.5))


def test_nothing_ran_and_nothing_is_held() -> None:
    trace = run(step("map"), consumer={"steps": 0, "rows": 0, "wait_s": 0.0, "between_s": 0.0}, batch=1)
    assert _of(trace) == (0.0, 0.0)
