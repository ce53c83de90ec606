"""What a tally tells beyond seconds: what was read, single elements, ops, and which of it waits for a first block."""

from __future__ import annotations

import numpy as np

from penstock.telemetry.clock import Clock
from penstock.telemetry.tally import NoTally, StepTotals, Tally, Told

MAP, READ = (1, "map"), (0, "read")


class Time:
    """Seconds, and what was read, that pass when `work` is called."""

    def __init__(self) -> None:
        self.now_s = self.read_s = 0.0
        self.read_bytes = 0

    def clock(self) -> Clock:
        return Clock(lambda: self.now_s, lambda: self.now_s, reads=lambda: (self.read_s, self.read_bytes))

    def work(self, seconds: float, *, read_s: float = 0.0, read_bytes: int = 0) -> None:
        self.now_s += seconds
        self.read_s += read_s
        self.read_bytes += read_bytes


class Rows:
    """A block of so many rows."""

    nbytes = 8

    def __init__(self, rows: int) -> None:
        self.rows = rows

    def __len__(self) -> int:
        return self.rows

    def describe(self, row: int) -> str:
        return f"row {row}"


def test_reading_is_charged_to_the_step_that_reads() -> None:
    time = Time()
    tally = Tally(time.clock())

    def read() -> Rows:
        time.work(3.0, read_s=2.0, read_bytes=100)
        return Rows(1)

    def mapped() -> Rows:
        time.work(1.0, read_s=0.5, read_bytes=7)
        tally.measure(READ, "read", read)
        return Rows(1)

    tally.measure(MAP, "map", mapped)
    assert (tally.steps[READ].storage_s, tally.steps[READ].storage_bytes) == (2.0, 100)
    assert (tally.steps[MAP].storage_s, tally.steps[MAP].storage_bytes) == (0.5, 7)


def test_reading_in_another_process_is_charged_to_the_open_step() -> None:
    time = Time()
    tally = Tally(time.clock())

    def handed_over() -> Rows:
        time.work(9.0)
        tally.absorb({READ: StepTotals("read", busy_s=4.0, storage_s=3.0, storage_bytes=30)}, 5.0, 4.0, 50)
        return Rows(1)

    tally.measure(MAP, "map", handed_over)
    assert (tally.steps[READ].storage_s, tally.steps[READ].storage_bytes) == (3.0, 30)
    assert (tally.steps[MAP].storage_s, tally.steps[MAP].storage_bytes) == (1.0, 20)


def test_elements_of_a_block_count_as_its_mean_unless_they_are_told_apart() -> None:
    time = Time()
    tally = Tally(time.clock())

    def block() -> Rows:
        time.work(4.0)
        return Rows(4)

    def apart() -> Rows:
        time.work(6.0)
        tally.told = Told.of(np.array([1.0, 5.0]), Rows(2).describe)
        return Rows(2)

    tally.measure(READ, "read", block)
    tally.measure(MAP, "map", apart)
    read, mapped = tally.steps[READ], tally.steps[MAP]
    assert read.each.counts == {0: 4}
    assert read.slowest.found == [(1.0, "row 0 and 3 more")]
    assert mapped.each.count == 2
    assert mapped.each.most_s == 5.0
    assert max(mapped.slowest.found) == (5.0, "row 1")


def test_first_blocks_tell_nothing_of_their_elements_where_it_is_known_which_they_are() -> None:
    time = Time()
    bars: dict[tuple[int, str], float] = {}
    tally = Tally(time.clock(), bars=bars)

    def block() -> Rows:
        time.work(2.0)
        return Rows(1)

    tally.measure(MAP, "map", block)
    assert tally.steps[MAP].each.count == 0
    bars[MAP] = 3.0
    tally.measure(MAP, "map", block)
    assert tally.steps[MAP].each.count == 1
    assert not tally.steps[MAP].slowest.found  # it did not pass the bar
    assert (tally.steps[MAP].calls, tally.steps[MAP].busy_s) == (2, 4.0)


def test_ops_belong_to_the_step_that_is_open() -> None:
    time = Time()
    tally = Tally(time.clock())

    def inner() -> Rows:
        tally.op(0, "inner", 1.0, 0.5)
        return Rows(1)

    def outer() -> Rows:
        tally.op(0, "before", 1.0, 0.5)
        tally.measure(READ, "read", inner)
        tally.op(1, "after", 2.0, 0.25)
        tally.op(1, "after", 2.0, 0.25)
        return Rows(1)

    tally.measure(MAP, "map", outer)
    assert [(op.name, op.calls, op.busy_s) for op in tally.steps[MAP].ops.values()] == [
        ("before", 1, 1.0), ("after", 2, 4.0),
    ]  # fmt: skip
    assert [op.name for op in tally.steps[READ].ops.values()] == ["inner"]


def test_what_is_not_measured_keeps_nothing() -> None:
    tally = NoTally(Time().clock())
    tally.op(0, "op", 1.0, 1.0)
    assert tally.measure(MAP, "map", lambda: Rows(1)).rows == 1
    assert not tally.steps
    assert tally.ops is None
