"""A task whose first element fails tells of it as any other: every verb above it, any block size."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.errors import StructureError, UnsupportedValueError, UserFunctionError


def boom(x):
    if x >= 4:
        raise KeyError("boom")
    return x


ABOVE = {
    "batch": lambda ds: ds.batch(2),
    "batch of one": lambda ds: ds.batch(1),
    "batch of batches": lambda ds: ds.batch(2).batch(2),
    "map, batch": lambda ds: ds.map(lambda x: x + 1).batch(2),
    "zip, batch": lambda ds: ps.Dataset.zip(ds, ps.Dataset.range(9)).batch(2),
    "enumerate, batch": lambda ds: ds.enumerate().batch(4),
    "cache, batch": lambda ds: ds.cache().batch(2),
    "batch, map": lambda ds: ds.batch(2).map(lambda x: x * 2),
}


@pytest.mark.parametrize("above", sorted(ABOVE))
@pytest.mark.parametrize("block_size", [None, 1, 2, 4, 8])
@pytest.mark.parametrize("compiles", [True, False])
def test_the_users_error_reaches_the_user(above, block_size, compiles):
    dataset = ABOVE[above](ps.Dataset.range(8).map(boom, compile=compiles))
    with pytest.raises(UserFunctionError, match="boom") as caught:
        list(dataset.with_options(ps.Options(block_size=block_size)))
    assert isinstance(caught.value.__cause__, KeyError)
    assert "element 4" in str(caught.value)


@pytest.mark.parametrize("batch", [1, 2])
def test_none_from_the_first_element_is_told_under_a_batch(batch):
    with pytest.raises((UnsupportedValueError, StructureError), match="None"):
        list(ps.Dataset.range(4).map(lambda x: None).batch(batch))


def test_an_error_at_the_first_element_is_told_when_it_is_asked_for_by_number():
    with pytest.raises(UserFunctionError, match="boom"):
        ps.Dataset.range(8).map(boom).batch(2)[2]


def test_a_verb_that_is_left_out_says_what_to_do():
    with pytest.raises(AttributeError, match="padded_batch makes dense ones"):
        ps.Dataset.range(3).sparse_batch(2)
