"""Rows of several sources equal those of the slow twin; what does not fit is an error before anything is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import reference
from penstock.kernels.gather import gather_parts

DTYPES = st.sampled_from(["?", "u1", "i2", "f4", "i8", "c16", "M8[s]", "S3"])


@given(st.lists(st.tuples(DTYPES, st.integers(0, 3)), max_size=4), st.lists(st.integers(1, 9), min_size=1), st.data())
def test_gather_equals_its_twin(kinds: list[tuple[str, int]], counts: list[int], data: st.DataObject) -> None:
    random = np.random.default_rng(len(kinds))
    sources = [
        [(random.random((count, width)) * 100).astype("i4").astype(dtype) for count in counts] for dtype, width in kinds
    ]
    parts = np.array(data.draw(st.lists(st.integers(0, len(counts) - 1), max_size=30)), dtype=np.int64)
    rows = np.array([data.draw(st.integers(0, counts[part] - 1)) for part in parts], dtype=np.int64)
    cut = data.draw(st.integers(0, len(rows)))

    def outs() -> list[list[Any]]:
        return [[np.zeros((n, width), dtype) for n in (cut, len(rows) - cut)] for dtype, width in kinds]

    ours, twin = outs(), outs()
    gather_parts(sources, parts, rows, ours)
    reference.gather_parts(sources, parts, rows, twin)
    for mine, expected in zip(ours, twin, strict=True):
        assert [array.tobytes() for array in mine] == [array.tobytes() for array in expected]


SOURCES = [[np.arange(4.0), np.arange(2.0)]]


@pytest.mark.parametrize(
    ("parts", "rows", "message"),
    [
        ([0, 2], [0, 0], r"index 2 \(at 1\) is outside \[0, 2\)"),
        ([0, -1], [0, 0], r"index -1 \(at 1\)"),
        ([0, 1], [3, 2], r"index 2 \(at 1\) is outside \[0, 2\)"),
        ([1, 0], [0, -1], r"index -1 \(at 1\) is outside \[0, 4\)"),
    ],
)
def test_part_or_row_that_is_missing_is_named(parts: list[int], rows: list[int], message: str) -> None:
    out = np.full(2, 7.0)
    with pytest.raises(IndexError, match=message):
        gather_parts(SOURCES, np.array(parts), np.array(rows), [[out]])
    np.testing.assert_array_equal(out, [7, 7])


@pytest.mark.parametrize(
    ("sources", "outs", "message"),
    [
        (SOURCES, [[np.zeros(3)]], "3 rows in all, expected 2"),
        (SOURCES, [[np.zeros(2, np.float32)]], "dtype float32"),
        (SOURCES, [], "not of one length"),
        ([[]], [[np.zeros(2)]], "no sources"),
        ([[np.zeros(4), np.zeros((2, 2))]], [[np.zeros(2)]], "other rows"),
        ([*SOURCES, [np.zeros(4), np.zeros(3)]], [[np.zeros(2)], [np.zeros(2)]], "differ in their rows"),
        ([[np.zeros(4, object)]], [[np.zeros(2, object)]], "Python objects"),
        ([[SOURCES[0][0][::2]]], [[np.zeros(2)]], "C-contiguous"),
        ([[SOURCES[0][0]]], [[SOURCES[0][0][:2]]], "shares memory"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(sources: Any, outs: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        gather_parts(sources, np.array([0, 0]), np.array([0, 1]), outs)
