from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock.adapters.feed import Feed
from penstock.adapters.passes import LISTENERS, Passes
from tests.framework.fake_feed import FakeFeed


def first_ids(batches: Any) -> list[int]:
    return [int(targets[0]) for _, targets in batches]


def test_passes_open_nothing_before_the_first_batch() -> None:
    feed = FakeFeed()
    passes = Passes(feed)
    batches = passes()
    assert feed.opened == []
    next(batches)
    assert (feed.opened, feed.live) == ([0], 1)
    batches.close()


def test_passes_give_every_batch_and_count_epochs() -> None:
    feed = FakeFeed()
    passes = Passes(feed)
    assert [first_ids(passes()) for _ in range(2)] == [[0, 4, 8, 12, 16, 20]] * 2
    assert (feed.opened, feed.live) == ([0, 1], 0)


def test_a_dropped_pass_closes_the_feed() -> None:
    feed = FakeFeed()
    batches = Passes(feed)()
    next(batches)
    del batches
    assert feed.live == 0


def test_a_failed_pass_closes_the_feed() -> None:
    feed = FakeFeed(fail_at=1)
    with pytest.raises(RuntimeError, match="no more"):
        list(Passes(feed)())
    assert feed.live == 0


def test_the_last_of_a_known_number_closes_the_feed_though_the_pass_is_kept() -> None:
    feed = FakeFeed()
    batches = Passes(feed)()
    for _ in range(6):
        next(batches)
    assert feed.live == 0
    batches.close()


def test_two_passes_may_be_open_at_once() -> None:
    feed = FakeFeed()
    passes = Passes(feed)
    one, other = passes(), passes()
    assert [int(next(one)[1][0]), int(next(other)[1][0]), int(next(one)[1][0])] == [0, 0, 4]
    assert feed.opened == [0, 1]


def test_a_peek_takes_nothing_away_and_counts_no_epoch() -> None:
    feed, peeking = FakeFeed(), True
    passes = Passes(feed, is_peek=lambda: peeking)
    peek = passes()
    assert int(next(peek)[1][0]) == 0
    assert int(next(peek)[1][0]) == 4
    del peek
    peeking = False
    assert first_ids(passes()) == [0, 4, 8, 12, 16, 20]
    assert (feed.opened, feed.live) == ([0], 0)


def test_a_second_peek_sees_what_the_first_saw() -> None:
    feed, peeking = FakeFeed(), True
    passes = Passes(feed, is_peek=lambda: peeking)
    assert [int(next(passes())[1][0]) for _ in range(2)] == [0, 0]
    peeking = False
    assert first_ids(passes()) == [0, 4, 8, 12, 16, 20]
    assert feed.opened == [0]


def test_a_peek_that_nothing_follows_is_closed_with_its_passes() -> None:
    feed = FakeFeed()
    passes = Passes(feed, is_peek=lambda: True)
    next(passes())
    assert feed.live == 1
    del passes
    assert feed.live == 0


@pytest.mark.parametrize(("cardinality", "ends"), [(-2, True), (6, False), (7, True)])
def test_the_end_is_told_unless_the_length_was_known_and_reached(cardinality: int, ends: bool) -> None:
    batches = Passes(FakeFeed(cardinality=cardinality))(end=lambda: LookupError("end"))
    for _ in range(6):
        next(batches)
    with pytest.raises(LookupError if ends else StopIteration):
        next(batches)


def test_a_pass_does_not_keep_the_batch_it_gave() -> None:
    feed = FakeFeed(cardinality=-1)
    batches = Passes(feed)()
    for _ in range(50):
        inputs, _ = next(batches)
    # two waiting, one being made, one here, one on its way in either direction; of two arrays each
    assert feed.pool.allocated <= 2 * 6
    assert np.all(inputs >= 0)
    batches.close()


def test_the_fake_is_a_feed() -> None:
    assert isinstance(FakeFeed(), Feed)


def test_who_listens_hears_each_batch_and_the_feeds_own_and_nobody_else_does() -> None:
    class Listener:
        def __init__(self) -> None:
            self.heard: list[str] = []

        def opened(self, batches: Any) -> None:
            self.heard.append(type(batches).__name__)

        def passing(self, batches: Any, owner: Any) -> Any:
            self.heard.append(type(owner).__name__)
            for batch in batches:
                self.heard.append("batch")
                yield batch

    listener, passes = Listener(), Passes(FakeFeed(samples=8, cardinality=2))
    before = LISTENERS.set((listener,))
    try:
        assert first_ids(passes()) == [0, 4]
    finally:
        LISTENERS.reset(before)
    assert listener.heard == ["Passes", "FakeBatches", "batch", "batch"]
    assert first_ids(passes()) == [0, 4]
    assert len(listener.heard) == 4
