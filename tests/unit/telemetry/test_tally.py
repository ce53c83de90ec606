"""Time as an argument: a clock that only moves when the work says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from penstock.telemetry.clock import Clock
from penstock.telemetry.snapshot import IteratorStats
from penstock.telemetry.tally import StepTotals, Tally


class FakeClock:
    """Seconds and CPU seconds that pass when `work` is called."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.cpu_s = 7.0

    def clock(self) -> Clock:
        return Clock(lambda: self.now_s, lambda: self.cpu_s)

    def work(self, seconds: float, cpu_seconds: float = 0.0) -> None:
        self.now_s += seconds
        self.cpu_s += cpu_seconds


class Output:
    def __init__(self, elements: int, nbytes: int) -> None:
        self.elements = elements
        self.nbytes = nbytes

    def __len__(self) -> int:
        return self.elements


MAP, READ, BATCH = (1, "map"), (0, "read"), (2, "batch")


def _step(time: FakeClock, seconds: float, cpu_seconds: float = 0.0, elements: int = 1) -> Callable[[], Output]:
    def work() -> Output:
        time.work(seconds, cpu_seconds)
        return Output(elements, 10 * elements)

    return work


def test_measure_gives_what_the_work_gave() -> None:
    time = FakeClock()
    output = Output(3, 4)
    assert Tally(time.clock()).measure(MAP, "map", lambda: output) is output


def test_measure_counts_elements_bytes_and_seconds() -> None:
    time = FakeClock()
    tally = Tally(time.clock())
    for elements in (2, 3):
        tally.measure(MAP, "map at a.py:1", _step(time, 2.0, 0.5, elements))
    assert tally.steps == {MAP: StepTotals("map at a.py:1", 5, 50, inclusive_s=4.0, busy_s=4.0, cpu_s=1.0)}


def test_measure_keeps_inclusive_and_exclusive_apart() -> None:
    time = FakeClock()
    tally = Tally(time.clock())

    def batch() -> Output:
        time.work(1.0, 1.0)
        tally.measure(MAP, "map", map_)
        time.work(2.0, 0.0)
        return Output(1, 1)

    def map_() -> Output:
        time.work(4.0, 3.0)
        tally.measure(READ, "read", _step(time, 8.0, 0.5))
        return Output(1, 1)

    tally.measure(BATCH, "batch", batch)
    seconds = {key: (step.inclusive_s, step.busy_s, step.cpu_s) for key, step in tally.steps.items()}
    assert seconds == {BATCH: (15.0, 3.0, 1.0), MAP: (12.0, 4.0, 3.0), READ: (8.0, 8.0, 0.5)}


def test_measure_of_calls_side_by_side_adds_up() -> None:
    time = FakeClock()
    tally = Tally(time.clock())

    def zipped() -> Output:
        tally.measure(READ, "read", _step(time, 1.0))
        tally.measure(MAP, "map", _step(time, 2.0))
        return Output(1, 1)

    tally.measure(BATCH, "batch", zipped)
    assert (tally.steps[BATCH].inclusive_s, tally.steps[BATCH].busy_s) == (3.0, 0.0)


def test_measure_sums_exclusive_times_to_the_whole() -> None:
    time = FakeClock()
    tally = Tally(time.clock())

    def outer(depth: int) -> Output:
        time.work(1.0)
        return tally.measure((depth, "step"), "step", lambda: outer(depth - 1)) if depth else Output(1, 1)

    tally.measure((9, "step"), "step", lambda: outer(5))
    assert sum(step.busy_s for step in tally.steps.values()) == 6.0


def test_measure_charges_the_time_of_what_failed() -> None:
    time = FakeClock()
    tally = Tally(time.clock())

    def fail() -> Output:
        time.work(2.0)
        raise KeyError

    with pytest.raises(KeyError):
        tally.measure(MAP, "map", fail)
    tally.measure(READ, "read", _step(time, 1.0))
    assert (tally.steps[MAP].busy_s, tally.steps[MAP].elements) == (2.0, 0)
    assert tally.steps[READ].busy_s == 1.0


def test_measure_of_a_step_inside_itself_counts_its_own_time_once() -> None:
    time = FakeClock()
    tally = Tally(time.clock())

    def outer() -> Output:
        time.work(1.0)
        return tally.measure(MAP, "map", _step(time, 2.0))

    tally.measure(MAP, "map", outer)
    assert tally.steps[MAP].busy_s == 3.0


def test_totals_add_up() -> None:
    total = StepTotals("map", 1, 2, 3.0, 4.0, 5.0)
    total.add(StepTotals("map", 10, 20, 30.0, 40.0, 50.0))
    assert total == StepTotals("map", 11, 22, 33.0, 44.0, 55.0)


def _stats(**changed: float) -> IteratorStats:
    values = {
        "batches": 0,
        "wait_s": 0.0,
        "between_s": 0.0,
        "ready": 0,
        "requests": 0,
        "skipped": 0,
        "waiting_bytes": 0,
    }
    return IteratorStats(**{**values, **changed}, stages=())  # type: ignore[arg-type]  # counts and seconds


def test_readiness_is_one_before_the_first_request() -> None:
    assert _stats().readiness == 1.0


def test_readiness_is_the_share_that_found_a_batch() -> None:
    assert _stats(ready=3, requests=4).readiness == 0.75


def test_wait_share_is_zero_before_the_first_request() -> None:
    assert _stats().wait_share == 0.0


def test_wait_share_is_that_of_the_consumers_time() -> None:
    assert _stats(wait_s=1.0, between_s=3.0).wait_share == 0.25
