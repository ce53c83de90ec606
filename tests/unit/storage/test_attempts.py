from __future__ import annotations

import threading

import pytest

from penstock.errors import ClosedError, ReadError, may_pass
from penstock.storage.attempts import LONGEST_S, Attempts
from penstock.storage.fault import Fault, Kind

URL = "http://host/a"


class Sleeper:
    """Sleeps in no time, and remembers for how long."""

    def __init__(self) -> None:
        self.slept: list[float] = []

    def __call__(self, event: threading.Event, seconds: float) -> bool:
        self.slept.append(seconds)
        return event.is_set()


class Asking:
    """Fails as planned, then gives 1."""

    def __init__(self, *faults: Fault) -> None:
        self.faults = list(faults)
        self.asked = 0

    def __call__(self) -> int:
        self.asked += 1
        if self.faults:
            raise self.faults.pop(0)
        return 1


def busy() -> Fault:
    return Fault(Kind.BUSY, "503 Service Unavailable", 503)


def test_wait_doubles_and_is_drawn_from_its_upper_half() -> None:
    for draw, share in ((0.0, 0.5), (1.0, 1.0), (0.5, 0.75)):
        attempts = Attempts(5, 0.2, draw=lambda draw=draw: draw)
        assert [attempts.wait_s(number) for number in (1, 2, 3)] == pytest.approx(
            [0.2 * share, 0.4 * share, 0.8 * share]
        )


def test_wait_has_a_longest() -> None:
    attempts = Attempts(100, 1.0, draw=lambda: 1.0)
    assert attempts.wait_s(10) == attempts.wait_s(10_000) == LONGEST_S


def test_attempts_go_on_until_one_succeeds() -> None:
    sleeper, asking = Sleeper(), Asking(busy(), Fault(Kind.CONNECTION, "cut"))
    assert Attempts(3, 0.2, sleeper, lambda: 1.0).run(asking, URL, threading.Event()) == 1
    assert asking.asked == 3
    assert sleeper.slept == pytest.approx([0.2, 0.4])


def test_last_fault_becomes_an_error_that_may_pass() -> None:
    sleeper, asking = Sleeper(), Asking(*(busy() for _ in range(9)))
    with pytest.raises(ReadError) as caught:
        Attempts(4, 0.2, sleeper).run(asking, URL, threading.Event())
    assert asking.asked == 4
    assert len(sleeper.slept) == 3
    assert caught.value.where == URL
    assert caught.value.got == "503 Service Unavailable (4 attempts)"
    assert caught.value.remedy is not None
    assert may_pass(caught.value)


@pytest.mark.parametrize("kind", [Kind.MISSING, Kind.REFUSED, Kind.CHANGED, Kind.SHORT, Kind.NO_RANGE, Kind.OTHER])
def test_what_will_not_pass_is_not_tried_again(kind: Kind) -> None:
    sleeper, asking = Sleeper(), Asking(Fault(kind, "no"))
    with pytest.raises(ReadError) as caught:
        Attempts(4, 0.2, sleeper).run(asking, URL, threading.Event())
    assert (asking.asked, sleeper.slept) == (1, [])
    assert not may_pass(caught.value)


def test_nobody_waits_for_what_was_given_up() -> None:
    cancelled = threading.Event()

    def sleep(event: threading.Event, seconds: float) -> bool:
        event.set()
        return True

    asking = Asking(busy(), busy())
    with pytest.raises(ClosedError):
        Attempts(4, 0.2, sleep).run(asking, URL, cancelled)
    assert asking.asked == 1
