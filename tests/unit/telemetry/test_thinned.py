"""A bounded record thins itself evenly."""

from __future__ import annotations

import pytest

from penstock.telemetry.thinned import Thinned


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9, 16, 100, 1000])
def test_every_2k_th_item_is_kept_from_the_first_on(count: int) -> None:
    record: Thinned[int] = Thinned(most=8)
    for item in range(count):
        record.add(item)
    assert record.kept == list(range(0, count, record.mask + 1))
    assert len(record.kept) < 8
    assert record.seen == count
    assert len(record.kept) >= min(count, 4)
