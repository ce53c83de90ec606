# ruff: noqa: NPY002, PLW0603, B006  # what must not be frozen is written as users write it
"""Nothing whose outcome could change from call to call is frozen: a pipeline gives what a loop over its calls gives."""

from __future__ import annotations

import datetime as dt
import os
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.testing import assert_same_elements

COUNT = 9
CALLS = 0
FACTOR = 1


def _random() -> Callable[..., Any]:
    random.seed(3)
    return lambda x: x + random.random()


def _numpy_random() -> Callable[..., Any]:
    np.random.seed(3)
    return lambda x: x + np.random.rand()


def _captured_generator() -> Callable[..., Any]:
    generator = np.random.default_rng(3)
    return lambda x: x + generator.normal()


def _captured_stream() -> Callable[..., Any]:
    stream = ps.Rng(3)
    return lambda x: x + stream.random()


def _closure_counter() -> Callable[..., Any]:
    count = 0

    def call(x: Any) -> Any:
        nonlocal count
        count += 1
        return x * 100 + count

    return call


def _list_appended_to() -> Callable[..., Any]:
    seen: list[Any] = []

    def call(x: Any) -> Any:
        seen.append(x)
        return x * 100 + len(seen)

    return call


def _rebound_global() -> Callable[..., Any]:
    global CALLS
    CALLS = 0

    def call(x: Any) -> Any:
        global CALLS
        CALLS = CALLS + 1
        return x * 100 + CALLS

    return call


class Counter:
    """A callable whose state is an attribute of itself."""

    def __init__(self) -> None:
        self.count = 0

    def call(self, x: Any) -> Any:
        self.count += 1
        return x * 100 + self.count


def _captured_object() -> Callable[..., Any]:
    counter = Counter()
    return lambda x: counter.call(x)


def _edited_array() -> Callable[..., Any]:
    table = np.zeros(2)

    def call(x: Any) -> Any:
        table[0] = table[0] + x
        return table.copy()

    return call


def _edited_array_by_name() -> Callable[..., Any]:
    table = np.zeros(2)

    def call(x: Any) -> Any:
        view = table
        view += x
        return view.sum()

    return call


def _isinstance() -> Callable[..., Any]:
    return lambda x: x + 1 if isinstance(x, np.integer) else x - 1


def _type() -> Callable[..., Any]:
    return lambda x: x + 1 if type(x) is np.int64 else x - 1


def _try() -> Callable[..., Any]:
    def call(x: Any) -> Any:
        try:
            return 10 / x if x > 2 else -1.5 * x
        except Exception:  # noqa: BLE001  # what would hide a trace that stops
            return -1.0

    return call


def _bare_try() -> Callable[..., Any]:
    def call(x: Any) -> Any:
        try:
            return float(x) + 0.5
        except:  # noqa: E722  # what would hide it even so
            return -1.0

    return call


def _environment() -> Callable[..., Any]:
    os.environ["PENSTOCK_TEST_COUNT"] = "0"

    def call(x: Any) -> Any:
        os.environ["PENSTOCK_TEST_COUNT"] = str(int(os.environ["PENSTOCK_TEST_COUNT"]) + 1)
        return x * 100 + int(os.environ["PENSTOCK_TEST_COUNT"])

    return call


def _mutable_default() -> Callable[..., Any]:
    def call(x: Any, seen: list[Any] = []) -> Any:
        seen.append(x)
        return x * 100 + len(seen)

    return call


def _mutable_default_array() -> Callable[..., Any]:
    def call(x: Any, total: Any = np.zeros(1)) -> Any:  # noqa: B008  # what is tested
        total += x
        return total.sum()

    return call


def _iterator() -> Callable[..., Any]:
    numbers = iter(range(1000))
    return lambda x: x * 100 + next(numbers)


def _in_a_helper() -> Callable[..., Any]:
    inner = _closure_counter()
    return lambda x: inner(x) + 1


MAKERS = {
    name[1:]: maker
    for name, maker in list(globals().items())
    if name.startswith("_") and not name.startswith("__") and callable(maker) and maker.__module__ == __name__
}


@pytest.mark.parametrize("name", sorted(MAKERS))
@pytest.mark.parametrize("block_size", [None, 1])
def test_a_pipeline_gives_what_a_loop_gives(name: str, block_size: int | None) -> None:
    make = MAKERS[name]
    function = make()
    expected = [np.asarray(function(np.int64(x))) for x in range(COUNT)]
    dataset = ps.Dataset.range(COUNT).map(make()).with_options(ps.Options(block_size=block_size))
    assert_same_elements([np.asarray(x) for x in dataset], expected, name)


def test_the_clock_is_read_for_every_element() -> None:
    times = [int(x) for x in ps.Dataset.range(50).map(lambda x: time.perf_counter_ns())]
    assert times == sorted(times)
    assert len(set(times)) > 1
    told = ps.Dataset.range(5).map(lambda x: dt.datetime.now().microsecond).explain()
    assert "Python in order" in told


def test_a_bound_method_sees_its_own_object_change() -> None:
    assert [int(x) for x in ps.Dataset.range(3).map(Counter().call)] == [1, 102, 203]


@pytest.mark.parametrize(
    "function",
    [lambda x: x + dt.datetime.now().microsecond, lambda x: x + len(os.environ["HOME"]), lambda x: x + os.getpid()],
)
def test_what_the_world_decides_is_no_constant(function: Callable[..., Any]) -> None:
    assert "Python in order" in ps.Dataset.range(3).map(function).explain()


def test_what_is_rebound_or_edited_is_seen_by_the_next_iterator(monkeypatch: pytest.MonkeyPatch) -> None:
    table = np.ones(2)
    dataset = ps.Dataset.range(2).map(lambda x: (x + 1) * FACTOR * table)
    assert [x.tolist() for x in dataset] == [[1.0, 1.0], [2.0, 2.0]]
    monkeypatch.setitem(globals(), "FACTOR", 5)
    table[1] = 0
    assert [x.tolist() for x in dataset] == [[5.0, 0.0], [10.0, 0.0]]


PHOTO = np.arange(4 * 5 * 3, dtype=np.uint8).reshape(4, 5, 3)


def test_a_random_op_of_a_constant_draws_for_every_element() -> None:
    def function(x: Any) -> Any:
        return ps.image.random_crop(PHOTO, (2, 2, 3)), x

    compiled = list(ps.Dataset.range(40).map(function).iterator(epoch=1))
    eager = list(ps.Dataset.range(40).map(function, compile=False).iterator(epoch=1))
    assert_same_elements(compiled, eager, "random op of a constant")
    assert len({crop.tobytes() for crop, _ in compiled}) > 1
    assert "image.random_crop" in ps.Dataset.range(2).map(function).explain()


def test_a_file_of_constant_name_is_read_for_every_element(tmp_path: Path) -> None:
    path = str(tmp_path / "numbers")
    Path(path).write_bytes(b"one")
    iterator = ps.Dataset.range(6).map(lambda x: (ps.io.read_file(path), x)).iterator()
    inline = ps.Dataset.range(6).map(lambda x: (ps.io.read_file(path), x))
    one_by_one = iter(inline.with_options(ps.Options(executor="inline", block_size=1)))
    assert next(iterator)[0] == next(one_by_one)[0] == b"one"
    Path(path).write_bytes(b"two")
    assert next(one_by_one)[0] == b"two"
    iterator.close()
