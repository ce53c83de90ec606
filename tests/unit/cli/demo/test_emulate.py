from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock.cli.demo.emulate import run
from penstock.cli.demo.job import Job
from penstock.cli.demo.photos import Part, Photos

STEP_S = 0.010


class FakeTime:
    """A clock that only sleeping and fetching move; sleeping takes longer than asked for."""

    def __init__(self, oversleep_s: float = 0.0) -> None:
        self.now_s = 100.0
        self.oversleep_s = oversleep_s

    def now(self) -> float:
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        self.now_s += duration_s + (self.oversleep_s if duration_s > 0 else 0)

    def batches(self, fetch_s: float) -> Iterator[None]:
        while True:
            self.now_s += fetch_s
            yield None


@pytest.fixture
def job() -> Job:
    part = Part(("a",) * 1000, (0,) * 1000)
    return Job(Photos(("a", "b"), part, part), epochs=1, batch_size=10, image_size=8)


@pytest.mark.parametrize(("fetch_s", "au"), [(0.0, 1.0), (0.010, 0.5), (0.030, 0.25)])
def test_au_is_compute_over_wall_time(job: Job, fetch_s: float, au: float) -> None:
    time = FakeTime()
    outcome = run("x", time.batches(fetch_s), job, STEP_S, lambda step: None, now=time.now, sleep=time.sleep)
    assert outcome.au == pytest.approx(au)
    assert outcome.wait_share == pytest.approx(1 - au)
    assert outcome.step_s == pytest.approx(STEP_S + fetch_s)
    assert outcome.images_per_s == pytest.approx(10 / (STEP_S + fetch_s))


def test_oversleeping_is_made_up_for(job: Job) -> None:
    time = FakeTime(oversleep_s=0.002)
    outcome = run("x", time.batches(0.0), job, STEP_S, lambda step: None, now=time.now, sleep=time.sleep)
    assert outcome.au == pytest.approx(1.0, abs=0.005)


def test_each_step_is_told(job: Job) -> None:
    time, steps = FakeTime(), list[int]()
    run("x", time.batches(0.0), job, STEP_S, steps.append, now=time.now, sleep=time.sleep)
    assert steps == list(range(1, 101))
