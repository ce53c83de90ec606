"""A measured function: when it moves, what keeps it, what it says. Clocks and looks are the test's."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from penstock import Dataset
from penstock.block.block import Block
from penstock.engine.executors import remote
from penstock.engine.executors.measured import MeasuredFunction
from penstock.engine.operators.segments import block_function
from penstock.engine.scope import Scope, Services
from penstock.errors import WorkerError
from penstock.graph.walk import numbered
from penstock.telemetry.clock import Clock
from penstock.telemetry.recorder import FunctionRecord
from tests.unit.engine.driven import numbers, scope_of


class Crowded:
    """A second call is always at work beside the one that is measured."""

    size = 1

    def __init__(self, cores: float) -> None:
        self.cores = cores

    def enter(self, now: Any) -> Any:
        return None

    def leave(self, entry: Any, now: Any) -> tuple[float, float]:
        return 0.02 / self.cores, 2.0


def services(cores: float = 1.0, *, held: bool = True, told: list[str] | None = None) -> Services:
    ticks = itertools.count()
    seconds = itertools.count()
    clock = Clock(lambda: float(next(seconds)), lambda: next(ticks) * 0.01, lambda: 0.0, lambda: held)
    return replace(scope_of(told=told).services, clock=clock, crowd=Crowded(cores), process_workers=2)  # type: ignore[arg-type]


class FakeRemote:
    """Stands for worker processes: doubles here, and says so."""

    is_handed_over = True
    lays_out_rows = False
    error: Exception | None = None

    def __init__(self, node: Any, here: Any, is_pure: bool, text: bytes, answered: Any) -> None:
        self.here, self.answered = here, answered
        self.cost_s = 0.01

    def start_workers(self, count: int) -> None:
        assert count == 2

    def __call__(self, block: Block, scope: Scope) -> Block:
        if self.error is not None:
            raise self.error
        done = self.here(block, scope)
        self.answered(self.cost_s, 0.01)
        return done


@pytest.fixture(autouse=True)
def fake_remote(monkeypatch: pytest.MonkeyPatch) -> type[FakeRemote]:
    fake = type("FakeRemote", (FakeRemote,), {})
    monkeypatch.setattr(remote, "RemoteFunction", fake)
    return fake


def double(x: int) -> int:
    return x * 2


def made(shared: Services, function: Any = double, rows: int = 10**9) -> MeasuredFunction:
    node = numbered(Dataset.range(rows).map(function, compile=False)._node)
    return MeasuredFunction(node, block_function(node), shared)


def run(function: MeasuredFunction, shared: Services, calls: int) -> list[int]:
    values: list[int] = []
    for call in range(calls):
        scope = Scope(shared, 0).in_task()
        values += [int(x) for x in function(numbers(8 * call, 8 * call + 8), scope).elements()]
    return values


def finding(shared: Services) -> Any:
    return next(iter(shared.findings.values()), SimpleNamespace(executor="none", why=""))


def test_moves_once_it_is_seen_to_hold_the_gil() -> None:
    shared = services()
    function = made(shared)
    assert run(function, shared, 12) == [2 * x for x in range(96)]
    assert function.remote is None
    assert run(function, shared, 80) == [2 * x for x in range(640)]
    assert function.remote is not None
    assert finding(shared).executor == "processes"
    assert "times as fast as in threads" in finding(shared).why


@pytest.mark.parametrize(
    ("cores", "held"), [(1.0, False), (1.9, True), (0.01, True)], ids=["not held", "two cores", "waits"]
)
def test_stays_where_the_gil_is_not_the_reason(cores: float, held: bool) -> None:
    shared = services(cores, held=held)
    if cores < 0.1:  # waits: hardly any CPU
        shared = replace(shared, clock=replace(shared.clock, cpu=itertools.count(step=0.0005).__next__))
    function = made(shared)
    run(function, shared, 60)
    assert function.remote is None
    assert finding(shared).executor == "threads"


@pytest.mark.parametrize("is_native", [True, False])
def test_one_native_pass_stays_whoever_holds_the_gil(is_native: bool) -> None:
    shared = services()
    function = made(shared)
    key = function._node.key
    shared.recorder.functions[key] = FunctionRecord(steps=1, is_native=is_native)
    run(function, shared, 40)
    assert finding(shared).executor == ("threads" if is_native else "processes")


def test_short_work_stays_and_the_next_iterator_knows() -> None:
    shared = services()
    run(made(shared, rows=400), shared, 40)
    assert "too little work is left" in finding(shared).why
    for _ in range(3):  # each adds what it measured: by now, a second's work has gone through it
        run(made(shared, rows=400), shared, 1)
    later = made(shared, rows=4000)
    assert later.remote is not None or finding(shared).evidence is not None


def test_goes_back_if_it_is_no_faster_there(fake_remote: type[FakeRemote]) -> None:
    shared = services()
    function = made(shared)
    run(function, shared, 25)
    assert isinstance(function.remote, FakeRemote)
    function.remote.cost_s = 0.05
    assert run(function, shared, 40) == [2 * x for x in range(320)]
    assert function.remote is None
    assert "tried in processes" in finding(shared).why


def test_answers_beside_a_call_that_runs_here_do_not_count(fake_remote: type[FakeRemote]) -> None:
    """While the second worker starts, the GIL is held here still; what the first answers meanwhile is late for it."""
    shared = services()
    function = made(shared)
    run(function, shared, 25)
    assert isinstance(function.remote, FakeRemote)
    answered = function.remote.answered

    def meanwhile(block: Block, scope: Scope) -> Block:
        for _ in range(40):
            answered(0.5, 0.01)
        return block

    function._here = meanwhile
    function.remote.here(numbers(0, 8), Scope(shared, 0).in_task())
    assert function.remote is not None
    for _ in range(80):
        answered(0.01, 0.01)
    assert "times as fast as in threads" in finding(shared).why
    assert finding(shared).executor == "processes"


def test_failing_workers_are_told_once_and_work_goes_on_here(fake_remote: type[FakeRemote]) -> None:
    told: list[str] = []
    shared = services(told=told)
    fake_remote.error = WorkerError("worker processes end before they have started")
    assert run(made(shared), shared, 40) == [2 * x for x in range(320)]
    assert len(told) == 1
    assert "stays in threads: worker processes failed" in told[0]


class Opaque:
    def __reduce__(self) -> Any:
        raise TypeError("it is open")


def test_what_cannot_be_pickled_is_a_finding(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    shared = services(told=told)

    def call(x: int) -> int:
        return x

    call.opened = Opaque()  # type: ignore[attr-defined]
    run(made(shared, call), shared, 40)
    assert "cannot be sent to a worker process: it is open" in finding(shared).why
    assert not told


def test_the_order_of_sets_keeps_it_here() -> None:
    shared = services()
    run(made(shared, lambda x: sum(y for y in {1, 2, int(x)})), shared, 40)
    assert "the order of a set differs" in finding(shared).why


def test_the_next_iterator_starts_where_this_one_ended() -> None:
    shared = services()
    run(made(shared), shared, 40)
    assert made(shared).remote is not None
