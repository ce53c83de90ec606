"""The pool of worker processes: how many, which one, when they end."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator

import pytest

from penstock.engine.executors.processes import DiedError, ProcessPool, Worker


class Now:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.s = 0.0

    def __call__(self) -> float:
        return self.s


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    made = ProcessPool(Now())
    yield made
    made.close()


def taken(pool: ProcessPool) -> Worker:
    worker = pool.acquire(may_wait=True)
    assert worker is not None
    return worker


def test_pool_starts_as_many_as_the_widest_asked_for(pool: ProcessPool) -> None:
    pool.start(2)
    pool.start(1)
    assert len(pool.pids()) == 2


def test_acquire_does_not_wait_for_a_start_unless_told(pool: ProcessPool) -> None:
    pool.start(1)
    assert pool.acquire(may_wait=False) is None  # an interpreter takes longer than this line
    worker = taken(pool)
    pool.release(worker)
    assert pool.acquire(may_wait=False) is worker


def test_a_discarded_worker_is_replaced(pool: ProcessPool) -> None:
    pool.start(1)
    worker = taken(pool)
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(DiedError, match="killed by SIGKILL"), worker.watched():
        worker.link.receive()
    pool.discard(worker)
    other = taken(pool)
    assert other.pid != worker.pid
    pool.release(other)


def test_idle_seconds_count_from_the_last_release() -> None:
    now = Now()
    pool = ProcessPool(now)
    pool.start(1)
    worker = taken(pool)
    now.s = 50
    assert pool.idle_s() == 0
    pool.release(worker)
    now.s = 70
    assert pool.idle_s() == 20
    pool.close()
    assert pool.acquire(may_wait=True) is None
