"""Limits: the lowest bound binds, and the step that needs most of it is to blame."""

from __future__ import annotations

import pytest

from penstock.machine.readings import Capacities
from penstock.model.limits import Limits, limits
from penstock.telemetry.trace import Trace
from tests.unit.model.traces import run, stage, step

FAST = Capacities(storage=1e6, memcpy_all=1e12, host_to_device=1e8)

CASES: list[tuple[Trace, str, float, str]] = [
    (run(step("map", cpu_s=10.0, busy_s=10.0), step("decode", cpu_s=2.0, busy_s=2.0), cpus=2,
         stages=(stage(workers=8),)), "cpu", 2 / 0.012, "map"),
    (run(step("map", cpu_s=10.0, busy_s=20.0, gil_s=19.0), stages=(stage(workers=4),), cpus=4), "gil", 100.0, "map"),
    (run(step("map", cpu_s=0.1, busy_s=10.1), stages=(stage(workers=2),)), "stage", 2 / 0.0101, "map"),
    (run(step("map", cpu_s=0.1, busy_s=0.1, storage_bytes=10**8), capacities=FAST), "storage", 10.0, "map"),
    (run(step("batch", elements=100, cpu_s=0.1, busy_s=0.1, bytes_out=10**10), step("map"), capacities=FAST),
     "host_to_device", 10.0, ""),
    (run(step("map", cpu_s=0.1, busy_s=0.1), step_s=0.05), "trainer", 200.0, ""),
    (run(step("map", cpu_s=1.0, busy_s=1.0), stages=(stage(executor="inline"),), step_s=0.01), "no_overlap", 500.0,
     "map"),
    (run(step("map", cpu_s=0.0, busy_s=10.0), step("read", "1", busy_s=5.0), threads=3,
         stages=(stage(workers=8, inputs=("1",)), stage("1", workers=8))), "threads", 200.0, "map"),
]  # fmt: skip


@pytest.mark.parametrize(("trace", "resource", "rate", "blame"), CASES, ids=[case[1] for case in CASES])
def test_limits_name_what_binds(trace: Trace, resource: str, rate: float, blame: str) -> None:
    found = limits(trace)
    assert found.binding is not None
    assert (found.binding.resource, found.blame) == (resource, blame)
    assert found.binding.elements_per_s == pytest.approx(rate)
    assert found.binding.batches_per_s == pytest.approx(rate / 10)
    assert found.closeness == pytest.approx(found.elements_per_s / rate)


def test_limits_are_sorted_and_the_second_is_the_runner_up() -> None:
    found = limits(run(step("map", cpu_s=4.0, busy_s=4.0), stages=(stage(workers=1),), step_s=0.05))
    assert [bound.resource for bound in found.bounds] == ["trainer", "stage", "cpu"]
    assert found.runner_up is not None
    assert found.runner_up.resource == "stage"
    assert found.pipeline == found.runner_up
    assert found.of("gil") is None


def test_an_estimate_that_the_run_has_beaten_is_no_limit() -> None:
    trace = run(step("map", bytes_out=10**8, cpu_s=0.1, busy_s=0.1), capacities=Capacities(memcpy_all=1e6))
    assert limits(trace).of("memory") is None


def test_a_stage_that_waits_says_so() -> None:
    bound = limits(run(step("map", busy_s=30.0, cpu_s=1.0))).binding
    assert bound is not None
    assert bound.waits
    assert bound.why == ("an element keeps a worker of this stage for 30.0 ms; it has 2, and waits for 29.0 ms of it")


def test_nothing_measured_has_no_limits() -> None:
    found = limits(run(consumer={"steps": 0, "rows": 0, "wait_s": 0.0, "between_s": 0.0}))
    assert found == Limits(elements_per_s=0.0, batches_per_s=0.0, bounds=())
    assert (found.binding, found.closeness, found.blame, found.pipeline) == (None, 0.0, "", None)
