"""Interrupted equals uninterrupted, at every step; what cannot be resumed says so, with verb and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from penstock import Dataset, Options
from penstock.errors import NotResumableError, StateMismatchError
from penstock.testing import assert_resumable, assert_same_elements, collect
from tests.conformance.registry import Case, double, is_even, logged, numbers, odd_fails, stream


def test_interrupted_anywhere_goes_on(indexed: Case, files: Path) -> None:
    assert_resumable(lambda: indexed.build(files), epoch=1, limit=indexed.limit)


def test_stream_refuses_with_verb_and_line(streaming: Case, files: Path) -> None:
    with streaming.build(files).iterator() as iterator:
        with pytest.raises(NotResumableError, match=rf"{streaming.streams} at .*registry\.py:\d+"):
            iterator.state_dict()
        with pytest.raises(NotResumableError):
            iterator.load_state_dict({})


def test_as_completed_refuses() -> None:
    iterator = numbers().map(double).with_options(Options(deterministic=False)).iterator()
    with pytest.raises(NotResumableError, match="as they complete"):
        iterator.state_dict()


def test_state_counts_what_was_received_not_what_is_ready() -> None:
    with numbers(1000).map(double).batch(3).prefetch(50).iterator() as iterator:
        for position in range(5):
            state = iterator.state_dict()
            assert state["position"] == position
            next(iterator)
        assert len(json.dumps(state)) < 1000


def test_state_after_the_end_is_the_end() -> None:
    iterator = numbers(5).iterator()
    list(iterator)
    state = iterator.state_dict()
    again = numbers(5).iterator()
    again.load_state_dict(state)
    assert list(again) == []


def test_state_taken_in_another_way_of_running_fits() -> None:
    make = lambda: numbers(100).shuffle().map(logged(double)).batch(7)  # noqa: E731
    whole = collect(make())
    with make().with_options(Options(block_size=3, executor="inline")).iterator() as iterator:
        before = [next(iterator) for _ in range(4)]
        state = iterator.state_dict()
    with make().with_options(Options(cpu_budget=1)).prefetch(4).iterator() as iterator:
        iterator.load_state_dict(state)
        assert_same_elements([*before, *iterator], whole)


def test_iterator_may_be_wound_back() -> None:
    with numbers(20).shuffle().batch(3).iterator(epoch=4) as iterator:
        start = iterator.state_dict()
        first = [next(iterator), next(iterator)]
        iterator.load_state_dict(start)
        assert_same_elements(iterator, collect(numbers(20).shuffle().batch(3), 4))
        assert len(first) == 2


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        (lambda: numbers(30).shuffle().batch(4), r"range\(start=0, stop=30.* expected .*range\(start=0, stop=23"),
        (lambda: numbers().shuffle(seed=3).batch(4), "seed=3"),
        (lambda: numbers().shuffle().batch(5), "batch_size=5"),
        (lambda: numbers().shuffle().batch(4).take(2), "take"),
        (lambda: numbers().map(double).batch(4), "shuffle"),
    ],
)
def test_state_of_another_pipeline_is_refused_naming_what_differs(changed: Callable[[], Dataset], named: str) -> None:
    with changed().iterator() as iterator:
        state = iterator.state_dict()
    with numbers().shuffle().batch(4).iterator() as iterator, pytest.raises(StateMismatchError, match=named):
        iterator.load_state_dict(state)


@pytest.mark.parametrize(
    "broken",
    [
        None,
        {},
        [],
        {"version": 99},
        {"position": -1},
        {"position": "three"},
        {"position": True},
        {"epoch": -1},
        {"epoch": "one"},
        {"seed": "x"},
        {"seed": None},
    ],
)
def test_broken_state_is_refused(broken: object) -> None:
    with numbers().batch(4).iterator() as iterator:
        state = iterator.state_dict()
        bad = {**state, **broken} if isinstance(broken, dict) and broken else broken
        with pytest.raises(StateMismatchError):
            iterator.load_state_dict(bad)  # type: ignore[arg-type]
        assert len(list(iterator)) == 6


def test_obstacle_is_the_first_from_the_source() -> None:
    dataset = stream().filter(is_even).map(odd_fails, on_error="skip")
    with dataset.iterator() as iterator, pytest.raises(NotResumableError, match="from_generator at"):
        iterator.state_dict()
