"""Where functions are placed: in threads, in processes, or by measurement."""

from __future__ import annotations

import random
from typing import Any

import pytest

import penstock as ps
from penstock import Dataset
from penstock.plan.place import executor_of, process_workers, width_of


def pure(x: Any) -> Any:
    return x * 2


def impure(x: Any) -> Any:
    random.getstate()
    return x


def node(function: Any = pure, **said: Any) -> Any:
    return Dataset.range(9).map(function, **said)._node


@pytest.mark.parametrize(
    ("placed", "options", "where"),
    [
        pytest.param(node(), None, "measured", id="pure, nothing said"),
        pytest.param(node(impure), None, "threads", id="not known to be pure"),
        pytest.param(node(), "threads", "threads", id="the options say threads"),
        pytest.param(node(), "processes", "processes", id="the options say processes"),
        pytest.param(node(impure), "processes", "threads", id="which is for pure functions"),
        pytest.param(node(executor="threads"), None, "threads", id="the map says threads"),
        pytest.param(node(executor="threads"), "processes", "threads", id="and goes before the options"),
        pytest.param(node(impure, executor="processes"), None, "processes", id="the map says processes"),
        pytest.param(node(num_parallel_calls=None), None, "threads", id="in order"),
        pytest.param(node(num_parallel_calls=1), None, "threads", id="one at a time"),
        pytest.param(node(num_parallel_calls=3), None, "measured", id="three at a time"),
        pytest.param(Dataset.range(9).filter(pure)._node, None, "measured", id="a pure predicate"),
        pytest.param(Dataset.range(9)._node, None, "threads", id="no function"),
    ],
)
def test_executor_of(placed: Any, options: str | None, where: str) -> None:
    assert executor_of(placed, options) == where


def test_width_says_what_may_happen() -> None:
    assert "processes if measured" in width_of(node(), 2).reason
    assert "processes" not in width_of(node(), 1).reason
    assert "processes" not in width_of(node(), 2, "threads").reason


def test_process_workers_are_as_wide_as_the_widest() -> None:
    assert process_workers(node(num_parallel_calls=5), 2, None) == 5


def test_explain_says_what_may_happen() -> None:
    told = Dataset.range(9).map(lambda x: str(x)).with_options(ps.Options(cpu_budget=2)).explain()
    assert "Python in threads (in processes if measured to hold the GIL)" in told
    held = frozenset(["a", "b"])
    told = Dataset.range(9).map(lambda x: [str(x), *held]).with_options(ps.Options(cpu_budget=2)).explain()
    assert "Python in threads (it cannot be sent to a worker process: the order of a set differs" in told
