"""Columns: take, slice and concat of every kind agree with the same on a list of rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.columns import ArrayColumn, BytesColumn, Column, RowsColumn, column_of_array, concat_columns
from penstock.block.spec import BYTES, STR, Spec


def _column(kind: str, count: int, first: int = 0) -> Column:
    """`count` rows whose content tells their number, from `first`."""
    numbers = range(first, first + count)
    if kind == "numbers":
        return ArrayColumn(np.array(numbers, dtype=np.int64))
    if kind == "arrays":
        return ArrayColumn(np.stack([np.full((2, 2), n) for n in numbers]))
    if kind == "rows":
        return RowsColumn([np.full(3, n) for n in numbers], np.dtype(np.int64))
    if kind == "ragged":
        return RowsColumn([np.full(1 + n % 3, n) for n in numbers], np.dtype(np.int64))
    if kind == "text":
        return BytesColumn(np.array([f"row {n}" for n in numbers], dtype=object), STR)
    assert kind == "text arrays"
    return BytesColumn(np.array([[b"a%d" % n, b"b"] for n in numbers], dtype=object), BYTES)


KINDS = ["numbers", "arrays", "rows", "ragged", "text", "text arrays"]
per_kind = pytest.mark.parametrize("kind", KINDS)


def _values(column: Column) -> list[Any]:
    return [np.asarray(row).tolist() for row in column.rows()]


@per_kind
@given(indices=st.lists(st.integers(0, 5), min_size=1, max_size=8))
def test_take_gives_the_rows_asked_for(kind: str, indices: list[int]) -> None:
    column = _column(kind, 6)
    taken = column.take(np.array(indices, dtype=np.int64))
    assert _values(taken) == [_values(column)[i] for i in indices]
    assert type(taken) is type(column)


@per_kind
@given(start=st.integers(0, 5), length=st.integers(1, 6))
def test_slice_gives_the_rows_between(kind: str, start: int, length: int) -> None:
    column = _column(kind, 6)
    assert _values(column.slice(start, start + length)) == _values(column)[start : start + length]


@per_kind
@given(cuts=st.lists(st.integers(1, 3), min_size=1, max_size=4))
def test_concat_of_slices_is_the_whole(kind: str, cuts: list[int]) -> None:
    column = _column(kind, sum(cuts))
    stops = np.cumsum(cuts).tolist()
    parts = [column.slice(stop - cut, stop) for stop, cut in zip(stops, cuts, strict=True)]
    joined = concat_columns(parts)
    assert _values(joined) == _values(column)
    assert joined.spec.dtype == column.spec.dtype


@per_kind
def test_rows_are_those_of_row(kind: str) -> None:
    column = _column(kind, 4)
    for number, row in enumerate(column.rows()):
        np.testing.assert_array_equal(row, column.row(number))
    assert len(column.rows()) == len(column) == 4


def test_concat_of_arrays_of_several_shapes_keeps_rows_apart() -> None:
    joined = concat_columns([ArrayColumn(np.zeros((2, 3))), ArrayColumn(np.zeros((1, 4)))])
    assert isinstance(joined, RowsColumn)
    assert joined.spec == Spec((None,), "float64")


def test_concat_of_arrays_and_rows_of_one_shape() -> None:
    joined = concat_columns([ArrayColumn(np.zeros((2, 3))), RowsColumn([np.ones(3)], np.dtype(float))])
    assert _values(joined) == [[0, 0, 0], [0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("first", [0, 1])
def test_concat_of_text_arrays_of_several_shapes(first: int) -> None:
    even = BytesColumn(np.array([["a", "b"]], dtype=object), STR)
    odd = RowsColumn([np.array(["c"], dtype=object), np.array(["d", "e", "f"], dtype=object)], STR)
    parts = [even, odd] if first == 0 else [odd, even]
    joined = concat_columns(parts)
    assert _values(joined) == [row for part in parts for row in _values(part)]
    assert joined.spec == Spec((None,), str)


def test_spec_of_ragged_rows_has_unknown_dimensions() -> None:
    rows = [np.zeros((2, 3)), np.zeros((4, 3))]
    assert RowsColumn(rows, np.dtype(float)).spec == Spec((None, 3), "float64")


@pytest.mark.parametrize(
    ("kind", "nbytes"), [("numbers", 32), ("arrays", 128), ("rows", 96), ("ragged", 56), ("text", 20 + 32)]
)
def test_nbytes_counts_the_leaves(kind: str, nbytes: int) -> None:
    assert _column(kind, 4).nbytes == nbytes


def test_rows_of_a_user_array_are_read_only_views() -> None:
    array = np.arange(6).reshape(3, 2)
    column = column_of_array(array)
    assert all(np.shares_memory(row, array) and not row.flags.writeable for row in column.rows())


@pytest.mark.parametrize(
    ("array", "dtype"),
    [
        (np.array(["a", "b"]), STR),
        (np.array([b"a", b"b"]), BYTES),
        (np.array(["a", "b"], dtype=object), STR),
        (np.array([b"a", b"b"], dtype=object), BYTES),
    ],
)
def test_column_of_text_array_holds_python_text(array: Any, dtype: Any) -> None:
    column = column_of_array(array)
    assert isinstance(column, BytesColumn)
    assert column.dtype == dtype
    assert type(column.rows()[0]) in (str, bytes)
