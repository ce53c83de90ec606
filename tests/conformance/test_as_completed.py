"""deterministic=False: the order may change, what comes may not: each element exactly once, whole."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np

from penstock import Dataset, Options
from penstock.testing import collect, freeze
from tests.conformance.registry import Case, double, numbers, stream

AS_COMPLETED = Options(deterministic=False, cpu_budget=4, block_size=1)


def test_each_element_once(case: Case, files: Path) -> None:
    if not case.once or case.endless:
        return
    dataset = case.build(files)
    if repr(dataset).startswith("<penstock.Dataset batch at"):
        dataset = dataset.unbatch()  # rows come in another order, so batches hold other rows
    expected = sorted(map(repr, map(freeze, collect(dataset, 0))))
    got = sorted(map(repr, map(freeze, collect(dataset.with_options(AS_COMPLETED), 0))))
    assert got == expected


def test_results_come_as_they_complete() -> None:
    first_may_go = threading.Event()

    def wait_for_the_others(x: int) -> int:
        if x == 0:
            assert first_may_go.wait(30)
        return x

    options = Options(deterministic=False, block_size=1)
    dataset = numbers(6).map(wait_for_the_others, num_parallel_calls=2).with_options(options)
    with dataset.iterator() as iterator:
        got = [next(iterator) for _ in range(5)]
        first_may_go.set()
        got.append(next(iterator))
    assert got[-1] == 0
    assert sorted(got) == list(range(6))


def test_one_map_alone_may_be_unordered() -> None:
    dataset = numbers(50).map(double, num_parallel_calls=4, deterministic=False).batch(7)
    assert sorted(np.concatenate(collect(dataset))) == list(range(0, 100, 2))


def test_what_is_chosen_by_place_is_chosen_in_order() -> None:
    """zip, enumerate, take, skip and shard over a stream mean places, so their inputs keep their order."""

    def run(dataset: Dataset) -> list[object]:
        return sorted(map(repr, collect(dataset.with_options(AS_COMPLETED))))

    even = numbers(200).map(double).filter(lambda x: True)
    for make in (
        lambda: Dataset.zip(numbers(200).map(double), stream(200)),
        lambda: even.enumerate(),
        lambda: even.take(50),
        lambda: even.skip(50),
        lambda: even.shard(3, 1),
    ):
        assert run(make()) == sorted(map(repr, collect(make())))
