"""One conversion for every leaf: whatever the nest, and whether it is a plain tuple of arrays or not."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from penstock.adapters.nest import leafwise
from penstock.errors import StructureError


class Pair(NamedTuple):
    left: Any
    right: Any


A, B = np.arange(3), np.arange(4.0)


@pytest.mark.parametrize(
    ("batch", "sums"),
    [
        (A, 3),
        ((A, B), (3, 6)),
        ((A,), (3,)),
        (Pair(A, B), Pair(3, 6)),
        ({"b": A, "a": (B, A)}, {"b": 3, "a": (6, 3)}),
        ((A, {"b": B}), (3, {"b": 6})),
        ((A, np.float32(2)), (3, 2)),
    ],
)
def test_leafwise_keeps_the_nest_batch_after_batch(batch: Any, sums: Any) -> None:
    convert = leafwise(np.sum)
    for _ in range(2):
        given = convert(batch)
        assert given == sums
        assert type(given) is type(sums) or not isinstance(sums, tuple | dict)


@pytest.mark.parametrize("other", [(A, B, A), (A,), {"a": A}, A])
def test_leafwise_refuses_another_nest_than_the_first(other: Any) -> None:
    convert = leafwise(np.sum)
    convert((A, B))
    convert((B, A))
    with pytest.raises(StructureError):
        convert(other)
