"""Where a function runs, decided from measurements made up here."""

from __future__ import annotations

import pytest

from penstock.engine.executors.crowd import Crowd
from penstock.engine.executors.evidence import (
    LEAST_LEFT_S,
    LOOKS,
    MOST_LOOKS,
    Call,
    Evidence,
    Trial,
    judge,
    judge_trial,
)

MS = 1e-3


def measured(
    calls: int = 80,
    *,
    cores: float,
    able: float | None = None,
    beside: float = 2.0,
    row_s: float = MS,
    nbytes: int = 64,
) -> Evidence:
    """`calls` blocks of 8 elements, `beside` at once, which used `cores` together; `able` of them could run."""
    cpu_s = 8 * row_s
    wall_s = cpu_s * beside / cores
    queued_s = (cores if able is None else able) * wall_s / beside - cpu_s
    evidence = Evidence()
    for _ in range(calls):
        evidence = evidence.with_call(Call(8, 8 * nbytes, wall_s, cpu_s, beside, queued_s))
    return evidence


def looked(evidence: Evidence, held: int, of: int) -> Evidence:
    for look in range(of):
        evidence = evidence.with_look(look < held)
    return evidence


@pytest.mark.parametrize(
    ("evidence", "step"),
    [
        pytest.param(Evidence(), "measure", id="nothing yet"),
        pytest.param(measured(4, cores=1.0), "measure", id="too little"),
        pytest.param(measured(cores=1.0, beside=1.0), "measure", id="never two at once"),
        pytest.param(measured(cores=1.0), "look", id="one core for two calls: a GIL or a busy machine?"),
        pytest.param(measured(cores=1.0, beside=8.0), "look", id="one core for eight"),
        pytest.param(measured(cores=1.9), "threads", id="NumPy on large arrays"),
        pytest.param(measured(cores=0.05), "threads", id="sleeping"),
        pytest.param(measured(cores=0.2, able=1.2), "look", id="a starved machine"),
        pytest.param(measured(800, cores=1.0, row_s=10e-6), "threads", id="short elements"),
        pytest.param(measured(cores=1.0, nbytes=2_000_000), "threads", id="much to move"),
        pytest.param(looked(measured(cores=1.0), LOOKS - 1, LOOKS - 1), "look", id="not looked often enough"),
        pytest.param(looked(measured(cores=1.0), LOOKS, LOOKS), "processes", id="pure Python"),
        pytest.param(looked(measured(cores=1.3), 6, LOOKS), "processes", id="mostly Python"),
        pytest.param(looked(measured(cores=1.3), 3, LOOKS), "look", id="half Python: looks on"),
        pytest.param(looked(measured(cores=1.3), 11, MOST_LOOKS), "threads", id="half Python"),
        pytest.param(looked(measured(cores=1.0, able=1.9), 0, MOST_LOOKS), "threads", id="NumPy on a busy machine"),
    ],
)
def test_judge(evidence: Evidence, step: str) -> None:
    assert judge(evidence, None).step == step
    assert judge(evidence, None).why or step == "measure"


def test_judge_starts_nothing_for_little_work() -> None:
    evidence = looked(measured(cores=1.0), LOOKS, LOOKS)
    assert judge(evidence, LEAST_LEFT_S * 0.9).step == "short"
    assert judge(evidence, LEAST_LEFT_S).step == "processes"


def test_verdict_says_what_was_measured() -> None:
    why = judge(looked(measured(cores=1.0), 7, LOOKS), None).why
    assert why.startswith(
        "it holds the GIL: calls at once use 1.0 cores, the GIL was held in 7 of 8 looks while it ran"
    )
    assert why.endswith("1.0 ms an element")


@pytest.mark.parametrize(
    ("wall_s", "step"),
    [(4 * MS, "processes"), (7 * MS, "processes"), (7.5 * MS, "threads"), (30 * MS, "threads")],
)
def test_trial_keeps_what_is_faster(wall_s: float, step: str) -> None:
    """In threads, a call of 4 ms CPU took 8 ms beside another."""
    trial = Trial()
    for _ in range(150):
        trial = trial.with_answer(wall_s, 4 * MS)
    assert judge_trial(measured(cores=1.0), trial).step == step


def test_trial_waits_for_several_answers() -> None:
    assert judge_trial(measured(cores=1.0), Trial().with_answer(1.0, 1.0)).step == "measure"


def test_crowd_counts_calls_at_once() -> None:
    now_s = 0.0
    crowd = Crowd()

    def now() -> float:
        return now_s

    first = crowd.enter(now)
    now_s = 1.0
    second = crowd.enter(now)
    assert crowd.size == 2
    now_s = 3.0
    assert crowd.leave(first, now) == (3.0, pytest.approx((1 + 2 * 2) / 3))
    now_s = 4.0
    assert crowd.leave(second, now) == (3.0, pytest.approx((2 * 2 + 1) / 3))
    assert crowd.size == 0
