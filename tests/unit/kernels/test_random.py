"""The native Philox is its reference, bit for bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import _native
from penstock.kernels.random import philox
from penstock.rng import philox_reference

KEYS = st.integers(0, 2**64 - 1)
OPS = st.integers(0, 2**32 - 1)


@given(KEYS, st.lists(KEYS, max_size=20), OPS, st.integers(0, 23))
def test_philox_equals_reference(key, ids, op, draws):
    ids = np.array(ids, dtype=np.uint64)
    np.testing.assert_array_equal(philox(key, ids, op, draws), philox_reference(key, ids, op, draws))


@given(KEYS, KEYS, OPS, st.integers(0, 40), st.integers(0, 40))
def test_philox_words_are_a_slice_of_the_stream(key, id_, op, first, count):
    stream = philox_reference(key, np.array([id_], dtype=np.uint64), op, first + count)[0]
    np.testing.assert_array_equal(_native.philox_words(key, id_, op, first, count), stream[first:])


def test_philox_words_past_the_stream_is_an_error():
    assert len(_native.philox_words(1, 1, 1, 2**34 - 4, 4)) == 4
    with pytest.raises(ValueError, match="a stream holds"):
        _native.philox_words(1, 1, 1, 2**34 - 4, 5)
    with pytest.raises(ValueError, match="too many"):
        _native.philox(1, np.zeros(1 << 20, np.uint64), 0, 2**62)
