"""Tasks whose threads wait for storage: how many more may start meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import penstock as ps
from penstock.engine import knobs, stages
from penstock.engine.scheduler import Scheduler
from penstock.engine.stages import Outcome, RunningStage
from penstock.storage.surroundings import surroundings
from tests.unit.engine.driven import FakeClock, claim_all, finish, schedule

WORKERS = 2


def waiting(scheduler: Scheduler, requests: int) -> None:
    """Each task that may start begins, and waits for so many requests; until no other may start."""
    while (task := scheduler.claim()) is not None:
        task.stage.away.add(1, requests)


def test_tasks_that_wait_make_room_for_others() -> None:
    scheduler = schedule(ps.Dataset.range(10_000), workers=WORKERS)
    assert len(claim_all(scheduler)) == WORKERS
    scheduler.root.away.add(1, 8)
    assert len(claim_all(scheduler)) == 1


def test_few_requests_are_out_until_the_size_of_answers_is_known() -> None:
    scheduler = schedule(ps.Dataset.range(10_000), workers=WORKERS)
    first = scheduler.claim()
    assert first is not None
    first.stage.away.add(1, 8)
    waiting(scheduler, 8)
    assert scheduler.root.away.requests == stages._REQUESTS_AT_FIRST
    first.stage.away.add(-1, -8)
    finish(scheduler, first)
    waiting(scheduler, 8)
    assert stages._REQUESTS <= scheduler.root.away.requests < stages._REQUESTS + 8 * WORKERS


def test_no_more_than_so_many_tasks_wait() -> None:
    scheduler = schedule(ps.Dataset.range(10_000), workers=WORKERS)
    for _ in range(2):
        finish(scheduler, claim_all(scheduler)[0])
        while scheduler.next_block() is not None:
            pass
    waiting(scheduler, 1)
    assert scheduler.root.away.tasks <= knobs.AWAY_TASKS + WORKERS


@pytest.mark.parametrize("calls", [None, 1, 2])
def test_what_the_user_said_is_kept_to(calls: int | None) -> None:
    scheduler = schedule(ps.Dataset.range(100).map(lambda x: x, num_parallel_calls=calls), workers=4)
    waiting(scheduler, 1)
    assert scheduler.root.away.tasks <= (calls or 1)


def test_waits_together_count_apart_and_waits_alone_do_not() -> None:
    clock = FakeClock()
    told: list[tuple[RunningStage, int]] = []

    @contextmanager
    def away(stage: RunningStage, requests: int) -> Iterator[None]:
        told.append((stage, requests))
        yield

    def run(together: bool) -> Outcome:
        def wait(x: int) -> int:
            with surroundings().away(5, together):
                clock.now_s += 3.0
            clock.now_s += 1.0
            return x

        scheduler = schedule(ps.Dataset.range(1).map(wait, num_parallel_calls=1), workers=1, clock=clock)
        task = claim_all(scheduler)[-1]
        if task.stage is not scheduler.root:
            finish(scheduler, task)
            task = claim_all(scheduler)[-1]
        return task.execute(away)

    assert (run(True).seconds, run(True).away_s) == (4.0, 3.0)
    assert (run(False).seconds, run(False).away_s) == (4.0, 0.0)
    assert {requests for _, requests in told} == {5}
