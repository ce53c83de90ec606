"""Quantiles from buckets: within the promised error of the true ones, and merged they are those of all."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.telemetry.sketch import QUANTILES, RELATIVE_ERROR, Sketch
from penstock.telemetry.slowest import MOST, Slowest

SECONDS = st.lists(st.floats(1e-7, 1e3), min_size=1, max_size=200)


@given(SECONDS)
def test_quantiles_are_within_the_promised_error(seconds: list[float]) -> None:
    sketch = Sketch()
    sketch.add_each(np.array(seconds))
    for share in QUANTILES:
        true = np.quantile(seconds, share, method="inverted_cdf")
        assert sketch.quantile(share) == pytest.approx(true, rel=RELATIVE_ERROR * 1.001)
    assert sketch.quantile(1.0) == max(seconds)


@given(SECONDS, SECONDS)
def test_merging_is_as_adding_all(first: list[float], second: list[float]) -> None:
    one, other, together = Sketch(), Sketch(), Sketch()
    one.add_each(np.array(first))
    for seconds in second:
        other.add(seconds)
    together.add_each(np.array(first + second))
    one.merge(other)
    assert one == together


def test_a_block_counts_as_many_elements_as_it_has() -> None:
    sketch = Sketch()
    sketch.add(1.0, 99)
    sketch.add(8.0)
    assert sketch.count == 100
    assert sketch.quantile(0.99) == pytest.approx(1.0, rel=RELATIVE_ERROR)
    assert sketch.quantile(1.0) == 8.0


def test_nothing_has_no_quantiles() -> None:
    assert Sketch().quantile(0.5) == Sketch().quantile(1.0) == 0.0


def test_absurd_seconds_stay_in_the_table() -> None:
    sketch = Sketch()
    for seconds in (0.0, -1.0, 1e9):
        sketch.add(seconds)
    assert sketch.count == 3


def test_the_slowest_are_kept_whatever_their_order() -> None:
    rng = np.random.default_rng(0)
    whole, parts = Slowest(), [Slowest() for _ in range(4)]
    seconds = rng.permutation(500).astype(float)
    for number, value in enumerate(seconds):
        whole.add(value, str(value))
        parts[number % 4].add(value, str(value))
    merged = Slowest()
    for part in parts:
        merged.merge(part)
    assert sorted(whole.found) == sorted(merged.found) == [(float(n), str(float(n))) for n in range(500 - MOST, 500)]
    assert whole.bar_s == 500 - MOST
