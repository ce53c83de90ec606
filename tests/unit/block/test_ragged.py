"""Ragged: rows in and out, what is refused, and what every way of cutting keeps."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Ragged
from penstock.block.collate import column_of
from penstock.block.columns import RaggedColumn, concat_columns
from penstock.block.spec import BYTES, STR, RaggedSpec, Spec
from penstock.errors import InvalidArgumentError, StackError

ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=4), min_size=1, max_size=8)


def of(rows: list[list[int]]) -> Ragged:
    return Ragged.from_rows([np.array(row, dtype=np.int64) for row in rows])


@given(ROWS)
def test_rows_come_out_as_they_went_in(rows: list[list[int]]) -> None:
    ragged = of(rows)
    assert ragged.to_list() == rows
    assert [row.tolist() for row in ragged] == rows
    assert [ragged[number].tolist() for number in range(-len(rows), 0)] == rows
    assert ragged.row_lengths().tolist() == list(map(len, rows))
    assert (len(ragged), ragged.shape, ragged.ragged_rank) == (len(rows), (len(rows), None), 1)


@given(ROWS, st.integers(-9, 9), st.integers(-9, 9), st.sampled_from([None, 1, 2, -1, -3]))
def test_a_slice_is_that_of_a_list(rows: list[list[int]], start: int, stop: int, step: int | None) -> None:
    assert of(rows)[start:stop:step].to_list() == rows[start:stop:step]


@given(ROWS, st.lists(st.integers(0, 7), max_size=5))
def test_ragged_of_ragged(rows: list[list[int]], numbers: list[int]) -> None:
    inner = of(rows)
    outer = Ragged.from_rows([inner, inner[:1], inner[1:]])
    assert outer.to_list() == [rows, rows[:1], rows[1:]]
    assert (outer.ragged_rank, outer.shape) == (2, (3, None, None))
    assert outer.row_splits.tolist() == [0, len(rows), len(rows) + 1, 2 * len(rows)]
    assert outer.flat_values.tolist() == [item for part in (rows, rows[:1], rows[1:]) for row in part for item in row]
    chosen = [number % len(rows) for number in numbers]
    assert inner.take(np.array(chosen, dtype=np.int64)).to_list() == [rows[number] for number in chosen]


@given(ROWS, st.integers(-9, 9))
def test_padding_puts_rows_at_the_start(rows: list[list[int]], value: int) -> None:
    longest = max(map(len, rows))
    expected = [row + [value] * (longest - len(row)) for row in rows]
    assert of(rows).to_padded(value).tolist() == expected
    assert of(rows).to_padded(value, longest + 2).tolist() == [[*row, value, value] for row in expected]


def test_padding_needs_room() -> None:
    with pytest.raises(StackError, match="row 1 has 2 items; expected at most 1"):
        of([[1], [2, 3]]).to_padded(length=1)
    with pytest.raises(InvalidArgumentError, match="ragged rank 2"):
        Ragged.from_rows([of([[1]])]).to_padded()


def test_equality_is_of_content() -> None:
    assert of([[1], [2, 3]]) == Ragged([1, 2, 3], np.array([0, 1, 3], dtype=np.int32))
    assert of([[1], [2, 3]]) != of([[1, 2], [3]])
    assert of([[1]]) != Ragged(np.array([1.0]), [0, 1])
    assert of([[1]]) != Ragged.from_rows([of([[1]])])
    assert of([[1]]) != [[1]]


def test_it_cannot_be_written_to() -> None:
    values = np.arange(3)
    ragged = Ragged(values, [0, 1, 3])
    for array in (ragged.values, ragged.row_splits, ragged[1]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 9
    with pytest.raises(AttributeError):
        ragged.values = values  # type: ignore[misc]  # which is what is tested
    assert values.flags.writeable


def test_text_keeps_its_kind() -> None:
    assert Ragged([b"a", b"bb"], [0, 1, 2]).dtype == BYTES
    assert Ragged(["a", "bb"], [0, 2]).dtype == STR
    assert Ragged.from_rows([["a"], ["b", "c"]]).to_list() == [["a"], ["b", "c"]]


def test_rows_of_arrays_keep_their_inner_shape() -> None:
    ragged = Ragged.from_rows([np.ones((2, 3)), np.zeros((0, 3))])
    assert ragged.shape == (2, None, 3)
    with pytest.raises(StackError, match=r"got \(1, 2\)"):
        Ragged.from_rows([np.ones((2, 3)), np.ones((1, 2))])


@pytest.mark.parametrize("splits", [[], [0, 2], [1, 3], [0, 2, 1, 3], [[0, 3]], [0.0, 3.0], ["a"]], ids=repr)
def test_row_splits_that_do_not_fit_are_refused(splits: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="row_splits"):
        Ragged([1, 2, 3], splits)


@pytest.mark.parametrize("values", [3, [1, "a"], [None], [{}]], ids=str)
def test_values_that_are_none_are_refused(values: Any) -> None:
    with pytest.raises((InvalidArgumentError, ValueError)):
        Ragged(values, [0, 1])


def test_it_pickles_and_copies() -> None:
    ragged = Ragged.from_rows([of([[1], [2, 3]]), of([[]])])
    assert pickle.loads(pickle.dumps(ragged)) == ragged
    assert ragged.copy() == ragged
    assert not np.shares_memory(ragged.copy().flat_values, ragged.flat_values)


def test_it_says_what_it_holds() -> None:
    assert repr(of([[1], []])) == "Ragged([[1], []], dtype=int64)"
    assert "50 rows" in repr(of([[1]] * 50))
    assert of([[1], [2]]).nbytes == 2 * 8 + 3 * 8


def test_columns_carry_it() -> None:
    column = column_of([of([[1], [2, 3]]), of([[]])])
    assert isinstance(column, RaggedColumn)
    assert column.spec == RaggedSpec((None, None), "int64")
    both = concat_columns([column, column.slice(0, 1)])
    assert [row.to_list() for row in both.take(np.array([2, 1])).rows()] == [[[1], [2, 3]], [[]]]
    assert column.nbytes == 3 * 8 + 3 * 8 + 2 * 8


def test_specs_of_batches_and_rows() -> None:
    spec = RaggedSpec((None, None, 3), "int64")
    assert str(spec) == "ragged int64[?, ?, 3]"
    assert spec.batched(4) == RaggedSpec((4, None, None, 3), "int64", 2)
    assert spec.batched(4).unbatched() == spec
    assert spec.unbatched() == Spec((None, 3), "int64")
    assert spec.with_rows(7) == RaggedSpec((7, None, 3), "int64")
    assert spec != Spec((None, None, 3), "int64")
    assert not spec.is_compatible_with(Spec((None, None, 3), "int64"))
    assert spec.is_compatible_with(RaggedSpec((5, None, 3), "int64"))
    for rank in (0, 3):
        with pytest.raises(InvalidArgumentError, match="ragged_rank"):
            RaggedSpec((None, None, 3), "int64", rank)
