"""Verbs with a memory, at their edges: what a function that fails leaves, what is pulled, what a state may be."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from penstock import Dataset, Options, Spec
from penstock.errors import StructureError, UserFunctionError
from penstock.testing import assert_same_elements, collect
from tests.conformance.registry import counting, double, is_even, numbers, stream
from tests.conformance.test_errors import WAYS, fail_at, fails

HERE = r"test_in_order\.py:\d+"


@pytest.mark.parametrize("source", [numbers, stream])
def test_scan_that_raises(source: Callable[[], Dataset]) -> None:
    def step(state: Any, x: Any) -> Any:
        return state + x, fail_at(9)(x) + state

    before = [np.int64(2 * x + x * (x - 1) // 2) for x in range(9)]
    error = fails(lambda: source().scan(0, step), UserFunctionError, rf"scan at .*{HERE}, element 9 of", before)
    assert isinstance(error.__cause__, KeyError)


@pytest.mark.parametrize(
    ("odd", "text"),
    [
        (lambda s, x: s, "expected a pair"),
        (lambda s, x: (s, x, x), "expected a pair"),
        (lambda s, x: (s + 0.5, x), "float64.*expected int64"),
        (lambda s, x: ((s, s), x), "expected int64"),
        (lambda s, x: (s, float(x)), "float64.*expected int64"),
        (lambda s, x: (s, (x, x)), "expected leaf|expected int64"),
    ],
)
def test_scan_whose_results_change(odd: Callable[..., Any], text: str) -> None:
    def step(state: Any, x: Any) -> Any:
        return odd(state, x) if x == 5 else (state, x)

    for source in (numbers, stream):
        error = fails(
            lambda source=source: source().scan(0, step), StructureError, text, [np.int64(x) for x in range(5)]
        )
        assert "element 5" in str(error)
        assert "test_in_order.py" in str(error)


def test_scan_begins_anew_in_each_epoch_and_pass() -> None:
    running = numbers(4).scan(0, lambda s, x: (s + x, s + x))
    assert [int(x) for x in running.repeat(2)] == [0, 1, 3, 6] * 2
    assert [int(x) for x in running] == [0, 1, 3, 6]


def test_take_while_whose_predicate_raises_or_gives_no_bool() -> None:
    fails(
        lambda: numbers().take_while(lambda x: bool(fail_at(4)(x) >= 0)),
        UserFunctionError,
        rf"take_while at .*{HERE}.*predicate",
        [np.int64(x) for x in range(4)],
    )
    fails(
        lambda: numbers().take_while(lambda x: x if x == 3 else True),
        StructureError,
        rf"take_while at .*{HERE}.*one bool",
        [np.int64(x) for x in range(3)],
    )


def test_take_while_never_sees_what_follows() -> None:
    for options in WAYS:
        for source in (numbers, stream):
            until_six = source().map(fail_at(7)).take_while(lambda x: x < 12)
            assert_same_elements(collect(until_six.with_options(options)), [np.int64(2 * x) for x in range(6)])
            calls: list[int] = []
            counted = source().take_while(lambda x, calls=calls: calls.append(int(x)) or bool(x < 6))
            assert len(collect(counted.with_options(options))) == 6
            assert calls == list(range(7))


def test_take_while_ends_its_generator() -> None:
    ended = []

    def generate() -> Iterator[int]:
        try:
            yield from counting(10**9)()
        finally:
            ended.append(True)

    endless = Dataset.from_generator(generate, output_signature=Spec((), np.int64))
    for options in (Options(), Options(executor="inline")):
        assert len(collect(endless.take_while(lambda x: x < 5).with_options(options))) == 5
    assert ended == [True, True]


def test_unique_compares_by_value() -> None:
    values = np.array([0.0, -0.0, np.nan, -np.nan, 1.0, 1.0])
    for kind in (np.float16, np.float32, np.float64):
        assert_same_elements(
            collect(Dataset.from_tensor_slices(values.astype(kind)).unique()), values.astype(kind)[[0, 2, 4]]
        )
    rows = Dataset.from_tensor_slices(np.array([[1, 2], [2, 1], [1, 2]])).unique()
    assert len(collect(rows)) == 2
    pairs = Dataset.from_tensor_slices(([1, 1, 2, 1], ["a", "b", "a", "b"])).unique()
    assert [(int(n), text) for n, text in pairs] == [(1, "a"), (1, "b"), (2, "a")]


def test_asserted_stream_may_be_batched_exactly() -> None:
    held = stream().filter(is_even).assert_cardinality(12).batch(4)
    assert held.element_spec == Spec((4,), np.int64)
    assert_same_elements(collect(held), [np.arange(start, start + 8, 2) for start in (0, 8, 16)])


def test_function_above_is_told_the_origin_of_what_was_chosen() -> None:
    mixture = Dataset.choose_from_datasets([numbers(), numbers().map(double)], Dataset.range(2).repeat())
    fails(
        lambda: mixture.map(fail_at(4)),
        UserFunctionError,
        "element 2 of range",
        [np.int64(2 * x) for x in (0, 0, 1, 2, 2)],
    )
