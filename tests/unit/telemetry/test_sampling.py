"""The sampler of the host by a clock of ours, and its thread, which ends when it is told to."""

from __future__ import annotations

import itertools
import threading

from penstock.machine.accelerators import NoAccelerators
from penstock.machine.readings import AcceleratorReading, HostReading
from penstock.telemetry.clock import Clock
from penstock.telemetry.sampling import HostSampler


class FakeReader:
    """Counts what it is asked for."""

    def __init__(self, why_none: str = "") -> None:
        self.accelerators = NoAccelerators(why_none)
        self.asked: list[bool] = []

    def read(self, *, all_of_it: bool = True) -> HostReading:
        self.asked.append(all_of_it)
        return HostReading(rss_bytes=len(self.asked), accelerators=(AcceleratorReading(index=0, name="fake"),))


class Time:
    """A clock whose waits pass at once, `steps` of them; then it says stop."""

    def __init__(self, steps: int) -> None:
        self.now_s = 100.0
        self.left = steps
        self.waits: list[float] = []

    def clock(self) -> Clock:
        return Clock(now=lambda: self.now_s, wait=self.wait)

    def wait(self, event: threading.Event, seconds: float) -> bool:
        self.left -= 1
        self.waits.append(seconds)
        self.now_s += seconds
        return self.left < 0 or event.is_set()


def sampled(steps: int, why_none: str = "", most: int = 2048) -> tuple[HostSampler, FakeReader, Time]:
    reader, time = FakeReader(why_none), Time(steps)
    sampler = HostSampler(reader, time.clock(), fast_s=0.25, slow_s=1.0, most=most)  # type: ignore[arg-type]  # a fake
    with sampler:
        assert sampler._thread is not None
        sampler._thread.join()
    return sampler, reader, time


def test_accelerators_are_read_often_and_the_rest_seldom() -> None:
    sampler, reader, _ = sampled(9)
    assert reader.asked == [True, False, False, False, True, False, False, False, True]
    assert [sample.at_s for sample in sampler.samples()] == [step / 4 for step in range(9)]
    assert sampler.latest == sampler.samples()[-1]


def test_without_accelerators_nothing_is_read_between() -> None:
    sampler, reader, time = sampled(3, "no driver")
    assert reader.asked == [True] * 3
    assert time.waits == [0.0, 1.0, 1.0, 1.0]
    assert sampler.why_no_accelerators == "no driver"


def test_a_long_run_is_thinned_evenly() -> None:
    sampler, _, _ = sampled(100, most=16)
    kept = [sample.at_s for sample in sampler.samples()]
    assert len(kept) < 16
    assert len({round(after - before, 6) for before, after in itertools.pairwise(kept)}) == 1


def test_it_stops_when_told_and_again() -> None:
    sampler = HostSampler(FakeReader(), fast_s=60.0)  # type: ignore[arg-type]  # a fake
    sampler.start()
    sampler.stop()
    sampler.stop()
    assert sampler._thread is not None
    assert not sampler._thread.is_alive()
    HostSampler(FakeReader()).stop()  # type: ignore[arg-type]  # a fake


def test_a_reading_may_be_asked_for_without_a_thread() -> None:
    sampler = HostSampler(FakeReader(), Time(0).clock(), zero=90.0)  # type: ignore[arg-type]  # a fake
    assert sampler.sample().at_s == 10.0
