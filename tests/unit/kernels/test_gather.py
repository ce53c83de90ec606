"""Gathering rows equals numpy.take, whatever the row; what does not fit is an error before anything is copied."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from penstock.kernels.gather import gather_rows

DTYPES = st.sampled_from(["?", "u1", "i2", "f2", "f4", "i8", "c16", "S5", "U3", "M8[s]"])


@given(DTYPES, st.integers(1, 30), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9), st.data())
def test_gather_equals_take(dtype, rows, row_shape, data):
    size = rows * int(np.prod(row_shape)) * np.dtype(dtype).itemsize
    raw = np.frombuffer(np.random.default_rng(size).bytes(size), np.uint8) & 1
    src = np.frombuffer(raw.tobytes(), dtype).reshape(rows, *row_shape)
    indices = np.array(data.draw(st.lists(st.integers(0, rows - 1), max_size=60)), dtype=np.int64)
    cut = data.draw(st.integers(0, len(indices)))
    outs = [np.empty((cut, *row_shape), dtype), np.empty((len(indices) - cut, *row_shape), dtype)]
    gather_rows(src, indices, outs)
    assert np.concatenate(outs).tobytes() == src[indices].tobytes()


def test_gather_takes_strided_indices():
    out = np.empty(3)
    gather_rows(np.arange(10.0), np.arange(6)[::2], [out])
    np.testing.assert_array_equal(out, [0, 2, 4])


@pytest.mark.parametrize("index", [-1, 10, 2**62])
def test_gather_of_a_missing_row_names_it_and_copies_nothing(index):
    out = np.full(2, 7.0)
    with pytest.raises(IndexError, match=rf"index {index} \(at 1\) is outside \[0, 10\)"):
        gather_rows(np.arange(10.0), np.array([0, index]), [out])
    np.testing.assert_array_equal(out, [7, 7])


def _read_only(array):
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    ("src", "out", "message"),
    [
        (np.zeros((4, 2)), np.zeros((3, 2)), "3 rows in all, expected 2"),
        (np.zeros((4, 2)), np.zeros((2, 3)), "expected \\[2\\]"),
        (np.zeros((4, 2)), np.zeros((2, 2), np.float32), "dtype float32"),
        (np.zeros((4, 2)), np.zeros((2, 4))[:, ::2], "C-contiguous"),
        (np.zeros((4, 4))[:, ::2], np.zeros((2, 2)), "src must be C-contiguous"),
        (np.zeros(()), np.zeros(2), "leading axis"),
        (np.zeros((4, 2)), _read_only(np.zeros((2, 2))), "read-only"),
        (np.zeros(4, object), np.zeros(2, object), "Python objects"),
    ],
)
def test_gather_refuses_arrays_that_do_not_fit(src, out, message):
    with pytest.raises((ValueError, TypeError), match=message):
        gather_rows(src, np.array([0, 1]), [out])


def test_gather_refuses_shared_memory():
    src = np.arange(10.0)
    with pytest.raises(ValueError, match="shares memory"):
        gather_rows(src, np.array([9]), [src[:1]])
