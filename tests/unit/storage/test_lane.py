from __future__ import annotations

import threading

import pytest

from penstock.storage import lane as lanes
from penstock.storage.lane import Lane


def test_jobs_run_side_by_side_up_to_the_limit() -> None:
    lane = Lane(6)
    all_there = threading.Barrier(6)
    lock, now, most = threading.Lock(), 0, 0
    done = threading.Semaphore(0)

    def job() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        all_there.wait(10)  # comes through only if six run at once
        with lock:
            now -= 1
        done.release()

    lane.add([job] * 24)
    assert all(done.acquire(timeout=10) for _ in range(24))
    assert most == 6
    lane.close(5)


def test_few_jobs_start_few_threads() -> None:
    lane = Lane(100)
    done = threading.Semaphore(0)
    before = threading.active_count()
    lane.add([done.release] * 3)
    assert all(done.acquire(timeout=10) for _ in range(3))
    assert threading.active_count() <= before + 3
    lane.close(5)
    assert threading.active_count() <= before


def test_threads_end_when_there_is_nothing_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lanes, "IDLE_SECONDS", 0.001)
    lane = Lane(4)
    for _ in range(3):  # and others start when there is
        done = threading.Semaphore(0)
        lane.add([done.release] * 8)
        assert all(done.acquire(timeout=10) for _ in range(8))
        for thread in threading.enumerate():
            if thread.name.startswith("penstock-storage"):
                thread.join(10)
                assert not thread.is_alive()


def test_a_closed_lane_begins_nothing() -> None:
    lane = Lane(1)
    gate, ran = threading.Event(), list[int]()
    begun = threading.Event()

    def first() -> None:
        begun.set()
        gate.wait(10)

    lane.add([first, lambda: ran.append(1)])
    assert begun.wait(10)
    closer = threading.Thread(target=lane.close, args=(10,))
    closer.start()
    assert lane.closed.wait(10)
    gate.set()
    closer.join(10)
    lane.add([lambda: ran.append(2)])
    assert not ran
