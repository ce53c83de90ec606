"""Padded shapes and padding values, as users say them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.block.padding import Dims, as_padded_shapes, padding_value, per_leaf
from penstock.block.spec import BYTES, STR
from penstock.block.tree import LEAF, tuple_of
from penstock.errors import InvalidArgumentError


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ([], Dims(())),
        ((), Dims(())),
        ([None], Dims((None,))),
        ((None, 3), Dims((None, 3))),
        ([-1, 2], Dims((None, 2))),
        (np.array([4, 5]), Dims((4, 5))),
        (([None], []), (Dims((None,)), Dims(()))),
        ({"a": (3,), "b": {"c": [None]}}, {"a": Dims((3,)), "b": {"c": Dims((None,))}}),
    ],
    ids=repr,
)
def test_shapes_are_told_from_nests(said: Any, expected: Any) -> None:
    assert as_padded_shapes(said) == expected


@pytest.mark.parametrize("said", [5, "ab", [-2], [None, "x"], {"a": 3}], ids=repr)
def test_what_is_no_shape_is_refused(said: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="padded_shapes"):
        as_padded_shapes(said)


def test_one_value_stands_for_all_leaves() -> None:
    pair = tuple_of(LEAF, LEAF)
    assert per_leaf("padding_values", -1, pair) == [-1, -1]
    assert per_leaf("padding_values", (1, None), pair) == [1, None]
    with pytest.raises(InvalidArgumentError, match="padded_shapes"):
        per_leaf("padded_shapes", Dims(()), pair)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        (None, "int32", np.int32(0)),
        (None, "bool", np.False_),
        (None, BYTES, b""),
        (None, STR, ""),
        (-1, "int64", np.int64(-1)),
        (3, "float32", np.float32(3)),
        (0.1, "float32", np.float32(0.1)),
        (float("inf"), "float16", np.float16("inf")),
        (255, "uint8", np.uint8(255)),
        (np.int64(7), "int8", np.int8(7)),
        (True, "bool", np.True_),
        ("é", BYTES, "é".encode()),
        (b"-", STR, "-"),
    ],
    ids=repr,
)
def test_a_value_takes_the_dtype_of_its_leaf(value: Any, dtype: Any, expected: Any) -> None:
    got = padding_value("x", value, np.dtype(dtype))
    assert got == expected
    assert type(got) is type(expected)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(-1, "uint8"), (256, "uint8"), (0.5, "int64"), (1, "bool"), ("a", "int64"), (1, STR), ([1], "int64"), (1j, "f4")],
    ids=repr,
)
def test_a_value_the_leaf_cannot_hold_is_refused(value: Any, dtype: Any) -> None:
    with pytest.raises(InvalidArgumentError, match='"x"'):
        padding_value("x", value, np.dtype(dtype))
