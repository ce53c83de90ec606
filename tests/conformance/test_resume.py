"""Interrupted equals uninterrupted, at every step; what cannot be resumed says so, with verb and line."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import Dataset, Options, Spec
from penstock.errors import NotResumableError, StateMismatchError
from penstock.optimize.order import RULE_NAMES
from penstock.testing import assert_resumable, assert_same_elements, collect
from tests.conformance.registry import Case, double, is_even, logged, numbers, stream

BOTH_WAYS = (
    (Options(block_size=1, executor="inline"), Options(block_size=5)),
    (Options(block_size=3), Options(block_size=2, cpu_budget=1)),
    (Options(block_size=4), Options(skip_rules=frozenset(RULE_NAMES))),
    (Options(skip_rules=frozenset(RULE_NAMES), block_size=2), Options()),
)


def test_interrupted_anywhere_goes_on(case: Case, files: Path) -> None:
    assert_resumable(lambda: case.build(files), epoch=1, limit=case.limit)


@pytest.mark.parametrize("turn", [0, 1])
def test_state_of_one_way_of_running_resumes_in_another(case: Case, turn: int, files: Path) -> None:
    before, after = BOTH_WAYS[(len(case.name) + 2 * turn) % len(BOTH_WAYS)]  # two of them for each case
    whole = collect(case.build(files), 1, case.limit)
    for step in sorted({1, len(whole) // 2, len(whole) - 1} & set(range(len(whole) + 1))):
        with case.build(files).with_options(before).iterator(epoch=1) as iterator:
            received = [next(iterator) for _ in range(step)]
            state = json.loads(json.dumps(iterator.state_dict()))
        with case.build(files).with_options(after).iterator() as iterator:
            iterator.load_state_dict(state)
            rest = list(islice(iterator, len(whole) - step))
        assert_same_elements([*received, *rest], whole, f"after {step} elements")


def test_a_resumed_iterator_resumes_again(streaming: Case, files: Path) -> None:
    whole = collect(streaming.build(files), 0, streaming.limit)
    received: list[Any] = []
    state = None
    for begin in range(0, len(whole), 3):
        with streaming.build(files).with_options(Options(block_size=2)).iterator(epoch=0) as iterator:
            if state is not None:
                iterator.load_state_dict(state)
            received += islice(iterator, min(3, len(whole) - begin))
            state = json.loads(json.dumps(iterator.state_dict()))
    assert_same_elements(received, whole)


def _computed_again(make: Callable[[list[int]], Dataset], step: int) -> int:
    """How many elements a pipeline that logs what its first map computes computes again when resumed."""
    first, second = [], []
    with make(first).with_options(Options(executor="inline", block_size=4)).iterator() as iterator:
        for _ in range(step):
            next(iterator)
        state = iterator.state_dict()
    with make(second).with_options(Options(executor="inline", block_size=4)).iterator() as iterator:
        iterator.load_state_dict(state)
        next(iterator)
    return len(set(first) & set(second))


def _noted(log: list[int]) -> Callable[[Any], Any]:
    def note(x: Any) -> Any:
        log.append(int(x))
        return x

    return note


def _ten(x: Any) -> Dataset:
    return Dataset.range(10)


def _running(total: Any, x: Any) -> tuple[Any, Any]:
    return total + x, total


@pytest.mark.parametrize(
    ("make", "bound"),
    [
        (lambda log: numbers(4000).map(_noted(log)).filter(is_even), 16),
        (lambda log: numbers(4000).map(_noted(log)).filter(is_even).batch(8), 32),
        (lambda log: numbers(4000).map(_noted(log)).filter(is_even).enumerate().skip(3).batch(8).prefetch(3), 40),
        (lambda log: Dataset.zip((numbers(4000).map(_noted(log)).filter(is_even), numbers())).repeat(), 40),
        (lambda log: numbers(4000).map(_noted(log)).filter(is_even).shuffle(10).map(double), 600),
        (lambda log: numbers(4000).map(_noted(log)).scan(np.int64(0), _running), 16),
        (lambda log: numbers(4000).map(_noted(log)).window(5, shift=2).map(lambda w: next(iter(w))), 40),
        (lambda log: Dataset.sample_from_datasets([stream(4000).map(_noted(log)), stream(4000)], seed=1), 80),
        (lambda log: numbers(400).map(_noted(log)).flat_map(_ten), 16),
        (lambda log: numbers(400).map(_noted(log)).interleave(_ten, 3, 2), 24),
        (lambda log: numbers(400).map(_noted(log)).interleave(_ten, 3, num_parallel_calls=2), 40),
    ],
    ids=[
        "filter",
        "batch",
        "counts",
        "zip in repeat",
        "shuffle",
        "scan",
        "window",
        "sample",
        "flat_map",
        "interleave",
        "parallel interleave",
    ],
)
def test_resuming_a_stream_computes_little_again(make: Callable[[list[int]], Dataset], bound: int) -> None:
    assert 0 < _computed_again(make, 100) <= bound


def test_state_of_a_stream_is_small() -> None:
    make = lambda: stream(5000).filter(is_even).map(logged(double)).enumerate().batch(3)  # noqa: E731
    with make().iterator() as iterator:
        for _ in range(500):
            next(iterator)
        assert len(json.dumps(iterator.state_dict())) < 1200


def test_a_generator_that_gives_less_when_replayed_is_told() -> None:
    left = [23, 5]
    make = lambda: Dataset.from_generator(lambda: iter(range(left[0])), output_signature=Spec((), np.int64))  # noqa: E731
    with make().iterator() as iterator:
        for _ in range(9):
            next(iterator)
        state = iterator.state_dict()
    left[0] = 5
    with make().iterator() as iterator:
        iterator.load_state_dict(state)
        with pytest.raises(NotResumableError, match=r"from_generator at .*test_resume\.py:\d+: .*4 elements too few"):
            next(iterator)


def test_changed_pipeline_goes_on_at_its_position_when_told_to() -> None:
    with numbers().shuffle(seed=1).batch(4).iterator() as iterator:
        next(iterator)
        next(iterator)
        state = iterator.state_dict()
    with numbers().shuffle(seed=2).batch(2).iterator() as iterator:
        iterator.load_state_dict(state, on_change="keep_position")
        assert_same_elements(iterator, collect(numbers().shuffle(seed=2).batch(2))[4:])
    with stream().batch(8).iterator() as iterator:
        iterator.load_state_dict(state, on_change="keep_position")
        assert_same_elements(iterator, collect(stream().batch(8))[1:])
    with (
        numbers().batch(3).iterator() as iterator,
        pytest.raises(StateMismatchError, match=r"8 elements received in batches of 4.*batch size 3"),
    ):
        iterator.load_state_dict(state, on_change="keep_position")


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
        (lambda: numbers(30).shuffle().batch(4), r"range at .*registry\.py:\d+: stop 30 became 23"),
        (lambda: numbers().shuffle(seed=3).batch(4), r"shuffle at .*test_resume\.py:\d+: seed 3 became None"),
        (lambda: numbers().shuffle().batch(5), r"batch at .*test_resume\.py:\d+: batch_size 5 became 4"),
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
