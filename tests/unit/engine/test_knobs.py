"""Settings of running stages: where they start, which are fixed, and that a change holds from the next task on."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.engine.knobs import knobs_of
from penstock.engine.run import Run, RunLimits, Ticker
from penstock.graph.walk import numbered
from penstock.optimize.driver import optimize
from penstock.plan.lower import lower
from penstock.plan.stage import Stage, stages_of
from penstock.telemetry.clock import Clock
from tests.unit.engine.driven import FakeClock, claim_all, drain, finish, schedule, taken

ALL = frozenset({"parallelism", "prefetch", "block_size", "read_ahead"})


def slow(x: int) -> int:
    return x + 1


def plan_of(dataset: ps.Dataset) -> Stage:
    return lower(optimize(numbered(dataset._node), frozenset(), lambda: 0.0)[0], 3, True).root


def test_a_stage_starts_as_the_plan_says() -> None:
    setting = schedule(ps.Dataset.range(9), workers=3).root.setting
    assert (setting.parallelism, setting.prefetch, setting.block_size, setting.waits) == (3, 2, None, False)


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_fewer_or_more_tasks_start_once_the_setting_says_so(workers: int) -> None:
    scheduler = schedule(ps.Dataset.range(1000), workers=3)
    assert len(claim_all(scheduler)) == 3
    scheduler = schedule(ps.Dataset.range(1000), workers=3)
    scheduler.root.setting.parallelism = workers
    assert len(claim_all(scheduler)) == workers


def test_blocks_kept_ready_follow_the_setting() -> None:
    scheduler = schedule(ps.Dataset.range(1000), workers=1)
    scheduler.root.setting.prefetch = 5
    while task := scheduler.claim():
        finish(scheduler, task)
    assert taken(scheduler) == [0, 1, 2, 3, 4]


def test_rows_of_a_task_are_at_most_those_set() -> None:
    scheduler = schedule(ps.Dataset.range(1000), workers=1, block_size=None)
    scheduler.root.setting.block_size = 3
    task = scheduler.claim()
    assert task is not None
    assert task.rows == 3


def test_a_block_size_that_was_said_stays() -> None:
    scheduler = schedule(ps.Dataset.range(1000), workers=1, block_size=7)
    scheduler.root.setting.block_size = 3
    assert scheduler.root.task_rows == 7


def test_no_setting_changes_what_comes() -> None:
    dataset = ps.Dataset.range(60).shuffle(7, seed=3).map(slow).batch(4)
    scheduler = schedule(dataset, block_size=None)
    turn = 0

    def chosen(tasks: list[object]) -> object:
        nonlocal turn
        turn += 1
        for stage in scheduler.stages():
            stage.setting.parallelism, stage.setting.prefetch = 1 + turn % 4, 1 + turn % 3
            stage.setting.block_size = (None, 1, 5)[turn % 3]
        return tasks[turn % len(tasks)]

    assert drain(scheduler, chosen) == drain(schedule(dataset))  # type: ignore[arg-type]  # of tasks


def test_tasks_that_wait_take_no_core_from_others() -> None:
    scheduler = schedule(ps.Dataset.range(1000), workers=2)
    scheduler.cores = 2
    scheduler.root.setting.parallelism = 5
    assert len(claim_all(scheduler)) == 2
    scheduler.root.setting.waits = True
    assert len(claim_all(scheduler)) == 3


@pytest.mark.parametrize(
    ("dataset", "knobs"),
    [
        (ps.Dataset.range(9), ALL),
        (ps.Dataset.range(9).prefetch(ps.AUTOTUNE), ALL),
        (ps.Dataset.range(9).prefetch(3), ALL - {"prefetch"}),
        (ps.Dataset.range(9).map(slow, num_parallel_calls=4), {"prefetch", "block_size"}),
        (ps.Dataset.range(9).map(slow, num_parallel_calls=None), {"prefetch", "block_size"}),
        (ps.Dataset.from_generator(lambda: iter([1]), output_signature=ps.Spec((), "int64")), {"prefetch"}),
        (ps.Dataset.range(9).filter(bool).batch(2), {"prefetch"}),
    ],
)
def test_what_was_said_is_no_knob(dataset: ps.Dataset, knobs: set[str]) -> None:
    assert knobs_of(plan_of(dataset), None) == knobs


def test_a_said_block_size_is_no_knob() -> None:
    assert "block_size" not in knobs_of(plan_of(ps.Dataset.range(9)), 5)


def test_an_interleave_told_how_many_to_read_is_not_changed() -> None:
    def opened(calls: int) -> frozenset[str]:
        dataset = ps.Dataset.range(9).interleave(lambda x: ps.Dataset.range(3), num_parallel_calls=calls)
        return frozenset().union(*(knobs_of(s, None) for s in stages_of(plan_of(dataset)) if s.kind == "nested"))

    assert "parallelism" not in opened(2)
    assert "parallelism" in opened(ps.AUTOTUNE)


def test_a_run_calls_whoever_tunes_it_at_every_task_and_request_if_told_so() -> None:
    root = schedule(ps.Dataset.range(6), workers=1, block_size=2).root
    called: list[int] = []
    run = Run(root, RunLimits(0, 2**30), Ticker(0.0, lambda run, now: called.append(run.asked.requests)))
    while run.next_block()[0] is not None:
        pass
    run.close()
    assert called == [0, 1, 1, 2, 2, 3]
    assert (run.asked.requests, run.asked.ready) == (3, 0)


class Busy(FakeClock):
    """Of a machine whose cores others use: nine tenths of the time a thread waits for one."""

    def clock(self) -> Clock:
        return Clock(lambda: self.now_s, lambda: self.now_s, lambda: 0.9 * self.now_s)


def test_time_without_a_core_makes_no_task_smaller() -> None:
    busy = Busy()

    def work(x: int) -> int:
        busy.now_s += 0.02
        return int(x)

    scheduler = schedule(ps.Dataset.range(1000).map(work), workers=1, block_size=None, clock=busy)
    for _ in range(20):
        task = scheduler.claim()
        assert task is not None
        finish(scheduler, task)
        taken(scheduler)
    assert scheduler.root.size.rows == 8
