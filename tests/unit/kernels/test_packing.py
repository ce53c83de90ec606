"""Bins, places and segments, against their slow twins; what does not fit together is an error before any write."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import packing, reference


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=2, max_size=2), max_size=40),
    st.integers(1, 5),
    st.integers(1, 2),
    st.booleans(),
)
def test_bins_are_those_of_the_slow_twin(lengths: list[list[int]], bins: int, features: int, fullest: bool) -> None:
    sequences = np.array(lengths, dtype=np.int64).reshape(-1, 2)[:, :features]
    capacities = np.array([9, 12], dtype=np.int64)[:features]
    used, expected_used = np.zeros(bins * features, dtype=np.int64), np.zeros(bins * features, dtype=np.int64)
    got = packing.assign_bins(sequences, capacities, used, fullest=fullest)
    expected = reference.assign_bins(sequences, capacities, expected_used, fullest=fullest)
    assert got.tolist() == expected.tolist()
    assert used.tolist() == expected_used.tolist()


@given(
    st.sampled_from(["u1", "i4", "f8", "c16", "M8[s]", "?"]),
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 14), st.booleans()), max_size=12),
)
def test_rows_go_where_the_slow_twin_puts_them(dtype: str, pieces: list[tuple[int, int, bool]]) -> None:
    source = np.frombuffer(bytes(range(256)) * 2, dtype="u1") % 2
    rows = []
    for size, start, strided in pieces:
        row = source[start : start + 2 * size * np.dtype(dtype).itemsize].copy().view(dtype)
        rows.append(row[::2] if strided else row[:size])
    starts = np.array([start for _, start, _ in pieces], dtype=np.int64)
    out, expected = np.zeros((4, 5), dtype), np.zeros((4, 5), dtype)
    packing.place_rows(rows, starts, out)
    reference.place_rows(rows, starts, expected)
    assert out.tobytes() == expected.tobytes()


@given(st.lists(st.tuples(st.integers(0, 14), st.integers(0, 6), st.integers(0, 99)), max_size=9))
def test_segments_are_marked_as_by_the_slow_twin(pieces: list[tuple[int, int, int]]) -> None:
    starts, lengths, ids = np.array(pieces, dtype=np.int64).reshape(-1, 3).T
    got, expected = np.zeros((2, 4, 5), np.int32), np.zeros((2, 4, 5), np.int32)
    packing.mark_segments(starts, lengths, ids.astype(np.int32), *got)
    reference.mark_segments(starts, lengths, ids.astype(np.int32), *expected)
    assert got.tolist() == expected.tolist()


READ_ONLY = np.zeros(4)
READ_ONLY.flags.writeable = False


@pytest.mark.parametrize(
    ("rows", "starts", "out", "message"),
    [
        ([np.ones(3)], [2], np.zeros(4), "does not fit: 24 bytes from 16 on, out has 32"),
        ([np.ones(3)], [-1], np.zeros(4), "starts at -1"),
        ([np.ones(3)], [2**62], np.zeros(4), "starts at"),
        ([np.ones(3, "f4")], [0], np.zeros(4), "is of float32"),
        ([np.ones(3)], [0, 1], np.zeros(4), "2 starts, expected 1"),
        ([np.ones(3)], [0], READ_ONLY, "read-only"),
        ([np.ones(3)], [0], np.zeros(8)[::2], "C-contiguous"),
    ],
)
def test_rows_that_do_not_fit_are_refused(rows: Any, starts: list[int], out: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        packing.place_rows(rows, np.array(starts), out)
    assert not out.any()


def test_rows_that_share_memory_with_out_are_refused() -> None:
    out = np.arange(6.0)
    with pytest.raises(ValueError, match="does not fit"):
        packing.place_rows([out[:2]], np.array([3]), out)


def test_rows_of_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="Python objects"):
        packing.place_rows([np.array(["a"], dtype=object)], np.array([0]), np.zeros(3, dtype=object))


def test_a_piece_outside_is_refused() -> None:
    marks = np.zeros((2, 6), np.int32)
    for start, length in ((5, 2), (-1, 1), (0, 7)):
        with pytest.raises(ValueError, match="inside"):
            packing.mark_segments(np.array([start]), np.array([length]), np.ones(1, np.int32), *marks)
    assert not marks.any()


def test_bins_without_features_are_refused() -> None:
    none = np.zeros((0, 0), np.int64)
    with pytest.raises(ValueError, match="0 features"):
        packing.assign_bins(none, np.zeros(0, np.int64), np.zeros(0, np.int64), fullest=False)
