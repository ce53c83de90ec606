"""The scheduler by hand: what may start, in which order results leave, and what the ledger admits."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.engine.scheduler import Scheduler
from penstock.engine.stages import Task
from penstock.errors import StructureError, UserFunctionError
from tests.unit.engine.driven import FakeClock, at_random, claim_all, drain, finish, schedule, taken

ROW = 8  # bytes of one int64


def _impure(x: Any) -> Any:
    random.getstate()
    return x


def _generated(count: int) -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: iter(range(count)), output_signature=ps.Spec((), "int64"))


# --- order -----------------------------------------------------------------------------------------------------------


def test_results_wait_for_all_before_them() -> None:
    scheduler = schedule(ps.Dataset.range(3))
    first, second, third = claim_all(scheduler)
    finish(scheduler, third)
    finish(scheduler, second)
    assert taken(scheduler) == []
    finish(scheduler, first)
    assert taken(scheduler) == [0, 1, 2]
    assert scheduler.ended


def test_results_without_order_leave_as_they_complete() -> None:
    scheduler = schedule(ps.Dataset.range(3), deterministic=False)
    first, second, third = claim_all(scheduler)
    finish(scheduler, third)
    assert taken(scheduler) == [2]
    finish(scheduler, first)
    finish(scheduler, second)
    assert taken(scheduler) == [0, 1]


PIPELINES = {
    "indexed": lambda: ps.Dataset.range(20).map(lambda x: x + 1),
    "batched in parts": lambda: ps.Dataset.range(20).batch(7),
    "impure between": lambda: ps.Dataset.range(20).map(_impure).map(lambda x: x * 2).batch(3),
    "filter": lambda: ps.Dataset.range(20).filter(lambda x: x % 3 == 0).batch(2),
    "generator": lambda: _generated(20).map(lambda x: x * 2).shuffle(5, seed=1).batch(4),
    "repeat": lambda: _generated(5).repeat(3).skip(2).take(11),
    "zip": lambda: ps.Dataset.zip(_generated(9), ps.Dataset.range(20)).map(lambda a, b: a + b),
    "unbatch": lambda: ps.Dataset.range(20).batch(6).unbatch(),
}


@pytest.mark.parametrize("name", PIPELINES)
@given(seed=st.integers(0, 1000), workers=st.integers(1, 4), block_size=st.integers(1, 5))
def test_elements_do_not_depend_on_which_task_ends_first(name: str, seed: int, workers: int, block_size: int) -> None:
    make = PIPELINES[name]
    expected = drain(schedule(make(), workers=1))
    assert drain(schedule(make(), workers=workers, block_size=block_size), at_random(seed)) == expected


@given(st.integers(0, 1000))
def test_each_element_comes_once_without_order(seed: int) -> None:
    scheduler = schedule(ps.Dataset.range(30).map(lambda x: x), deterministic=False, block_size=4)
    assert sorted(drain(scheduler, at_random(seed))) == list(range(30))


# --- windows ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("workers", [1, 2, 5])
def test_no_more_tasks_run_than_there_are_workers(workers: int) -> None:
    assert len(claim_all(schedule(ps.Dataset.range(1000), workers=workers))) == workers


def test_a_slow_first_task_does_not_let_others_run_far_ahead() -> None:
    scheduler = schedule(ps.Dataset.range(1000), workers=2)
    first, *others = claim_all(scheduler)
    done = 0
    while others:
        finish(scheduler, others.pop())
        done += 1
        others += claim_all(scheduler)
    assert done == 2 * 2 + 2 - 1
    finish(scheduler, first)
    assert taken(scheduler) == list(range(done + 1))


def test_a_consumer_that_takes_nothing_stops_the_run() -> None:
    scheduler = schedule(ps.Dataset.range(1000), workers=1)
    done = 0
    while tasks := claim_all(scheduler):
        finish(scheduler, tasks[0])
        done += 1
    assert done == 2


@pytest.mark.parametrize("size", [1, 3, 7])
def test_prefetch_says_how_far_ahead(size: int) -> None:
    scheduler = schedule(ps.Dataset.range(1000).prefetch(size), workers=2)
    while tasks := claim_all(scheduler):
        for task in tasks:
            finish(scheduler, task)
    assert size <= len(taken(scheduler)) <= size + 1


def test_an_impure_map_runs_one_task_at_a_time_in_order() -> None:
    scheduler = schedule(ps.Dataset.range(50).map(_impure), workers=4)
    calls = []
    while not scheduler.ended:
        tasks = claim_all(scheduler)
        mapping = [task for task in tasks if task.stage is scheduler.root]
        assert len(mapping) <= 1
        calls += [task.sequence for task in mapping]
        for task in reversed(tasks):
            finish(scheduler, task)
        taken(scheduler)
    assert calls == sorted(calls)


def test_the_stage_nearest_the_consumer_starts_first() -> None:
    scheduler = schedule(ps.Dataset.range(50).map(_impure), workers=2)
    finish(scheduler, claim_all(scheduler)[0])
    task = scheduler.claim()
    assert task is not None
    assert task.stage is scheduler.root


# --- the ledger ------------------------------------------------------------------------------------------------------


def _large(x: Any) -> Any:
    return np.full(1000, x)


def test_a_budget_smaller_than_one_element_still_flows() -> None:
    scheduler = schedule(ps.Dataset.range(5).map(_large), budget_bytes=1)
    assert [row[0] for row in drain(scheduler)] == [0, 1, 2, 3, 4]


def test_no_task_starts_beside_what_waits_over_the_budget() -> None:
    scheduler = schedule(ps.Dataset.range(50).map(_large), workers=1, budget_bytes=1)
    finish(scheduler, claim_all(scheduler)[0])
    assert scheduler.waiting_bytes() == 1000 * ROW
    assert scheduler.claim() is None
    taken(scheduler)
    assert scheduler.claim() is not None


def test_waiting_bytes_stay_within_budget_and_what_ran() -> None:
    budget = 3 * 1000 * ROW
    scheduler = schedule(ps.Dataset.range(100).map(_large), workers=4, budget_bytes=budget)
    while tasks := claim_all(scheduler):
        for task in tasks:
            finish(scheduler, task)
    assert scheduler.waiting_bytes() <= budget + 4 * 1000 * ROW


def test_a_small_budget_flows_through_every_stage() -> None:
    pipeline = _generated(12).map(_large).map(_impure).filter(lambda x: x[0] % 2 == 0).batch(2)
    assert len(drain(schedule(pipeline, budget_bytes=1), at_random(3))) == 3


def test_the_ledger_is_empty_when_all_was_taken() -> None:
    scheduler = schedule(ps.Dataset.range(20).map(_large).map(_impure).batch(4))
    drain(scheduler, at_random(1))
    assert scheduler.waiting_bytes() == 0


def test_only_short_tasks_are_claimed_when_asked() -> None:
    clock = FakeClock()
    scheduler = schedule(ps.Dataset.range(50), workers=1, clock=clock)
    assert scheduler.claim(only_short=True) is None, "nothing is known yet"
    finish(scheduler, claim_all(scheduler)[0])
    short = scheduler.claim(only_short=True)
    assert short is not None
    outcome = short.execute()
    outcome.seconds = 1.0
    scheduler.commit(short, outcome)
    taken(scheduler)
    assert scheduler.claim(only_short=True) is None


# --- failures and the end --------------------------------------------------------------------------------------------


def _fails_at_five(x: Any) -> Any:
    if x == 5:
        raise KeyError(int(x))
    return x


@given(st.integers(0, 1000), st.integers(1, 7))
def test_elements_before_a_failure_come_first(seed: int, block_size: int) -> None:
    scheduler = schedule(ps.Dataset.range(50).map(_fails_at_five), block_size=block_size)
    values: list[Any] = []
    failure = _run_to_failure(scheduler, at_random(seed), values)
    assert values == [0, 1, 2, 3, 4]
    assert isinstance(failure, UserFunctionError)
    assert isinstance(failure.__cause__, KeyError)


def _run_to_failure(scheduler: Scheduler, choose: Callable[[list[Task]], Task], values: list[Any]) -> BaseException:
    tasks: list[Task] = []
    while True:
        tasks += claim_all(scheduler)
        task = choose(tasks)
        tasks.remove(task)
        finish(scheduler, task)
        while (marked := scheduler.next_block()) is not None:
            block = marked.block
            values += [int(element) for element in block.elements()]
            if block.failure is not None:
                return block.failure.error


def _changes(x: Any) -> Any:
    return x if x < 7 else float(x)


@pytest.mark.parametrize("block_size", [1, 3, 20])
def test_another_dtype_is_refused_at_its_element(block_size: int) -> None:
    with pytest.raises(StructureError) as caught:
        drain(schedule(ps.Dataset.range(20).map(_changes), block_size=block_size), at_random(0))
    assert "element 7" in str(caught.value)


def test_take_closes_its_input() -> None:
    closed: list[bool] = []

    def generate() -> Any:
        try:
            yield from range(1000)
        finally:
            closed.append(True)

    dataset = ps.Dataset.from_generator(generate, output_signature=ps.Spec((), "int64")).map(_impure).take(3)
    assert drain(schedule(dataset)) == [0, 1, 2]
    assert closed == [True]


def test_close_drops_what_waits_and_claims_no_more() -> None:
    scheduler = schedule(ps.Dataset.range(100))
    tasks = claim_all(scheduler)
    finish(scheduler, tasks[0])
    scheduler.close()
    finish(scheduler, tasks[1])
    assert scheduler.claim() is None
    assert scheduler.next_block() is None
    assert scheduler.waiting_bytes() == 0


def test_an_empty_dataset_has_ended_at_once() -> None:
    assert drain(schedule(ps.Dataset.range(0))) == []


def test_totals_count_what_each_step_put_out() -> None:
    scheduler = schedule(ps.Dataset.range(10).map(lambda x: x).batch(4))
    drain(scheduler, at_random(2))
    counted = {key[1]: (total.elements, total.bytes) for key, total in scheduler.totals.items()}
    assert counted == {"range": (10, 80), "map": (10, 80), "batch": (3, 80)}
