"""`explain()`: the graph and what rules change in it, each function with place, reason and cure, the stages."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import penstock as ps

KEPT: list[Any] = []


def lines(dataset: ps.Dataset) -> list[str]:
    return dataset.with_options(ps.Options(cpu_budget=2)).explain().splitlines()


def section(dataset: ps.Dataset, title: str) -> list[str]:
    """The indented lines under `title`."""
    found = lines(dataset)
    begin = found.index(f"{title}:") + 1
    count = next((n for n, line in enumerate(found[begin:]) if not line.startswith(" ")), None)
    return [line[2:] for line in found[begin : None if count is None else begin + count]]


def test_the_graph_is_printed_before_and_after_and_rules_as_differences() -> None:
    dataset = ps.Dataset.range(9).take(5).map(lambda x: x + 1)
    told = lines(dataset)
    assert told.count("graph:") == 1
    assert told.count("graph after all rules:") == 1
    changed = section(dataset, "slices_to_strides")
    assert [line[:8] for line in changed] == ["- take a", "+ take a"]
    assert len(section(dataset, "graph after all rules")) == 3


def test_a_graph_that_no_rule_changes_is_printed_once() -> None:
    told = ps.Dataset.range(9).explain()
    assert "graph after all rules" not in told


def test_functions_have_no_heading_where_there_are_none() -> None:
    assert "functions:" not in ps.Dataset.range(9).batch(2).explain()


def test_a_compiled_function_is_told_with_its_steps() -> None:
    told = section(ps.Dataset.range(9).map(lambda x: np.exp(x + 1)), "functions")
    assert told[0].endswith(": compiled, 1 on whole blocks, 1 row by row, into")
    assert told[1:] == ["  %1 = np.add(%0, 1)", "  %2 = np.exp(%1)", "  return %2"]


def test_joined_maps_are_told_together() -> None:
    told = section(ps.Dataset.range(9).map(lambda x: (x, x * 2)).map(lambda x, y: y + 1), "functions")
    assert " + map at " in told[0]
    assert told[0].endswith(": one program, compiled, 2 on whole blocks, into")
    assert told[-1] == "  return %2"


def test_ragged_rows_are_told() -> None:
    def rows() -> Iterator[np.ndarray[Any, Any]]:
        yield from (np.zeros(1000 + n) for n in range(3))

    dataset = ps.Dataset.from_generator(rows, output_signature=ps.Spec((None,), np.float64)).map(lambda x: x / 2)
    assert "row by row where rows differ in shape" in section(dataset, "functions")[0]


def test_an_element_that_fails_leaves_what_follows_unknown() -> None:
    dataset = ps.Dataset.range(9).map(lambda x: 1 // 0, compile=False).map(lambda x: x + 1)
    assert "not known: the element before it could not be computed" in section(dataset, "functions")[-1]


class Scaler:
    factor = 2

    def apply(self, x: Any) -> Any:
        return x * self.factor


def _assigns(x: Any) -> Any:
    x[0] = 1
    return x


def _catches(x: Any) -> Any:
    try:
        return 1 / x
    except ZeroDivisionError:
        return 0.0


def _appends(x: Any) -> Any:
    KEPT.append(x)
    return x


PLACES: dict[str, tuple[Any, str, str]] = {
    "random": (lambda x: x + random.random(), "Python in order, because it", "random_map(fn)"),
    "method": (Scaler().apply, "Python in order, because it is a method", "a plain function"),
    "append": (_appends, "Python in order, because it uses .append", "scan(state, fn)"),
    "assignment": (_assigns, "Python in order, because it assigns to an item", "numpy.where"),
    "try": (_catches, "Python in order, because it catches exceptions", 'on_error="skip"'),
    "branch": (lambda x: x if x > 2 else -x, "Python in threads", "numpy.where(condition, a, b)"),
    "isinstance": (lambda x: isinstance(x, int), "Python in threads", "dtype, shape or numpy.where"),
    "loop": (lambda x: sum(v for v in np.stack([x, x])), "Python in threads", "range(constant)"),
    "no_rule": (lambda x: np.fft.fft(np.stack([x, x])).real, "Python in threads", "traced-functions.md"),
    "int": (lambda x: int(x), "Python in threads", ".astype(int)"),
    "print": (lambda x: print(x), "Python in order, because it uses 'print'", "num_parallel_calls=N"),  # noqa: T201  # never called
    "global": (lambda x: _count(x), "Python in order, because it assigns to the global 'COUNT'", "scan(state, fn)"),
}
COUNT = 0


def _count(x: Any) -> Any:
    global COUNT  # noqa: PLW0603  # what is tested
    COUNT += 1
    return x


@pytest.mark.parametrize("name", PLACES)
def test_python_is_told_with_place_reason_and_cure(name: str) -> None:
    function, place, cure = PLACES[name]
    told = "\n".join(section(ps.Dataset.range(9).map(function), "functions"))
    assert place in told
    assert cure in told


def test_places_the_user_chose_are_told() -> None:
    numbers = ps.Dataset.range(9)
    branch = PLACES["branch"][0]
    assert "Python in processes" in section(numbers.map(branch, executor="processes"), "functions")[0]
    assert "Python in order" in section(numbers.map(branch, num_parallel_calls=None), "functions")[0]
    assert "is under compile=False" in section(numbers.map(lambda x: x, compile=False), "functions")[0]
    assert "Python in order" in section(numbers.take_while(lambda x: bool(x < 3)), "functions")[0]
