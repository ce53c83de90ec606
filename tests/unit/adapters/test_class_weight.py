"""`class_weight` as weights of samples."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adapters.class_weight import weigher
from penstock.errors import InvalidArgumentError

INPUTS = np.zeros((3, 2), np.float32)


@pytest.mark.parametrize(
    "targets",
    [
        np.array([2, 0, 7], np.int64),
        np.array([2, 0, 7], np.uint8),
        np.array([1.9, 0.2, 7.0], np.float32),
        np.array([[2], [0], [7]], np.int32),
        np.eye(8, dtype=np.float32)[[2, 0, 7]],
    ],
)
def test_each_target_weighs_what_its_class_does(targets: np.ndarray) -> None:
    inputs, given_back, weights = weigher({2: 3, 0: 0.5})((INPUTS, targets))
    assert inputs is INPUTS
    assert given_back is targets
    assert (weights.tolist(), weights.dtype) == ([3.0, 0.5, 1.0], np.float32)


@given(
    st.dictionaries(st.integers(-3, 12), st.floats(0, 9, width=32), min_size=1),
    st.lists(st.integers(-5, 15), max_size=20),
)
def test_weights_are_those_of_a_look_up_one_by_one(class_weight: dict[int, float], classes: list[int]) -> None:
    _, _, weights = weigher(class_weight)((INPUTS, np.array(classes, np.int64)))
    assert weights.tolist() == [class_weight.get(number, 1.0) for number in classes]


@pytest.mark.parametrize("class_weight", [{}, [1, 2], {"cat": 1.0}, {0: None}])
def test_what_is_no_class_weight_is_refused(class_weight: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="fit: class_weight"):
        weigher(class_weight)


@pytest.mark.parametrize(
    ("batch", "said"),
    [
        (INPUTS, "got a ndarray"),
        ((INPUTS,), "1 part"),
        ((INPUTS, INPUTS[:, 0], INPUTS[:, 0]), "3 parts"),
        ((INPUTS, {"a": INPUTS}), "the second a dict"),
        ((INPUTS, np.array(["a"])), "dtype <U1"),
    ],
)
def test_batches_without_one_array_of_class_numbers_are_refused(batch: Any, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        weigher({0: 2.0})(batch)
