"""The keyed permutation: a bijection, bit-identical to its reference, and an error outside its range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import reference
from penstock.kernels.permute import permute, permute_range

KEYS = st.integers(0, 2**64 - 1)
SIZES = st.one_of(st.integers(1, 300), st.integers(257, 5000), st.integers(2**31, 2**63 - 1))


@given(KEYS, SIZES, st.data())
def test_permute_equals_reference(key, n, data):
    positions = np.array(data.draw(st.lists(st.integers(0, n - 1), max_size=40)), dtype=np.int64)
    np.testing.assert_array_equal(permute(key, n, positions), reference.permute(key, n, positions))


@given(KEYS, st.integers(0, 3000))
def test_permute_range_is_a_bijection(key, n):
    np.testing.assert_array_equal(np.sort(permute_range(key, n, 0, n)), np.arange(n))


@given(KEYS, st.integers(0, 3000), st.data())
def test_permute_range_is_a_slice_of_the_whole(key, n, data):
    start = data.draw(st.integers(0, n))
    stop = data.draw(st.integers(start, n))
    np.testing.assert_array_equal(permute_range(key, n, start, stop), permute_range(key, n, 0, n)[start:stop])


def test_permute_takes_strided_and_narrow_positions():
    positions = np.arange(20, dtype=np.int32)[::2]
    np.testing.assert_array_equal(permute(9, 1000, positions), permute_range(9, 1000, 0, 20)[::2])


@pytest.mark.parametrize("position", [-1, 1000, 2**62])
def test_permute_outside_the_range_is_an_error(position):
    with pytest.raises(IndexError, match=rf"position {position} \(at 1\) is outside \[0, 1000\)"):
        permute(0, 1000, np.array([3, position]))


@pytest.mark.parametrize(("start", "stop"), [(-1, 3), (5, 4), (0, 11)])
def test_permute_range_outside_is_an_error(start, stop):
    with pytest.raises(IndexError):
        permute_range(0, 10, start, stop)
