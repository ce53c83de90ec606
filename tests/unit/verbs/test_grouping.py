"""Batches of other sizes, and the weights of padded ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.dataset import DatasetFeed
from penstock.errors import StackError, StructureError
from penstock.testing import assert_same_elements, collect

D = ps.Dataset
SIZES = st.lists(st.integers(1, 5), min_size=1, max_size=3)


def rows_of(counts: list[int]) -> ps.Dataset:
    """Elements of these numbers of rows: numbers and text, told apart by element and row."""

    def element(number: Any) -> dict[str, Any]:
        rows = np.arange(counts[int(number)])
        return {"n": rows + 10 * number, "t": np.array([f"{number}.{row}" for row in rows] + [""], dtype=object)[:-1]}

    return D.range(len(counts)).map(element)


@given(st.lists(st.integers(1, 7), max_size=6), SIZES, st.booleans(), st.sampled_from([1, 2, None]))
def test_rebatch_is_unbatch_and_batch(counts: list[int], sizes: list[int], drop: bool, block: int | None) -> None:
    options = ps.Options(executor="inline", block_size=block)
    rebatched = collect(rows_of(counts).rebatch(sizes, drop).with_options(options))
    rows = collect(rows_of(counts).unbatch().with_options(options))
    expected, turn = [], 0
    while rows:
        size = sizes[turn % len(sizes)]
        taken, rows, turn = rows[:size], rows[size:], turn + 1
        if len(taken) == size or not drop:
            texts = np.array([*(row["t"] for row in taken), ""], dtype=object)[:-1]
            expected.append({"n": np.stack([row["n"] for row in taken]), "t": texts})
    assert_same_elements(rebatched, expected)


def test_rebatched_batches_are_aligned_and_writable() -> None:
    for batch in D.from_tensor_slices(np.ones((6, 4))).rebatch(3):
        assert batch.flags.writeable
        assert batch.ctypes.data % 64 == 0


def test_rebatch_of_rows_that_differ_names_the_row() -> None:
    ragged = D.range(4).map(lambda x: np.zeros((3, x % 2 + 1)))
    with pytest.raises(StackError, match=r"shape \(2,\) at row 0 of element 1 of range .* \(1,\) as before"):
        list(ragged.rebatch(4))
    assert len(list(ragged.rebatch(3))) == 4


def test_rebatch_of_scalars_found_late_is_an_error() -> None:
    with pytest.raises(StructureError, match="rebatch: rows of each leaf; got element: a scalar"):
        list(D.range(4).map(lambda x: x).rebatch(2))


def test_rebatch_tells_a_feed_its_batch_size() -> None:
    assert DatasetFeed(D.range(9).batch(4).rebatch(3)).batch_size == 3
    assert DatasetFeed(D.range(9).batch(4).rebatch(3)).has_partial_batch is None
    assert DatasetFeed(D.range(9).batch(4).rebatch([3, 1])).batch_size is None


@pytest.mark.parametrize(
    ("make", "last"),
    [
        (lambda x: (x, x * 2), (np.array([6, 6, 6]), np.array([12, 12, 12]), np.float32([1, 0, 0]))),
        (lambda x: {"a": x}, {"a": np.array([6, 6, 6]), "weights": np.float32([1, 0, 0])}),
        (lambda x: x, (np.array([6, 6, 6]), np.float32([1, 0, 0]))),
        (lambda x: ((x, str(x)), x), ((np.array([6, 6, 6]), np.array(["6"] * 3, dtype=object)), np.array([6, 6, 6]),
         np.float32([1, 0, 0]))),
    ],
    ids=["tuple", "dict", "leaf", "nested"],
)  # fmt: skip
def test_padded_remainder_goes_where_the_elements_let_it(make: Any, last: Any) -> None:
    batches = collect(D.range(7).map(make).batch(3, remainder="pad"))
    assert len(batches) == 3
    assert_same_elements(batches[2:], [last])


def test_padded_remainder_weighs_whole_batches_with_ones() -> None:
    for batches in (D.range(6).batch(3, remainder="pad"), D.from_tensor_slices(np.arange(6)).batch(3, remainder="pad")):
        assert [weights.tolist() for _, weights in batches] == [[1, 1, 1]] * 2


def test_padded_remainder_gives_one_shape() -> None:
    dataset = D.range(7).batch(3, remainder="pad")
    assert dataset.element_spec == (ps.Spec((3,), "int64"), ps.Spec((3,), "float32"))
    assert DatasetFeed(dataset).has_partial_batch is False


def test_padded_remainder_needs_the_name_of_its_leaf() -> None:
    with pytest.raises(StructureError, match='a leaf "weights" already'):
        list(D.range(4).map(lambda x: {"weights": x}).batch(2, remainder="pad"))
