"""Several datasets by turns: who comes when, what ends it, and what is said of choices that are none."""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import StructureError, UserFunctionError
from tests.unit.verbs.runs import until_error

D = ps.Dataset


def listed(dataset: ps.Dataset, epoch: int = 0, limit: int | None = None) -> list[Any]:
    taken = dataset if limit is None else dataset.take(limit)
    return [np.asarray(x).tolist() for x in taken.iterator(epoch=epoch)]


def constants() -> list[ps.Dataset]:
    return [D.from_tensors(k).repeat() for k in range(3)]


def test_sampling_follows_the_weights() -> None:
    weights = [0.1, 0.6, 0.3]
    seen = Counter(listed(D.sample_from_datasets(constants(), weights, seed=4), limit=20_000))
    for number, weight in enumerate(weights):
        assert abs(seen[number] / 20_000 - weight) < 0.012  # 3.5 standard deviations


def test_sampling_without_weights_is_even() -> None:
    seen = Counter(listed(D.sample_from_datasets(constants(), seed=1), limit=9000))
    assert all(abs(seen[number] / 9000 - 1 / 3) < 0.018 for number in range(3))


def test_sampling_depends_on_seed_and_epoch_alone() -> None:
    def draw(seed: int, epoch: int, rerandomizes: bool | None = None) -> list[Any]:
        mixture = D.sample_from_datasets(constants(), seed=seed, rerandomize_each_iteration=rerandomizes)
        return listed(mixture, epoch, 60)

    assert draw(1, 0) == draw(1, 0)
    assert len({tuple(draw(seed, epoch)) for seed in (1, 2) for epoch in (0, 1)}) == 4
    assert draw(1, 0, False) == draw(1, 5, False)


def test_sampling_gives_each_element_once_and_in_its_own_order() -> None:
    parts = [D.range(0, 30), D.range(100, 150), D.range(200, 205)]
    for make in (lambda: parts, lambda: [part.filter(lambda x: True) for part in parts]):
        mixture = listed(D.sample_from_datasets(make(), [0.2, 0.5, 0.3], seed=2))
        assert len(mixture) == 85
        for part in parts:
            wanted = listed(part)
            assert [x for x in mixture if x in wanted] == wanted


def test_sampling_stops_at_the_first_that_is_drawn_and_empty() -> None:
    for seed in range(5):
        mixture = D.sample_from_datasets([D.range(3), D.range(10, 90)], seed=seed, stop_on_empty_dataset=True)
        without = D.sample_from_datasets([D.range(3), D.range(10, 90)], seed=seed)
        short = listed(mixture)
        assert short == listed(without)[: len(short)]
        assert [x for x in short if x < 10] == [0, 1, 2]


def test_sampling_leaves_out_what_has_no_weight() -> None:
    assert listed(D.sample_from_datasets([D.range(3), D.range(9)], [1.0, 0.0])) == [0, 1, 2]


def test_sampling_by_a_dataset_of_weights() -> None:
    weights = D.from_tensor_slices(np.eye(3)[[2, 0, 0, 1, 2]])
    assert listed(D.sample_from_datasets(constants(), weights)) == [2, 0, 0, 1, 2]
    nested = D.from_tensors(np.array([[0.25, 0.75, 0.0]])).repeat()
    seen = Counter(listed(D.sample_from_datasets(constants(), nested, seed=3), limit=4000))
    assert abs(seen[0] / 4000 - 0.25) < 0.025
    assert seen[2] == 0


@pytest.mark.parametrize("bad", [[1.0, -1.0, 1.0], [0.0, 0.0, 0.0], [1.0, np.nan, 1.0], [1.0, 2.0]])
def test_weights_that_are_none_are_told_where_they_come(bad: list[float]) -> None:
    weights = D.from_source([np.array([1.0, 0.0, 0.0])] * 4 + [np.array(bad)])
    for size in (1, 3, None):
        came, error = until_error(D.sample_from_datasets(constants(), weights), size)
        assert came == [0] * 4
        assert isinstance(error, StructureError)
        assert re.search("element 4 of from_source.*3 numbers", str(error))


def test_choosing_ends_with_the_choices_or_the_first_that_is_empty() -> None:
    parts = [D.range(3), D.range(10, 20)]
    choices = D.from_tensor_slices([0, 1, 1, 0, 0, 0, 1])
    assert listed(D.choose_from_datasets(parts, choices)) == [0, 10, 11, 1, 2]
    assert listed(D.choose_from_datasets(parts, choices, stop_on_empty_dataset=False)) == [0, 10, 11, 1, 2, 12]
    assert listed(D.choose_from_datasets(parts, choices.take(2))) == [0, 10]


@pytest.mark.parametrize("bad", [-1, 2, 99])
def test_choice_that_is_none_is_told_where_it_comes(bad: int) -> None:
    choices = D.from_tensor_slices([0, 1, 1, 0, bad, 0])
    for size in (1, 2, None):
        came, error = until_error(D.choose_from_datasets([D.range(30), D.range(30)], choices), size)
        assert came == [0, 0, 1, 1]
        assert isinstance(error, StructureError)
        assert re.search(f"choose_from_datasets at .*element 4 .*{bad}.*from 0 to 1", str(error))


