"""What becomes of elements that fail: skipped, tried again, ignored, counted, and when there are too many."""

from __future__ import annotations

import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Options, Retry, Spec
from penstock.errors import ClosedError, PenstockWarning, SourceError, TooManyErrorsError, UserFunctionError
from penstock.testing import assert_same_elements, collect
from tests.conformance.registry import Thirds, double, numbers, odd_fails, stream
from tests.conformance.test_errors import WAYS, run

HERE = r"test_bad_elements\.py:\d+"


def fails_on(bad: Callable[[int], bool], kind: type[Exception] = ValueError) -> Callable[[Any], Any]:
    def check(x: Any) -> Any:
        if bad(int(x)):
            raise kind(f"bad: {x}")
        return x

    return check


# --- trying again -----------------------------------------------------------------------------------------------------


class Breaks:
    """Gives x at call number `after` + 1 on it; raises `kind` before. Not known to be pure: one worker, in order."""

    def __init__(self, after: int, kind: type[Exception] = ConnectionError) -> None:
        self.after = after
        self.kind = kind
        self.calls: Counter[int] = Counter()

    def __call__(self, x: Any) -> Any:
        self.calls[int(x)] += 1
        if self.calls[int(x)] <= self.after:
            raise self.kind("broke off")
        return x


def test_retry_calls_again_until_it_comes() -> None:
    for options in WAYS:
        for source in (numbers, stream):
            function = Breaks(2)
            came = collect(source().map(function, on_error=Retry(2, backoff=0)).with_options(options))
            assert_same_elements(came, collect(numbers()))
            assert set(function.calls.values()) == {3}


def test_retry_raises_the_last_error_when_its_calls_are_used_up() -> None:
    function = Breaks(3)
    elements, error = run(numbers().map(function, on_error=Retry(2, backoff=0)))
    assert elements == []
    assert isinstance(error, UserFunctionError)
    assert isinstance(error.__cause__, ConnectionError)
    assert function.calls[0] == 3


def test_retry_leaves_what_does_not_pass() -> None:
    function = Breaks(1, FileNotFoundError)
    _, error = run(numbers().map(function, on_error=Retry(5, backoff=0)))
    assert isinstance(error, UserFunctionError)
    assert function.calls[0] == 1
    asked = Breaks(1, KeyError)
    assert len(collect(numbers().map(asked, on_error=Retry(1, 0, on=(KeyError, OSError))))) == 23


def test_retry_then_skip() -> None:
    dataset = numbers().map(fails_on(lambda x: x % 5 == 0, TimeoutError), on_error=Retry(1, 0, then="skip"))
    with dataset.iterator() as iterator:
        assert len(list(iterator)) == 18
        assert len(iterator.skipped) == 5


def test_retry_of_a_filter_and_of_a_random_map() -> None:
    function = Breaks(1)
    kept = numbers().filter(lambda x: bool(function(x) % 2), on_error=Retry(1, backoff=0))
    assert [int(x) for x in kept] == list(range(1, 23, 2))

    def draws(x: Any, rng: ps.Rng) -> Any:
        first = rng.random()
        function(x)
        return x, first, rng.random()

    plain = collect(numbers().random_map(draws))
    function.calls.clear()
    assert_same_elements(collect(numbers().random_map(draws, on_error=Retry(1, backoff=0))), plain)


def test_waiting_to_try_again_ends_when_the_iterator_is_closed() -> None:
    tried = threading.Event()

    def breaks(x: Any) -> Any:
        tried.set()
        raise ConnectionError

    iterator = numbers().map(breaks, on_error=Retry(9, backoff=10_000)).iterator()

    def consume() -> None:
        with suppress(ClosedError):
            list(iterator)

    consumer = threading.Thread(target=consume)
    consumer.start()
    assert tried.wait(60)
    iterator.close()
    consumer.join(60)
    assert not consumer.is_alive()


def test_skip_hides_no_fault_that_may_pass() -> None:
    for source in (numbers, stream):
        dataset = source().map(fails_on(lambda x: x == 4, ConnectionResetError), on_error="skip")
        elements, error = run(dataset)
        assert_same_elements(elements, [np.int64(x) for x in range(4)])
        assert isinstance(error, UserFunctionError)
        assert "Retry" in str(error.remedy)


# --- ignoring ---------------------------------------------------------------------------------------------------------


def test_ignored_elements_are_counted_located_and_told() -> None:
    dataset = numbers().map(odd_fails).map(double).batch(5).ignore_errors()
    for options in WAYS:
        with dataset.with_options(options).iterator() as iterator:
            assert [len(batch) for batch in iterator] == [5, 5, 2]
            assert len(iterator.skipped) == 11
            assert "element 1 of range" in iterator.skipped[0].origin
            assert "test_bad_elements.py" in iterator.skipped[0].verb
            assert iterator.skipped[0].error == "ValueError: odd: 1"
        assert iterator.stats().skipped == 11


def test_ignored_faults_may_be_of_any_kind() -> None:
    dataset = numbers().map(fails_on(lambda x: x == 4, ConnectionResetError)).ignore_errors()
    assert len(collect(dataset)) == 22


