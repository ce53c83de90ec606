"""The verdict: what a run is called, by how much of each step was waiting, and how that is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.diagnose import diagnose
from penstock.diagnose.waiting import waiting_of
from penstock.machine.readings import Host
from penstock.telemetry.trace import Consumer, Interval, Trace
from tests.unit.diagnose.traces import STEP_S, consumer, foreign, op, ours, samples, step

SHARES = {0.0: "compute-bound", 0.05: "compute-bound", 0.1: "balanced", 0.19: "balanced", 0.21: "input-bound"}


@pytest.mark.parametrize("share", [*SHARES, 0.31, 0.9])
def test_the_share_of_waiting_decides(share: float) -> None:
    verdict = diagnose(ours(STEP_S * share / (1 - share))).verdict
    assert verdict.kind == SHARES.get(share, "input-bound")
    assert verdict.waiting_share == pytest.approx(share)
    assert verdict.au == pytest.approx(1 - share)
    assert verdict.is_fault == (share > 0.3)


def test_the_first_line_has_all_that_is_known() -> None:
    steps = (step(busy_s=70.0), op("decode_jpeg", 60.0))
    line = str(diagnose(ours(0.05, steps=steps))).split("\n\n", maxsplit=1)[0].replace("\n", " ")
    assert line == (
        "Input-bound: 50 % of each step is waiting for input (AU 50 %, readiness 0 %); map at train.py:12 "
        "(decode_jpeg) is to blame; the CPU is the limit, 87 % of it used."
    )


def test_nothing_to_fix_is_a_verdict() -> None:
    assert diagnose(ours(0.0)).line.endswith("Nothing to fix.")
    assert diagnose(ours(0.008)).line.endswith("Nothing to fix.")


def test_the_first_wait_is_not_counted() -> None:
    slow_start = replace(ours(0.0).consumer, wait_s=100.0, first_s=100.0)
    assert diagnose(ours(0.0, consumer=slow_start)).verdict.kind == "compute-bound"


def test_starvation_counts_and_not_the_wait() -> None:
    trace = ours(0.05, consumer=consumer(0.05, method="device done", starved_s=0.1))
    assert diagnose(trace).verdict.kind == "compute-bound"


def test_an_upper_bound_is_said_to_be_one() -> None:
    diagnosis = diagnose(foreign("torch", consumer=consumer(0.05, method="host wait")))
    assert "at most 50 %" in diagnosis.line
    assert "AU at least 50 %" in diagnosis.line
    assert any("upper bound" in note for note in diagnosis.notes)


def test_an_upper_bound_convicts_no_input_whose_batches_were_ready() -> None:
    assert diagnose(ours(consumer=consumer(0.05, method="host wait", ready=100))).verdict.kind == "compute-bound"


def test_an_upper_bound_convicts_no_input_whose_accelerator_was_busy() -> None:
    trace = foreign("torch", consumer=consumer(0.05, method="host wait"), samples=samples(used=lambda _: 0.97))
    assert diagnose(trace).verdict.kind == "compute-bound"


def test_a_replay_tells_better_than_the_wait() -> None:
    fast, slow = (consumer(0.05, method="host wait", replay_step_s=seconds) for seconds in (0.01, 0.1))
    assert diagnose(ours(consumer=fast)).verdict.waiting_share == pytest.approx(0.9)
    assert diagnose(ours(consumer=slow)).verdict.kind == "compute-bound"
    assert not diagnose(ours(consumer=fast)).verdict.is_upper_bound


def test_starvation_at_the_first_request_is_left_out() -> None:
    told = consumer(0.0, starved_s=0.7, method="device done")
    trace = ours(0.0, consumer=told, intervals=(Interval(at_s=0.0, wait_s=0.5, starved_s=0.7),))
    assert waiting_of(trace).seconds == 0.0


EMPTY = Trace(source="penstock", loader="", host=Host(cpus=1, memory_bytes=0), consumer=Consumer())


@pytest.mark.parametrize("steps", [0, 1, 3])
def test_a_run_of_few_steps_gets_no_verdict(steps: int) -> None:
    trace = replace(EMPTY, consumer=Consumer(steps=steps, wait_s=0.1 * steps, between_s=0.1))
    diagnosis = diagnose(trace)
    assert diagnosis.verdict.kind == "unknown"
    assert diagnosis.findings == ()
    assert diagnosis.line.startswith(f"No verdict: {steps} step")


def test_a_trace_that_was_cut_says_so() -> None:
    assert any("SIGKILL" in note for note in diagnose(ours(cut="the process was ended by SIGKILL")).notes)
