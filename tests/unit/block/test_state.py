"""States that functions are given and give back."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.block.state import CarriedState
from penstock.errors import StructureError, UnsupportedValueError


@pytest.mark.parametrize(
    ("initial", "value", "expected"),
    [
        (0, 3, np.int64(3)),
        (0.5, 3, np.float64(3)),
        (np.float32(0), 2.5, np.float32(2.5)),
        (np.int8(0), np.int8(4), np.int8(4)),
        (True, False, np.bool_(False)),
        ("a", "bc", "bc"),
        (b"", b"x", b"x"),
    ],
)
def test_state_keeps_its_dtype(initial: Any, value: Any, expected: Any) -> None:
    state = CarriedState(initial).next(value)
    assert type(state) is type(expected)
    assert state == expected


def test_state_of_a_nest_keeps_its_structure() -> None:
    carried = CarriedState({"sum": 0.0, "row": (np.zeros(2), "x")})
    state = carried.next({"row": (np.ones(5), "y"), "sum": 1})
    assert list(state) == ["sum", "row"]
    assert type(state["sum"]) is np.float64
    assert state["row"][0].shape == (5,)


@pytest.mark.parametrize(
    ("initial", "value"),
    [
        (0, 0.5),
        (0, np.float64(1)),
        (0.0, np.float32(1)),
        (0, (0, 1)),
        ((0, 1), 0),
        ({"a": 0}, {"b": 0}),
        ("a", b"a"),
        (np.zeros(2), np.zeros(2, dtype=np.float32)),
    ],
)
def test_state_of_another_kind_is_refused_with_both(initial: Any, value: Any) -> None:
    with pytest.raises(StructureError) as caught:
        CarriedState(initial).next(value)
    assert caught.value.got
    assert caught.value.expected


@pytest.mark.parametrize("initial", [None, (1, None), object(), {}])
def test_state_must_be_made_of_values(initial: Any) -> None:
    with pytest.raises(UnsupportedValueError):
        CarriedState(initial)


def test_first_state_is_a_copy_each_time() -> None:
    carried = CarriedState(np.zeros(2))
    carried.first()[:] = 7
    assert carried.first().tolist() == [0, 0]