def test_failure_of_an_input_comes_when_it_is_its_turn() -> None:
    def fifth_fails(x: Any) -> Any:
        if x == 5:
            raise ValueError("five")
        return x

    for size in (1, 3, None):
        mixture = D.choose_from_datasets([D.range(9).map(fifth_fails), D.range(50, 90)], D.range(2).repeat())
        came, error = until_error(mixture, size)
        assert isinstance(error, UserFunctionError)
        assert "element 5" in str(error)
        assert came == [0, 50, 1, 51, 2, 52, 3, 53, 4, 54]


def test_inputs_found_to_differ_are_told_where_they_do() -> None:
    other = D.range(50, 60).map(lambda x: (x, x))
    choices = D.from_tensor_slices([0, 0, 1])
    for mixture in (D.choose_from_datasets([D.range(9), other], choices), D.mix([D.range(9), other], [2, 1])):
        for size in (1, 3, None):
            came, error = until_error(mixture, size)
            assert isinstance(error, StructureError)
            assert re.search(r"\(int64\[\], int64\[\]\).*expected int64\[\]", str(error))
            assert came == [0, 1][: len(came)]
            assert came


def test_mixture_is_even_and_ends_before_what_is_lacking() -> None:
    assert listed(D.mix([D.range(4), D.range(50, 90)])) == [0, 50, 1, 51, 2, 52, 3, 53]
    assert listed(D.mix([D.range(2), D.range(50, 90)], [1, 3])) == [0, 50, 51, 52, 1, 53, 54, 55]
    assert listed(D.mix([D.range(5), D.range(50, 90)], [1, 0])) == list(range(5))


def test_mixture_has_random_access_and_a_state_of_one_number() -> None:
    mixture = D.mix([D.range(10**9), D.range(10**9).map(lambda x: -x)], [0.7, 0.3])
    assert len(mixture) == 1_428_571_428
    assert [int(mixture[place]) for place in (0, 1, -1)] == [0, 1, int(mixture[len(mixture) - 1])]
    iterator = mixture.shuffle().batch(4).iterator()
    next(iterator)
    assert iterator.state_dict()["position"] == 1
    iterator.close()


def test_mixture_of_streams_is_the_same_mixture() -> None:
    indexed = listed(D.mix([D.range(9), D.range(50, 99), D.range(200, 220)], [2, 5, 3]))
    streams = [part.filter(lambda x: True) for part in (D.range(9), D.range(50, 99), D.range(200, 220))]
    assert listed(D.mix(streams, [2, 5, 3])) == indexed


# --- resampling -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("initial", [None, [0.9, 0.1]])
def test_resampling_reaches_the_target(initial: list[float] | None) -> None:
    skewed = D.range(40_000).rejection_resample(lambda x: (x % 10 == 0) * 1, [0.5, 0.5], initial, seed=1)
    classes = Counter(int(label) for label, _ in skewed.iterator(epoch=0))
    kept = sum(classes.values())
    assert abs(classes[1] / kept - 0.5) < 0.02
    assert abs(kept / 40_000 - 0.2) < 0.01  # 1 / max(target / initial) of all


def test_resampling_keeps_all_when_nothing_is_to_change() -> None:
    assert len(list(D.range(500).rejection_resample(lambda x: x % 2, [0.5, 0.5], [0.5, 0.5]))) == 500


def test_resampling_draws_by_the_identity_of_each_element() -> None:
    def kept(dataset: ps.Dataset) -> set[int]:
        resampled = dataset.rejection_resample(lambda x: x % 2, [0.2, 0.8], [0.5, 0.5], seed=3)
        return {int(x) for _, x in resampled.iterator(epoch=0)}

    assert kept(D.range(200).shuffle(seed=1)) == kept(D.range(200).shuffle(seed=2))


@pytest.mark.parametrize("bad", [-1, 2, 0.5, "a", (0, 0), np.zeros(2, dtype=np.int64)])
def test_class_that_is_none_is_told_where_it_comes(bad: Any) -> None:
    for size in (1, 3, None):
        resampled = D.range(9).rejection_resample(lambda x: bad if x == 4 else 0, [1.0, 0.0], [1.0, 0.0])
        came, error = until_error(resampled, size)
        assert [int(element) for _, element in came] == [0, 1, 2, 3]
        assert isinstance(error, StructureError)
        assert "element 4 of range" in str(error)


def test_class_function_that_raises_is_told_under_the_verbs_name() -> None:
    def class_of(x: Any) -> int:
        if x == 4:
            raise ValueError("four")
        return 0

    came, error = until_error(D.range(9).rejection_resample(class_of, [1.0]))
    assert len(came) == 4
    assert isinstance(error, UserFunctionError)
    assert re.search("rejection_resample at .*element 4", str(error))
