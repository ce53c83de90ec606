"""Copying past the caches equals assignment; what does not fit is an error."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels.stream import copy_streamed


@given(st.integers(0, 300), st.integers(0, 70), st.integers(0, 70))
def test_copy_equals_assignment(length, src_at, out_at):
    src = np.random.default_rng(length).integers(0, 256, 400, dtype=np.uint8)
    out, expected = np.full(400, 7, np.uint8), np.full(400, 7, np.uint8)
    expected[out_at : out_at + length] = src[src_at : src_at + length]
    copy_streamed(src[src_at : src_at + length], out[out_at : out_at + length])
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("out", "error"),
    [
        (np.zeros((2, 4)), "has shape"),
        (np.zeros((4, 3), np.float32), "dtype float32"),
        (np.zeros((4, 6))[:, ::2], "C-contiguous"),
        (np.zeros((4, 3)).view(), "read-only"),
    ],
)
def test_what_does_not_fit_is_an_error(out, error):
    if error == "read-only":
        out.flags.writeable = False
    with pytest.raises(ValueError, match=error):
        copy_streamed(np.ones((4, 3)), out)


def test_copy_within_one_array_is_an_error():
    whole = np.zeros(10)
    with pytest.raises(ValueError, match="shares memory"):
        copy_streamed(whole[:5], whole[3:8])
