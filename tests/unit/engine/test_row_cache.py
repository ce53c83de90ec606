from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.block import Block
from penstock.block.collate import column_of
from penstock.block.origin import SourceOrigins
from penstock.block.tree import LEAF
from penstock.engine.cache import RowCache

COUNT = 10
ROW = 8


def _positions(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


def _cache(budget_bytes: int = 2**30) -> tuple[RowCache, list[str]]:
    told: list[str] = []
    return RowCache(COUNT, budget_bytes, told.append, "cache at a.py:1"), told


def _block(values: list[Any]) -> Block:
    index = np.arange(len(values), dtype=np.int64)
    return Block(LEAF, (column_of(values),) if values else (), SourceOrigins(0, "", index))


def _rows(cache: RowCache, *positions: int) -> list[Any]:
    wanted = _positions(*positions)
    block = cache.rows(wanted, SourceOrigins(0, "", wanted))
    return [np.asarray(element).tolist() for element in block.elements()]


ROWS: dict[str, list[Any]] = {
    "numbers": list(range(COUNT)),
    "arrays": [np.full((2, 3), n) for n in range(COUNT)],
    "ragged": [np.full(n + 1, n) for n in range(COUNT)],
    "large": [np.full(1000, n) for n in range(COUNT)],
    "text": [f"row {n}" for n in range(COUNT)],
    "text arrays": [[f"a{n}", "b"] for n in range(COUNT)],
    "ragged text": [["a"] * (n + 1) for n in range(COUNT)],
}


@pytest.mark.parametrize("kind", ROWS)
@given(order=st.permutations(range(COUNT)), size=st.integers(1, COUNT))
def test_rows_are_those_that_were_kept(kind: str, order: list[int], size: int) -> None:
    values = ROWS[kind]
    cache, _ = _cache()
    for start in range(0, COUNT, size):
        chosen = order[start : start + size]
        cache.keep(_positions(*chosen), _block([values[i] for i in chosen]))
    assert _rows(cache, *range(COUNT)) == [np.asarray(value).tolist() for value in values]


def test_missing_names_each_absent_position_once_in_the_order_given() -> None:
    cache, _ = _cache()
    cache.keep(_positions(4, 2), _block([40, 20]))
    assert cache.missing(_positions(5, 2, 1, 5, 4, 1)).tolist() == [5, 1]


def test_has_all() -> None:
    cache, _ = _cache()
    cache.keep(_positions(4, 2), _block([40, 20]))
    assert cache.has_all(_positions(2, 4, 2))
    assert not cache.has_all(_positions(2, 3))


def test_keep_lets_the_first_row_of_a_position_stay() -> None:
    cache, _ = _cache()
    cache.keep(_positions(1, 2), _block([10, 20]))
    cache.keep(_positions(2, 3), _block([99, 30]))
    assert _rows(cache, 1, 2, 3) == [10, 20, 30]


def test_keep_over_the_budget_keeps_what_fits_and_says_so_once() -> None:
    cache, told = _cache(budget_bytes=5 * ROW)
    cache.keep(_positions(0, 1, 2), _block([0, 1, 2]))
    cache.keep(_positions(3, 4, 5, 6), _block([3, 4, 5, 6]))
    cache.keep(_positions(7, 8), _block([7, 8]))
    assert cache.missing(_positions(*range(COUNT))).tolist() == [5, 6, 7, 8, 9]
    assert _rows(cache, 4, 0) == [4, 0]
    (text,) = told
    assert text.startswith("cache at a.py:1: the cache is full at 40 B of 40 B, with 5 of 10 elements")


@pytest.mark.parametrize("budget", [0, ROW - 1])
def test_keep_with_a_budget_below_one_row_keeps_none(budget: int) -> None:
    cache, told = _cache(budget_bytes=budget)
    cache.keep(_positions(0, 1), _block([0, 1]))
    assert cache.missing(_positions(0, 1)).tolist() == [0, 1]
    assert len(told) == 1


def test_keep_of_an_exact_budget_says_nothing() -> None:
    cache, told = _cache(budget_bytes=COUNT * ROW)
    cache.keep(_positions(*range(COUNT)), _block(list(range(COUNT))))
    assert cache.has_all(_positions(*range(COUNT)))
    assert told == []


def test_keep_of_an_empty_block_does_nothing() -> None:
    cache, told = _cache(budget_bytes=0)
    cache.keep(_positions(), _block([]))
    assert told == []


def test_rows_of_one_shape_then_another_are_kept_as_they_came() -> None:
    cache, _ = _cache()
    cache.keep(_positions(0), _block([np.zeros(2)]))
    cache.keep(_positions(1), _block([np.ones(3)]))
    assert _rows(cache, 1, 0) == [[1, 1, 1], [0, 0]]


@pytest.mark.parametrize("kind", ["arrays", "ragged", "large"])
def test_rows_do_not_change_when_the_block_does(kind: str) -> None:
    cache, _ = _cache()
    block = _block([np.array(value) for value in ROWS[kind]])
    cache.keep(_positions(*range(COUNT)), block)
    for element in block.elements():
        element[...] = -1
    assert _rows(cache, 3) == [ROWS[kind][3].tolist()]


@pytest.mark.parametrize("kind", ["ragged", "large"])
def test_rows_kept_apart_are_read_only(kind: str) -> None:
    cache, _ = _cache()
    cache.keep(_positions(*range(COUNT)), _block(ROWS[kind]))
    block = cache.rows(_positions(1), SourceOrigins(0, "", _positions(1)))
    assert not block.element(0).flags.writeable
