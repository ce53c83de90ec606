"""Elements compared exactly: structure, types, dtypes, shapes, bytes and order."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np

from penstock.block.block import preview
from penstock.block.ragged import Ragged
from penstock.dataset import Dataset


def collect(dataset: Dataset, epoch: int = 0, limit: int | None = None) -> list[Any]:
    """The elements of one epoch, the first `limit` of them where that is said; its threads have ended on return."""
    with dataset.iterator(epoch=epoch) as iterator:
        return list(islice(iterator, limit))


def freeze(element: Any) -> Hashable:
    """An element as one hashable value: equal when structure, types, dtypes, shapes and bytes are equal.

    NaNs of the same bits are equal, 0.0 and -0.0 are not, and neither are `1` of int32 and `1` of int64. A dataset (a
    window) is the elements of its epoch 0.
    """
    if isinstance(element, dict):
        return "dict", tuple((key, freeze(value)) for key, value in element.items())
    if isinstance(element, tuple):
        return type(element).__qualname__, tuple(freeze(value) for value in element)
    if isinstance(element, Dataset):
        return "Dataset", tuple(freeze(value) for value in collect(element))
    if isinstance(element, Ragged):
        return "Ragged", freeze(element.values), freeze(element.row_splits)
    if isinstance(element, np.ndarray) and element.dtype.kind == "O":
        return "object array", element.shape, tuple((type(item).__name__, item) for item in element.ravel().tolist())
    if isinstance(element, np.ndarray | np.generic):
        kind = "array" if isinstance(element, np.ndarray) else "scalar"
        return kind, element.dtype.str, element.shape, element.tobytes()
    return type(element).__name__, element


def assert_same_elements(got: Iterable[Any], expected: Iterable[Any], what: str = "elements") -> None:
    """Raises: AssertionError naming the first element that differs, both of them, and both counts."""
    left, right = list(got), list(expected)
    if [freeze(element) for element in left] == [freeze(element) for element in right]:
        return
    raise AssertionError(f"{what}: {_difference(left, right)}")


def _difference(got: Sequence[Any], expected: Sequence[Any]) -> str:
    counts = f"{len(got)} elements against {len(expected)}"
    for place, (left, right) in enumerate(zip(got, expected, strict=False)):
        if freeze(left) != freeze(right):
            return f"element {place} is {preview(left)!s}, expected {preview(right)!s} ({counts})"
    return counts
