"""Batches of one shape, or of few: what is changed, that no element is, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.train import fix_shapes
from penstock.train.compile.round_up import RoundUp


def rows(count: int) -> ps.Dataset:
    ids = np.arange(count, dtype=np.float32)
    return ps.Dataset.from_tensor_slices((ids[:, None] * np.ones(3, np.float32), ids))


def sequences(*lengths: int) -> ps.Dataset:
    spec = (ps.TensorSpec((None,), "int32"), ps.TensorSpec((2,), "float32"))
    return ps.Dataset.from_generator(
        lambda: ((np.arange(1, n + 1, dtype=np.int32), np.full(2, n, np.float32)) for n in lengths),
        output_signature=spec,
    )


def shapes(dataset: ps.Dataset) -> list[Any]:
    return [tuple(leaf.shape for leaf in element) for element in dataset]


def test_a_short_last_batch_is_dropped_where_it_is_made() -> None:
    dataset, (change,) = fix_shapes(rows(10).batch(4).prefetch(2))
    assert [element[1].tolist() for element in dataset] == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert change.startswith("batch at ")
    assert change.endswith("drop_remainder=True")


def test_a_short_last_batch_is_filled_up_with_rows_of_no_weight() -> None:
    dataset, _ = fix_shapes(rows(10).batch(4).repeat(2), remainder="pad")
    assert [element[2].tolist() for element in dataset] == [[1, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 0]] * 2
    assert len(set(shapes(dataset))) == 1


@pytest.mark.parametrize("make", [lambda: rows(8).batch(4), lambda: rows(9).repeat().batch(4)])
def test_what_has_one_shape_already_is_the_same_dataset(make: Any) -> None:
    dataset = make()
    assert fix_shapes(dataset) == (dataset, ())


def test_each_branch_is_mended() -> None:
    dataset, changes = fix_shapes(rows(5).batch(4).concatenate(rows(6).batch(4)))
    assert shapes(dataset) == [((4, 3), (4,))] * 2
    assert len(changes) == 2


def test_rebatching_drops_what_is_left() -> None:
    dataset, _ = fix_shapes(rows(10).batch(2).rebatch(4))
    assert shapes(dataset) == [((4, 3), (4,))] * 2


def test_lengths_of_padded_batches_become_powers_of_two() -> None:
    plain = sequences(3, 9, 17, 20, 8, 2, 5).padded_batch(2)
    dataset, changes = fix_shapes(plain)
    assert shapes(dataset) == [((2, 16), (2, 2)), ((2, 32), (2, 2)), ((2, 8), (2, 2))]
    for before, after in zip(plain, dataset, strict=False):
        assert np.array_equal(after[0][:, : before[0].shape[1]], before[0])
        assert not after[0][:, before[0].shape[1] :].any()
    assert ["drop_remainder" in changes[0], "powers of two" in changes[1]] == [True, True]


def test_lengths_of_padded_batches_become_those_that_were_said() -> None:
    padded = sequences(3, 9, 17, 41).padded_batch(1, padded_shapes=([None], [2]), padding_values=(-1, 0.0))
    dataset, (change,) = fix_shapes(padded, lengths=[10, 20])
    assert shapes(dataset) == [((1, 10), (1, 2)), ((1, 10), (1, 2)), ((1, 20), (1, 2)), ((1, 60), (1, 2))]
    assert next(iter(dataset))[0].tolist() == [[1, 2, 3, *[-1] * 7]]
    assert "padded on to 10, 20, and multiples of 20" in change


def test_buckets_are_padded_on_to_their_boundaries() -> None:
    bucketed = sequences(3, 9, 4, 6, 7, 8, 12, 2).bucket_by_sequence_length(lambda x, y: x.shape[0], [6, 11], [2, 2, 2])
    dataset, changes = fix_shapes(bucketed)
    assert {shape[0] for shape in shapes(dataset)} == {(2, 5), (2, 10)}
    assert len(changes) == 2
    whole, _ = fix_shapes(bucketed.batch(1))
    assert shapes(whole) == [(one[0], one[1]) for one in shapes(bucketed.batch(1))]


def test_fixed_lengths_are_left_alone() -> None:
    dataset = sequences(3, 9).padded_batch(2, padded_shapes=([16], [2]), drop_remainder=True)
    assert fix_shapes(dataset).changes == ()


def _batches(n: Any) -> Any:
    return ps.Dataset.range(5).batch(2)


@pytest.mark.parametrize(
    ("make", "named", "why"),
    [
        (lambda: rows(5), {}, "no batch is made above from_tensor_slices"),
        (lambda: rows(5).batch(2).unbatch(), {}, "no batch is made above unbatch"),
        (lambda: ps.Dataset.range(2).flat_map(_batches), {}, "made by the function of flat_map"),
        (lambda: sequences(3, 4).ragged_batch(2), {}, "ragged"),
        (lambda: rows(3).batch(4), {}, "leaves none"),
        (lambda: rows(5).batch(2).assert_cardinality(3), {}, "holds the number of batches"),
        (lambda: rows(5).batch(2).map(lambda x, y: x), {"remainder": "pad"}, "map at .* leaf of weights"),
        (lambda: sequences(3, 4, 5).padded_batch(2), {"remainder": "pad"}, "cannot fill up"),
        (lambda: rows(4).map(lambda x, y: x).padded_batch(2), {}, "axes of padded_batch at .* not known"),
        (lambda: rows(5).batch(2), {"remainder": "keep"}, "remainder; got 'keep'"),
        (lambda: rows(5).batch(2), {"lengths": [8, 8]}, "rising numbers"),
    ],
)
def test_what_cannot_be_done_is_refused_with_a_reason(make: Any, named: dict[str, Any], why: str) -> None:
    with pytest.raises(InvalidArgumentError, match=why) as raised:
        fix_shapes(make(), **named)
    assert "test_fix_shapes.py" in str(raised.value)


@pytest.mark.parametrize(
    ("lengths", "length", "expected"),
    [((), 0, 8), ((), 8, 8), ((), 9, 16), ((), 17, 32), ((4, 6), 4, 4), ((4, 6), 5, 6), ((4, 6), 7, 12)],
)
def test_which_length_a_length_becomes(lengths: tuple[int, ...], length: int, expected: int) -> None:
    assert RoundUp(None, (), (), lengths).length_for(length) == expected  # type: ignore[arg-type]
