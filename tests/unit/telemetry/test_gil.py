"""The estimate of the GIL from looks, by tables; what a line of the system says; and one look at threads of ours."""

from __future__ import annotations

import threading
import time

import pytest

from penstock.telemetry.clock import Clock
from penstock.telemetry.gil import GilWatch, Looks, holders
from penstock.telemetry.thread_states import State, ThreadStates, state_of

MAP = (1, "map")
RUNTIME = 0x7000_0000_0000


@pytest.mark.parametrize(
    ("text", "state"),
    [
        ("running", "running"),
        ("", "running"),
        (f"202 {RUNTIME + 64:#x} 0x189 0x0", "gil"),
        ("202 0x5000 0x189 0x0", "waiting"),
        (f"202 {RUNTIME - 1:#x}", "waiting"),
        ("0 0x3 0x7f39a6e4c000 0x20000", "reading"),
        ("230 0x1 0x0", "waiting"),
        ("-1 0x7ffe 0x7f", "waiting"),
        ("nonsense here", "waiting"),
        ("7", "reading"),
    ],
)
def test_a_line_of_the_system_says_what_a_thread_does(text: str, state: State) -> None:
    assert state_of(text, 202, frozenset({0, 7}), RUNTIME) == state


@pytest.mark.parametrize(
    ("wait_s", "found", "held_it"),
    [
        (1e-4, {1: "running", 2: "running"}, []),
        (5e-3, {1: "gil", 2: "running", 3: "waiting"}, [1, 2]),  # taken away
        (1e-3, {1: "gil", 2: "waiting", 3: "waiting"}, [2]),  # given up: 3 is in no step
        (1e-3, {1: "running", 3: "running"}, [1, 3]),
        (1e-3, {1: "gil", 2: "gil"}, [1, 2]),
        (5e-3, {1: "waiting"}, [1]),
        (5e-3, {}, []),
    ],
)
def test_who_may_have_held_the_gil(wait_s: float, found: dict[int, State], held_it: list[int]) -> None:
    assert list(holders(wait_s, {1, 2} & set(found), found)) == held_it


def looked(*seen: tuple[State, bool, float], queued: float = 0.0) -> Looks:
    """Ten times what was seen: state, whether the GIL was held, and how likely by this thread."""
    looks = Looks(watched_s=10.0, queued_s=10.0 * queued)
    for state, is_held, holding in seen * 10:
        looks.add(state, is_held=is_held, holding=holding)
    return looks


@pytest.mark.parametrize(
    ("looks", "cpu_share", "share"),
    [
        (looked(("running", True, 1.0)), 1.0, 1.0),  # pure Python, alone
        (looked(("gil", True, 0.5), ("running", True, 0.5)), 0.5, 1.0),  # pure Python in two threads
        (looked(("running", False, 0.0)), 1.0, 0.0),  # NumPy
        (looked(("running", False, 0.0), queued=0.4), 0.6, 0.0),  # NumPy on busy cores
        (looked(("waiting", False, 0.0)), 0.0, 0.0),  # asleep
        (looked(("reading", False, 0.0)), 0.0, 0.0),
        (looked(("waiting", True, 1.0), ("waiting", False, 0.0)), 0.5, 0.5),  # half Python, half asleep
        (looked(("running", True, 1.0), ("running", False, 0.0)), 1.0, 0.5),  # half Python, half NumPy
        (looked(("gil", True, 0.0)), 1.0, 1.0),  # plain to see, whatever its clock says
    ],
)
def test_the_share_of_the_gil(looks: Looks, cpu_share: float, share: float) -> None:
    assert looks.gil_share(cpu_share) == pytest.approx(share)


def test_few_looks_estimate_nothing() -> None:
    looks = Looks()
    for _ in range(9):
        looks.add("gil", is_held=True, holding=1.0)
    assert looks.gil_share(1.0) is looks.reading_share() is looks.queued_share() is None


def test_a_thread_leaves_to_where_it_was() -> None:
    watch = GilWatch(Clock(), threading.Event())
    outer = watch.enter(MAP)
    inner = watch.enter((2, "map"))
    assert (outer, inner) == (None, MAP)
    watch.leave(inner, 1.0)
    watch.leave(outer, 1.0)
    assert not watch._inside


class FakeStates:
    """Threads that do as a test says."""

    def __init__(self, states: dict[int, State]) -> None:
        self.states = states
        self.queued = 0.0

    def know(self, thread: int) -> None:
        """Nothing is to be opened."""

    def state(self, thread: int) -> State:
        return self.states.get(thread, "waiting")

    def queued_s(self, thread: int) -> float:
        return self.queued if thread in self.states else 0.0


def test_a_look_counts_the_threads_in_steps_and_what_they_queued() -> None:
    now = [0.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds + 0.006  # it does not have the GIL back at once

    states = FakeStates({7: "gil", 8: "running"})
    watch = GilWatch(Clock(now=lambda: now[0], cpu=lambda: 0.0), threading.Event(), sleep=sleep)
    watch._inside.update({7: MAP, 8: (2, "map")})
    for _ in range(12):
        watch.look(states)  # type: ignore[arg-type]  # a fake
        states.queued += 0.01
    first, second = watch.looks[MAP], watch.looks[2, "map"]
    assert (first.moments, first.held, first.seen, second.seen) == (12, 12, 12, 0)
    assert first.holding == second.holding == 6.0
    assert first.queued_s == pytest.approx(0.11)
    assert first.gil_share(0.0) == 1.0


def states_of_this_system() -> ThreadStates:
    try:
        return ThreadStates()
    except OSError as error:
        pytest.skip(str(error))


def test_a_sleeping_thread_is_seen_to_wait_and_the_caller_to_run() -> None:
    states = states_of_this_system()
    stop, begun = threading.Event(), threading.Event()

    def wait() -> None:
        begun.set()
        stop.wait()

    thread = threading.Thread(target=wait)
    thread.start()
    begun.wait()
    assert thread.native_id is not None
    deadline = time.monotonic() + 10
    while states.state(thread.native_id) != "waiting" and time.monotonic() < deadline:
        stop.wait(0.001)
    assert states.state(thread.native_id) == "waiting"
    assert states.state(threading.get_native_id()) in ("running", "reading")  # it reads the line that says so
    assert states.queued_s(thread.native_id) >= 0.0
    stop.set()
    thread.join()
    assert states.state(2**30) == "waiting"
    states.close()


def test_looks_end_with_the_run() -> None:
    closing = threading.Event()
    watch = GilWatch(Clock(), closing, starts=True)
    watch.leave(None, 1.0)
    assert not watch.starts
    closing.set()
    for thread in threading.enumerate():
        if thread.name == "penstock-gil-watch":
            thread.join(5.0)
    assert not any(thread.name == "penstock-gil-watch" for thread in threading.enumerate())
