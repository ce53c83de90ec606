"""Retry as a record: what it covers, how long it waits, by a clock of our own."""

from __future__ import annotations

import errno
import threading
from typing import Any

import pytest

import penstock as ps
from penstock.engine.buffers import BufferPool
from penstock.engine.build import build
from penstock.engine.run import Run, RunLimits
from penstock.engine.scope import Scope, Services
from penstock.errors import InvalidArgumentError, PenstockError, ReadError, UserFunctionError, may_pass
from penstock.graph.walk import numbered
from penstock.optimize.driver import optimize
from penstock.plan.lower import lower
from penstock.telemetry.clock import Clock


@pytest.mark.parametrize(
    ("error", "passes"),
    [
        (ConnectionResetError(), True),
        (TimeoutError(), True),
        (OSError(errno.EIO, "input/output"), True),
        (OSError(errno.ENOSPC, "full"), False),
        (FileNotFoundError(), False),
        (PermissionError(), False),
        (ValueError(), False),
        (ReadError("cannot be read"), False),
    ],
)
def test_what_may_pass(error: Exception, passes: bool) -> None:
    assert may_pass(error) is passes
    wrapped = RuntimeError("wrapped")
    wrapped.__cause__ = error
    assert may_pass(wrapped) is passes


@pytest.mark.parametrize(
    "bad",
    [
        {"times": 0},
        {"times": 1.5},
        {"backoff": -1},
        {"backoff": "1 s"},
        {"backoff": float("nan")},
        {"on": "OSError"},
        {"on": (OSError, 3)},
        {"on": BaseException},
        {"then": "ignore"},
    ],
)
def test_retry_refuses_what_it_cannot_do(bad: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"Retry: {next(iter(bad))}"):
        ps.Retry(**bad)


@pytest.mark.parametrize("share", [-0.1, 1.5, "1%", True])
def test_share_of_errors_is_a_share(share: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="Options: max_error_ratio"):
        ps.Options(max_error_ratio=share)


def _run(dataset: ps.Dataset, waited: list[float], closes_at: float | None = None) -> list[int]:
    """The elements, run inline under a clock that notes what was to be waited and waits not."""

    def wait(event: threading.Event, seconds: float) -> bool:
        waited.append(seconds)
        return closes_at is not None and seconds >= closes_at

    services = Services(0, BufferPool(), Clock(wait=wait), 2**30, lambda _: None)
    graph, _ = optimize(numbered(dataset._node), frozenset(), lambda: 0.0)
    run = Run(build(lower(graph, 1, True).root, Scope(services, 0), 4), RunLimits(0, 2**30))
    elements: list[int] = []
    try:
        while (marked := run.next_block()[0]) is not None:
            block = marked.block
            elements += [int(x) for x in block.elements()]
            if block.failure is not None:
                raise block.failure.error
    finally:
        run.close()
    return elements


def _breaks_on_three() -> Any:
    calls: list[int] = []

    def function(x: Any) -> Any:
        calls.append(int(x))
        if x == 3 and calls.count(3) < 5:
            raise ConnectionError
        return x

    return function


def test_retry_waits_twice_as_long_each_time() -> None:
    waited: list[float] = []
    dataset = ps.Dataset.range(6).map(_breaks_on_three(), on_error=ps.Retry(9, backoff=0.5))
    assert _run(dataset, waited) == list(range(6))
    assert waited == [0.5, 1.0, 2.0, 4.0]


def test_retry_that_is_interrupted_gives_up() -> None:
    waited: list[float] = []
    dataset = ps.Dataset.range(6).map(_breaks_on_three(), on_error=ps.Retry(9, backoff=0.5))
    with pytest.raises(UserFunctionError) as caught:
        _run(dataset, waited, closes_at=2.0)
    assert isinstance(caught.value, PenstockError)
    assert waited == [0.5, 1.0, 2.0]
