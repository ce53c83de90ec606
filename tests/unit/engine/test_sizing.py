from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engine.sizing import (
    AWAY_ROWS,
    FIRST_ROWS,
    GROWTH,
    TARGET_BYTES,
    TARGET_SECONDS,
    TaskSize,
    batches_or_part,
)

MS = 1e-3
SLOW, FAST = TARGET_SECONDS, TARGET_SECONDS / 4096


@pytest.mark.parametrize(
    ("before", "row_s", "row_bytes", "rows"),
    [
        pytest.param(8, FAST, 8, 64, id="fast rows: eight times as many"),
        pytest.param(64, FAST, 8, 512, id="and again"),
        pytest.param(4096, FAST, 0, 4096, id="as long as wanted: stays"),
        pytest.param(8, SLOW, 0, 1, id="slow rows: one"),
        pytest.param(8, SLOW * 10, 0, 1, id="slower than a task should be: still one"),
        pytest.param(8, SLOW / 100, 0, 64, id="a power of two"),
        pytest.param(8, SLOW / 5, 0, 8, id="half as many: not worth a change"),
        pytest.param(8, SLOW / 3, 0, 2, id="a quarter: a change"),
        pytest.param(8, 0.0, 0, 64, id="no cost at all"),
        pytest.param(64, 0.0, TARGET_BYTES // 8, 8, id="large rows bound it"),
        pytest.param(64, 0.0, TARGET_BYTES * 3, 1, id="rows larger than a task should be: one"),
        pytest.param(16, TARGET_SECONDS / 20, TARGET_BYTES // 7, 16, id="large rows that take long: what time allows"),
        pytest.param(64, TARGET_SECONDS / 80, TARGET_BYTES // 4, 16, id="up to a larger bound"),
    ],
)
def test_after_follows_the_cost_of_a_row(before: int, row_s: float, row_bytes: int, rows: int) -> None:
    assert TaskSize(before).after(before, before * row_s, before * row_bytes).rows == rows


@pytest.mark.parametrize(
    ("before", "row_s", "row_bytes", "rows"),
    [
        pytest.param(64, 0.0, 0, AWAY_ROWS, id="rows that cost nothing here: not too many"),
        pytest.param(8, SLOW * 10, 0, FIRST_ROWS, id="rows that take long besides: several still wait at once"),
        pytest.param(64, 0.0, TARGET_BYTES * 3, 1, id="large rows bound it as ever"),
    ],
)
def test_after_a_wait_for_storage_rows_stay_many(before: int, row_s: float, row_bytes: int, rows: int) -> None:
    assert TaskSize(before).after(before, before * row_s, before * row_bytes, away=True).rows == rows


def test_after_smooths_the_cost() -> None:
    size = TaskSize(8).after(8, 8 * MS, 80).after(10, 20 * MS, 0)
    assert size.row_s == pytest.approx(0.7 * MS + 0.3 * 2 * MS)
    assert size.row_bytes == pytest.approx(7.0)


def test_after_forgets_one_slow_task() -> None:
    size = TaskSize(64).after(64, 64 * FAST, 0)
    fast = size.rows
    size = size.after(fast, 1.0, 0)
    for _ in range(40):
        size = size.after(size.rows, size.rows * FAST, 0)
    assert size.rows >= fast


def test_after_never_changes_a_fixed_size() -> None:
    size = TaskSize(3, fixed=True)
    assert size.after(3, 100.0, 10**9) is size


def test_after_learns_nothing_from_an_empty_task() -> None:
    size = TaskSize(8)
    assert size.after(0, 5.0, 5) is size


@given(st.lists(st.tuples(st.floats(0, 10), st.integers(0, 2**30)), max_size=20))
def test_after_stays_a_power_of_two_and_grows_slowly(costs: list[tuple[float, int]]) -> None:
    size = TaskSize()
    assert size.rows == FIRST_ROWS
    for seconds, nbytes in costs:
        before, size = size, size.after(size.rows, seconds, nbytes)
        assert 1 <= size.rows <= before.rows * GROWTH
        assert size.rows & (size.rows - 1) == 0


@pytest.mark.parametrize(
    ("rows", "batch", "expected"),
    [
        (64, 64, (1, 64)),
        (200, 64, (3, 64)),
        (64, 1, (64, 1)),
        (32, 64, (0, 32)),
        (1, 64, (0, 1)),
        (30, 64, (0, 22)),
        (63, 64, (0, 32)),
    ],
)
def test_batches_or_part(rows: int, batch: int, expected: tuple[int, int]) -> None:
    assert batches_or_part(rows, batch) == expected


@given(st.integers(1, 500), st.integers(1, 500))
def test_batches_or_part_makes_equal_parts(rows: int, batch: int) -> None:
    batches, part = batches_or_part(rows, batch)
    if batches:
        assert part == batch
        assert batches * batch <= rows
    else:
        assert part <= rows
        parts = -(-batch // part)
        assert batch - (parts - 1) * part > 0
