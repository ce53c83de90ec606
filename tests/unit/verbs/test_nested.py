"""Arguments of the verbs of nested datasets, and what buckets are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock import UNKNOWN_CARDINALITY, Dataset, Spec
from penstock.errors import InvalidArgumentError, StructureError, UserFunctionError

NUMBERS = Dataset.range(10)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: NUMBERS.flat_map(3), "flat_map: map_func"),  # type: ignore[arg-type]
        (lambda: NUMBERS.interleave(None), "interleave: map_func"),  # type: ignore[arg-type]
        (lambda: NUMBERS.interleave(Dataset.range, 0), "interleave: cycle_length"),
        (lambda: NUMBERS.interleave(Dataset.range, 2, 0), "interleave: block_length"),
        (lambda: NUMBERS.interleave(Dataset.range, 2, 1, 0), "interleave: num_parallel_calls"),
        (lambda: NUMBERS.window(0), "window: size"),
        (lambda: NUMBERS.window(2, 0), "window: shift"),
        (lambda: NUMBERS.window(2, 1, 0), "window: stride"),
        (lambda: NUMBERS.group_by_window(len, len), "group_by_window"),
        (lambda: NUMBERS.group_by_window(len, len, 2, len), "group_by_window"),
        (lambda: NUMBERS.group_by_window(len, len, 0), "group_by_window: window_size"),
        (lambda: NUMBERS.bucket_by_sequence_length(len, [3], [1]), "bucket_batch_sizes"),
        (lambda: NUMBERS.bucket_by_sequence_length(len, [3, 3], [1, 1, 1]), "bucket_boundaries"),
        (lambda: NUMBERS.bucket_by_sequence_length(len, [3], [1, 0]), "bucket_batch_sizes"),
    ],
)
def test_bad_argument_is_refused_with_its_name_and_line(call: Callable[[], Any], named: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        call()
    assert named in str(caught.value)
    assert "test_nested.py" in str(caught.value)


@pytest.mark.parametrize(
    ("window", "count"),
    [((3,), 4), ((3, 1), 10), ((3, 2, 2), 5), ((2, 7), 2), ((20,), 1), ((3, None, 1, True), 3), ((4, 2, 3, True), 1)],
)
def test_cardinality_of_windows_is_known(window: tuple[Any, ...], count: int) -> None:
    assert NUMBERS.window(*window).cardinality() == count == len(list(NUMBERS.window(*window)))


def test_cardinality_of_what_is_flattened_is_not() -> None:
    assert NUMBERS.flat_map(Dataset.range).cardinality() == UNKNOWN_CARDINALITY
    assert NUMBERS.interleave(Dataset.range).cardinality() == UNKNOWN_CARDINALITY
    assert Dataset.range(0).flat_map(Dataset.range).cardinality() == 0


def test_spec_of_flattened_windows_knows_that_batches_may_be_short() -> None:
    assert NUMBERS.window(5).flat_map(lambda w: w.batch(5)).element_spec == Spec((None,), np.int64)
    dropped = NUMBERS.window(5).flat_map(lambda w: w.batch(5, drop_remainder=True))
    assert dropped.element_spec == Spec((5,), np.int64)


def rows(lengths: list[int]) -> Dataset:
    return Dataset.from_generator(lambda: (np.arange(n) + 1 for n in lengths), output_signature=Spec((None,), np.int64))


def test_buckets_hold_elements_of_like_length() -> None:
    dataset = rows([1, 4, 3, 5, 6, 2]).bucket_by_sequence_length(len, [3, 5], [2, 2, 2])
    assert [batch.shape for batch in dataset] == [(2, 4), (2, 6), (2, 2)]


def test_buckets_are_padded_to_their_boundary() -> None:
    dataset = rows([1, 3, 3, 2, 2]).bucket_by_sequence_length(
        len, [3, 5], [2, 2, 2], pad_to_bucket_boundary=True, padding_values=-1
    )
    assert [batch.shape for batch in dataset] == [(2, 4), (2, 2), (1, 2)]
    opaque = Dataset.from_tensor_slices([1, 2, 2]).map(lambda n: np.ones((int(n), 3)))
    padded = opaque.bucket_by_sequence_length(len, [5], [3, 3], pad_to_bucket_boundary=True)
    assert [batch.shape for batch in padded] == [(3, 4, 3)]


def test_buckets_take_shapes_for_each_leaf() -> None:
    dataset = Dataset.from_tensor_slices([1, 2, 4]).map(lambda n: {"x": np.ones(int(n)), "n": n})
    dataset = dataset.bucket_by_sequence_length(lambda d: len(d["x"]), [3], [2, 2], padded_shapes={"x": [6], "n": []})
    assert [batch["x"].shape for batch in dataset] == [(2, 6), (1, 6)]


def test_element_longer_than_the_last_boundary_is_told() -> None:
    dataset = rows([1, 7]).bucket_by_sequence_length(len, [3], [2, 2], pad_to_bucket_boundary=True)
    with pytest.raises(UserFunctionError, match=r"too long to be padded.*got 7, expected below 3"):
        list(dataset)


def test_key_that_is_no_integer_is_refused_after_what_came_before() -> None:
    dataset = NUMBERS.group_by_window(lambda n: n * 0.5, lambda key, window: window, 2)
    with pytest.raises(StructureError, match=r"group_by_window at .*a key.*expected one integer"):
        list(dataset)


@pytest.mark.parametrize("said", [0, -1, None, 1.5, "2"])
def test_window_size_that_is_no_size_is_refused(said: Any) -> None:
    with pytest.raises(StructureError, match=r"a window size.*expected an integer above 0"):
        list(NUMBERS.group_by_window(lambda n: n % 2, lambda key, window: window, window_size_func=lambda key: said))


def test_key_that_fails_comes_after_the_groups_before_it() -> None:
    def key(n: Any) -> int:
        if n == 7:
            raise KeyError("seven")
        return int(n % 2)

    got: list[int] = []
    with pytest.raises(UserFunctionError, match=r"group_by_window at .*element 7 of range"):
        got.extend(int(x) for x in NUMBERS.group_by_window(key, lambda key, window: window, 2))
    assert got == [0, 2, 1, 3, 4, 6]
