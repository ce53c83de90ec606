"""Mixtures in fixed proportions: every element of each input once, in order, its share at any length."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.graph.proportions import as_proportions, counts_before, mixed, mixed_length

SHARES = st.lists(st.integers(1, 50), min_size=1, max_size=5).map(tuple)


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        ([1, 1], (1, 1)),
        ([2.0, 4.0], (1, 2)),
        ([0.7, 0.3], (7, 3)),
        ([0.1, 0.2, 0.3], (1, 2, 3)),
        ([5], (1,)),
        ([1e-3, 1.0], (1, 1000)),
    ],
)
def test_proportions_of_decimal_weights_are_exact(weights: list[float], expected: tuple[int, ...]) -> None:
    assert as_proportions(weights) == expected


@given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=6))
def test_proportions_of_any_weights_are_close_and_small(weights: list[float]) -> None:
    shares = as_proportions(weights)
    assert sum(shares) <= 2**30 + len(weights)
    assert all(share > 0 for share in shares)
    for weight, share in zip(weights, shares, strict=True):
        assert share / sum(shares) == pytest.approx(weight / sum(weights), rel=1e-6, abs=2e-9)


@given(SHARES, st.integers(0, 10**12))
def test_each_place_takes_the_next_of_one_input(shares: tuple[int, ...], start: int) -> None:
    places = np.arange(start, start + 200)
    source, within = mixed(places, shares)
    before = [counts[0] for counts in counts_before(places[:1], shares)]
    assert sum(before) == start
    taken = list(before)
    for number, place in zip(source.tolist(), within.tolist(), strict=True):
        assert place == taken[number]
        taken[number] += 1


@given(SHARES, st.integers(0, 10**6))
def test_each_input_has_its_share_at_any_length(shares: tuple[int, ...], length: int) -> None:
    for share, count in zip(shares, counts_before(np.array([length]), shares), strict=True):
        assert abs(int(count[0]) - length * share / sum(shares)) <= len(shares)


@given(st.lists(st.tuples(st.integers(1, 9), st.integers(-1, 40)), min_size=1, max_size=4))
def test_length_is_up_to_the_first_that_lacks(inputs: list[tuple[int, int]]) -> None:
    shares, lengths = tuple(share for share, _ in inputs), [length for _, length in inputs]
    expected = -1
    if (max(lengths) >= 0 and min(lengths) < 0) or min(lengths) >= 0:
        source, within = mixed(np.arange(2000), shares)
        lacking = [
            place
            for place, (number, inner) in enumerate(zip(source.tolist(), within.tolist(), strict=True))
            if 0 <= lengths[number] <= inner
        ]
        expected = lacking[0]
    assert mixed_length(lengths, shares) == expected


def test_mixture_of_a_billion_costs_nothing() -> None:
    assert mixed_length([10**15, 3 * 10**15], (1, 3)) == 4 * 10**15