def test_ignored_elements_of_a_source_object() -> None:
    dataset = Dataset.from_source(Thirds(), num_parallel_calls=2).ignore_errors()
    assert dataset.cardinality() == ps.UNKNOWN_CARDINALITY
    for options in WAYS:
        with dataset.with_options(options).iterator() as iterator:
            assert [int(x) for x in iterator] == [x for x in range(30) if x % 3 != 2]
            assert len(iterator.skipped) == 10
    assert "element 2 of from_source" in iterator.skipped[0].origin


def test_log_warning_warns_of_each() -> None:
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        collect(numbers().map(odd_fails).ignore_errors(log_warning=True))
    texts = [str(warning.message) for warning in told if warning.category is PenstockWarning]
    assert all("map at" in text for text in texts)
    left_out = [int(text.rpartition("odd: ")[2].partition(" ")[0]) for text in texts]
    assert sorted(left_out) == list(range(1, 23, 2))  # as it happens, so not always in order


def test_what_is_above_still_fails() -> None:
    elements, error = run(numbers().map(odd_fails).ignore_errors().map(fails_on(lambda x: x == 6)))
    assert [int(x) for x in elements] == [0, 2, 4]
    assert isinstance(error, UserFunctionError)


def test_dataset_below_is_left_as_it_was() -> None:
    below = numbers().map(odd_fails).cache()
    ignoring = below.ignore_errors()
    assert len(collect(ignoring)) == 12
    assert len(collect(ignoring, 1)) == 12
    assert isinstance(run(below)[1], UserFunctionError)
    assert below.cardinality() == 23


def test_generator_that_raises_cannot_go_on_and_says_so() -> None:
    def generate() -> Iterator[int]:
        yield from range(5)
        raise OSError("unplugged")

    elements, error = run(Dataset.from_generator(generate, output_signature=Spec((), np.int64)).ignore_errors())
    assert len(elements) == 5
    assert isinstance(error, SourceError)
    assert "cannot go on" in str(error)


def test_ignored_elements_of_nested_datasets() -> None:
    def child(x: Any) -> Dataset:
        return Dataset.range(int(odd_fails(x))).map(fails_on(lambda y: y == 1))

    for dataset in (numbers(6).flat_map(child), numbers(6).interleave(child, cycle_length=1)):
        with dataset.ignore_errors().iterator() as iterator:
            assert [int(x) for x in iterator] == [0, 0, 2, 3]
            assert len(iterator.skipped) == 5  # 1, 3 and 5, and one in each of 2 and 4


# --- too many ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("wrap", [lambda d: d, lambda d: d.filter(lambda x: True), lambda d: d.batch(1).unbatch()])
def test_more_than_the_share_that_may_be_skipped_ends_the_iteration(wrap: Callable[[Dataset], Dataset]) -> None:
    bad = {50, 120, 121, 122, 200, 201, 202, 203, 204, 205}

    def make() -> Dataset:
        return wrap(Dataset.range(400)).map(fails_on(bad.__contains__), on_error="skip").map(double)

    for options in WAYS:
        elements, error = run(make(), Options(max_error_ratio=0.03).merged(options))
        # 4 of 123 are above 3 %, the 3 of 122 before are not
        assert_same_elements(elements, [np.int64(2 * x) for x in range(122) if x not in bad])
        assert isinstance(error, TooManyErrorsError)
        assert "4 of 123" in str(error.got)
        assert "bad: 122" in str(error.got)
        assert "test_bad_elements.py" in str(error)
        elements, error = run(make(), Options(max_error_ratio=0.2).merged(options))
        assert (len(elements), error) == (390, None)


def test_share_of_a_filter_counts_what_it_lets_through() -> None:
    dataset = Dataset.range(1000).filter(lambda x: bool(odd_fails(x % 10 // 9) or x % 10 < 5), on_error="skip")
    for options in WAYS:
        elements, error = run(dataset, Options(max_error_ratio=0.1).merged(options))
        # 11 skipped of 66: 55 of the first 110 were let through, as were 1 of 2 of the rest
        assert len(elements) == 55
        assert isinstance(error, TooManyErrorsError)


def test_no_error_at_all_may_be_asked_for() -> None:
    dataset = numbers().map(fails_on(lambda x: x == 7), on_error="skip")
    for options in WAYS:
        elements, error = run(dataset, Options(max_error_ratio=0).merged(options))
        assert len(elements) == 7
        assert isinstance(error, TooManyErrorsError)


def test_share_of_source_objects_and_scans() -> None:
    for dataset in (
        Dataset.from_source(Thirds()).ignore_errors(),
        Dataset.range(30).scan(0, lambda s, x: (s, fails_on(lambda x: x % 3 == 2)(x))).ignore_errors(),
    ):
        for options in WAYS:
            elements, error = run(dataset, Options(max_error_ratio=0.05).merged(options))
            assert isinstance(error, TooManyErrorsError)
            assert [int(x) for x in elements] == [x for x in range(17) if x % 3 != 2]  # six of a hundred
