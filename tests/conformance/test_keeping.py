"""Caches keep the bytes: cached equals uncached, beyond the budget too, and what is above draws as without one."""

from __future__ import annotations

import tracemalloc
import warnings
from pathlib import Path

import numpy as np
import pytest

from penstock import INFINITE_CARDINALITY, Dataset, Options, Ragged, Spec
from penstock.errors import PenstockWarning, StackError, UnknownLengthError
from penstock.testing import assert_same_elements, collect
from tests.conformance.registry import Case, double, numbers, stream, wide


def test_cached_equals_uncached_each_time(case: Case, files: Path) -> None:
    if case.build(files).cardinality() == INFINITE_CARDINALITY:
        return
    plain = collect(case.build(files), 0, case.limit)
    kept = case.build(files).cache()
    for epoch in range(3):
        assert_same_elements(collect(kept, epoch, case.limit), plain, f"epoch {epoch}")


def test_partly_read_cache_is_right_afterwards(case: Case, files: Path) -> None:
    if case.build(files).cardinality() == INFINITE_CARDINALITY:
        return
    plain = collect(case.build(files), 0, case.limit)
    kept = case.build(files).cache()
    collect(kept, 0, 3)
    assert_same_elements(collect(kept, 1, case.limit), plain)


def test_over_budget_equals_uncached(case: Case, files: Path) -> None:
    if case.build(files).cardinality() == INFINITE_CARDINALITY:
        return
    plain = collect(case.build(files), 0, case.limit)
    kept = case.build(files).cache().with_options(Options(cache_budget=50))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PenstockWarning)
        for epoch in range(2):
            assert_same_elements(collect(kept, epoch, case.limit), plain, f"epoch {epoch}")


def test_endless_input_is_refused() -> None:
    for endless in (numbers().repeat(), stream().repeat(), numbers().repeat().shuffle(3).batch(2)):
        with pytest.raises(UnknownLengthError, match=r"cache of an endless dataset.*test_keeping\.py.*before repeat"):
            endless.cache()


def test_function_below_a_cache_runs_once_an_element() -> None:
    for dataset in (numbers(), stream()):
        calls: list[int] = []
        kept = dataset.map(lambda x, calls=calls: calls.append(int(x)) or x).cache().repeat(2)
        list(kept)
        list(kept)
        assert sorted(calls) == list(range(23))


@pytest.mark.parametrize(
    "dataset",
    [wide(), Dataset.from_generator(lambda: iter(np.ones((19, 700))), output_signature=Spec((700,), np.float64))],
)
def test_cache_over_budget_says_so_once(dataset: Dataset) -> None:
    kept = dataset.map(lambda x: x + 1).cache().repeat(2).with_options(Options(cache_budget="20 kB"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        for _ in range(3):
            list(kept)
    assert len(told) == 1
    assert told[0].category is PenstockWarning
    assert "cache at" in str(told[0].message)
    assert "cache_budget" in str(told[0].message)


def test_cache_over_budget_keeps_what_fits() -> None:
    calls: list[int] = []
    dataset = wide().map(lambda x: calls.append(int(x[0])) or x).cache().with_options(Options(cache_budget=5600 * 5))
    with pytest.warns(PenstockWarning):
        list(dataset)
    list(dataset)
    assert len(calls) == 19 + 14


def test_caches_are_owned_by_their_dataset() -> None:
    calls: list[int] = []
    kept = numbers(5).map(lambda x: calls.append(int(x)) or x).cache()
    list(kept.map(double))
    list(kept.shuffle())
    assert len(calls) == 5
    list(numbers(5).map(lambda x: calls.append(int(x)) or x).cache())
    assert len(calls) == 10


def test_changing_what_was_delivered_does_not_change_the_cache() -> None:
    for dataset in (
        numbers(5).map(lambda x: np.full(3, x)),
        wide(5).map(lambda x: x + 1),
        stream(5).map(lambda x: np.full(3, x)),
    ):
        kept = dataset.cache()
        plain = [element.copy() for element in kept]
        for element in kept:
            if element.flags.writeable:
                element[:] = -1
        assert_same_elements(list(kept), plain)


def test_cache_reserves_no_more_than_its_budget() -> None:
    many = Dataset.range(10**6).map(lambda x: np.zeros(250) + x).cache()
    tracemalloc.start()
    try:
        with many.with_options(Options(cache_budget="8 MB", block_size=2)).iterator() as iterator:
            next(iterator)
        assert tracemalloc.get_traced_memory()[1] < 10**8
    finally:
        tracemalloc.stop()


def test_delivered_batches_are_writable_and_aligned(case: Case, files: Path) -> None:
    try:
        batches = collect(case.build(files).batch(2).take(2))
    except StackError:  # of rows that differ in shape
        return
    for leaf in [leaf for batch in batches for leaf in _arrays(batch)]:
        assert leaf.flags.writeable
        assert leaf.flags.c_contiguous
        assert leaf.dtype == object or leaf.size == 0 or leaf.ctypes.data % 64 == 0


def _arrays(value: object) -> list[np.ndarray]:
    if isinstance(value, dict):
        return [leaf for part in value.values() for leaf in _arrays(part)]
    if isinstance(value, tuple):
        return [leaf for part in value for leaf in _arrays(part)]
    if isinstance(value, Ragged):  # which is immutable
        return []
    assert isinstance(value, np.ndarray)
    return [value]
