"""A dataset that a function returns gives what it gives alone, whatever it is made of."""

from __future__ import annotations

from pathlib import Path

from penstock import Dataset, Options
from penstock.testing import assert_same_elements, collect
from tests.conformance.registry import Case

_KEPT_DRAWS = {
    "flat_map_cached",
    "cache_of_random",
    "cache_of_shuffle",
    "cache_repeat",
    "cache_images",
    "cache_stream_repeat",
}


def test_nested_is_as_alone(case: Case, files: Path) -> None:
    if case.varies or case.alone or case.name in _KEPT_DRAWS:  # what it draws is keyed by the element it was opened for
        return
    alone = collect(case.build(files), 0, case.limit)
    nested = Dataset.from_tensors(0).flat_map(lambda _: case.build(files))
    got = collect(nested.with_options(Options(block_size=(1, 3, None)[len(case.name) % 3])), 0, case.limit)
    assert_same_elements(got, alone, "nested")


def test_nested_draws_the_same_each_time(case: Case, files: Path) -> None:
    if case.alone:
        return
    nested = Dataset.range(2).flat_map(lambda _: case.build(files).take(9))
    slow = nested.with_options(Options(executor="inline", block_size=1))
    assert_same_elements(collect(nested, 1), collect(slow, 1), "nested")
