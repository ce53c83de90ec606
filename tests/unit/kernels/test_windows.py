"""Gathering windows equals slicing, whatever overlaps; what does not fit is an error before anything is copied."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.gather import gather_windows
from penstock.kernels.reference import gather_windows as reference


@given(st.integers(1, 40), st.integers(1, 40), st.integers(1, 30), st.data())
def test_windows_equal_the_reference(stride: int, width: int, count: int, data: st.DataObject) -> None:
    src = np.random.default_rng(stride).integers(0, 256, (count - 1) * stride + width + 3, dtype=np.uint8)
    indices = np.array(data.draw(st.lists(st.integers(0, count - 1), max_size=40)), dtype=np.int64)
    cut = data.draw(st.integers(0, len(indices)))
    outs, expected = ([np.empty((n, width), np.uint8) for n in (cut, len(indices) - cut)] for _ in range(2))
    gather_windows(src, (count, stride, width), indices, outs)
    reference(src, (count, stride, width), indices, expected)
    assert all(np.array_equal(a, b) for a, b in zip(outs, expected, strict=True))


def test_windows_fill_rows_of_any_dtype() -> None:
    numbers = np.arange(20, dtype=np.int32)
    out = np.empty((2, 3), np.int32)
    gather_windows(numbers.view(np.uint8), (9, 8, 12), np.array([8, 1]), [out])
    assert out.tolist() == [[16, 17, 18], [2, 3, 4]]


@pytest.mark.parametrize("index", [-1, 9])
def test_missing_window_is_named(index: int) -> None:
    with pytest.raises(IndexError, match=rf"index {index} \(at 0\) is outside \[0, 9\)"):
        gather_windows(np.zeros(20, np.uint8), (9, 2, 4), np.array([index]), [np.empty((1, 4), np.uint8)])


@pytest.mark.parametrize(
    ("windows", "out", "message"),
    [
        ((10, 2, 4), np.empty((1, 4), np.uint8), "10 windows of 4 bytes, 2 apart, do not lie in 20 bytes"),
        ((2**62, 2**62, 4), np.empty((1, 4), np.uint8), "do not lie"),
        ((9, 2, 4), np.empty((1, 5), np.uint8), "expected 4 bytes a row"),
        ((9, 2, 4), np.empty((2, 4), np.uint8), "2 rows in all, expected 1"),
        ((9, 2, 4), np.empty((1, 8), np.uint8)[:, ::2], "C-contiguous"),
    ],
)
def test_windows_that_do_not_fit_are_refused(windows: Any, out: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        gather_windows(np.zeros(20, np.uint8), windows, np.array([0]), [out])
