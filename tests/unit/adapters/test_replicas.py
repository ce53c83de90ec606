"""Which datasets divide over devices and processes, known before the first step."""

from __future__ import annotations

import pytest

import penstock as ps
from penstock.adapters.feed import Shared, shared_of
from penstock.adapters.replicas import require_divisible
from penstock.dataset import DatasetFeed
from penstock.errors import InvalidArgumentError

ROWS = ps.Dataset.range(40)


def check(dataset: ps.Dataset, processes: int, devices: int) -> None:
    feed = DatasetFeed(dataset)
    require_divisible(feed, shared_of(feed), processes, devices, "here")


@pytest.mark.parametrize(
    ("dataset", "processes", "devices"),
    [
        (ROWS.batch(16), 1, 1),
        (ROWS.filter(lambda row: row > 3).batch(16), 1, 1),
        (ROWS.batch(16), 1, 8),
        (ROWS.batch(16).distribute(rank=1, world_size=2), 2, 4),
        (ROWS.take(41).batch(16, drop_remainder=True), 1, 16),
        (ROWS.take(35).batch(16, remainder="pad").distribute(rank=0, world_size=2), 2, 1),
        (ROWS.filter(lambda row: row > 3).batch(16, drop_remainder=True), 1, 2),
        (ROWS.repeat().batch(16), 1, 4),
        (ROWS.batch(8).repeat(), 1, 8),
        (ROWS.batch(4).rebatch(8, drop_remainder=True), 1, 8),
        (ROWS.shard(2, 0).batch(10), 2, 1),
        (ROWS.batch(10).distribute("off", rank=0, world_size=2), 2, 5),
    ],
)
def test_batches_that_divide_pass(dataset: ps.Dataset, processes: int, devices: int) -> None:
    check(dataset, processes, devices)


@pytest.mark.parametrize(
    ("dataset", "processes", "devices", "message"),
    [
        (ROWS.batch(10), 1, 4, r"got 10 rows, expected a multiple of 4; say batch\((8|12)\)"),
        (ROWS.take(33).batch(16), 1, 2, "the last batch does not divide over 2 devices; got 1 rows"),
        (ROWS.take(35).batch(16).distribute(rank=0, world_size=2), 2, 1, "over 1 device of each of 2 processes; got 3"),
        (ROWS.filter(lambda row: row > 3).batch(16), 1, 2, "not known before.*drop_remainder"),
        (ROWS.take(33).batch(16).repeat(), 1, 2, "got 1 rows"),
        (ROWS.shard(2, 0).batch(16), 2, 1, "may differ in size"),
    ],
)
def test_batches_that_do_not_divide_are_refused(
    dataset: ps.Dataset, processes: int, devices: int, message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        check(dataset, processes, devices)


@pytest.mark.parametrize(
    ("shared", "message"),
    [
        (Shared("file", 2, (3, 2), True), "different ends; got 3, 2 batches"),
        (Shared("file", 2, (3, 3), False), "different ends"),
        (Shared("file", 2, None, True), "unknown numbers"),
        (Shared("data", 4, (3,) * 4, True), "got 4 ranks, expected 2"),
    ],
)
def test_ranks_that_would_wait_for_ever_are_refused(shared: Shared, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        require_divisible(DatasetFeed(ROWS.batch(8)), shared, 2, 1, "here")


def test_files_that_give_equal_steps_pass() -> None:
    require_divisible(DatasetFeed(ROWS.batch(8)), Shared("file", 2, (3, 3), True), 2, 1, "here")
