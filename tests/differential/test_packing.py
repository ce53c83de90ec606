"""Packed sequences against Grain's: the same elements, for any lengths, number of bins and features."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import assert_same_elements, collect

grain: Any = pytest.importorskip("grain")
pytestmark = [pytest.mark.framework, pytest.mark.slow]

LENGTHS = {"x": 8, "y": 6}
ELEMENTS = st.lists(st.tuples(st.integers(1, 8), st.integers(0, 6)), max_size=25)


def elements(sizes: list[tuple[int, int]]) -> list[dict[str, np.ndarray]]:
    return [
        {"x": np.arange(a, dtype=np.int32) + 10 * number, "y": np.full(b, number, dtype=np.float32)}
        for number, (a, b) in enumerate(sizes, 1)
    ]


def of_grain(kind: str, data: list[Any], **arguments: Any) -> list[Any]:
    source = grain.MapDataset.source(data).to_iter_dataset()
    return [in_order(element) for element in getattr(grain.experimental, kind)(source, **arguments)]


def in_order(element: dict[str, Any]) -> dict[str, Any]:
    """Grain sorts the leaves of a dict; Penstock keeps them as they were written."""
    return dict(sorted(element.items()))


@settings(max_examples=100)
@given(ELEMENTS, st.integers(1, 5), st.sampled_from(["first_fit", "best_fit"]))
def test_whole_sequences(sizes: list[tuple[int, int]], bins: int, strategy: Any) -> None:
    data = elements(sizes)
    kind = "FirstFitPackIterDataset" if strategy == "first_fit" else "BestFitPackIterDataset"
    expected = of_grain(kind, data, length_struct=LENGTHS, num_packing_bins=bins, shuffle_bins=False) if data else []
    got = collect(ps.Dataset.from_source(data).pack(LENGTHS, strategy, bins))
    assert_same_elements(map(in_order, got), expected, strategy)


@settings(max_examples=100)
@given(st.lists(st.integers(1, 20), max_size=20))
def test_sequences_end_to_end(sizes: list[int]) -> None:
    data = [{"x": np.arange(size) + 100 * number} for number, size in enumerate(sizes)]
    expected = of_grain("ConcatThenSplitIterDataset", data, length_struct={"x": 6}) if data else []
    got = collect(ps.Dataset.from_source(data).pack({"x": 6}, "concat"))
    assert_same_elements(map(in_order, got), expected)
