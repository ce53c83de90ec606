from __future__ import annotations

from itertools import count

from penstock.adapters.feed import Feed
from penstock.cli.demo.pace import Fetch
from penstock.cli.demo.watch import Watch, WatchedFeed
from tests.framework.fake_feed import FakeFeed


def ticking_watch(steps: list[int]) -> Watch:
    ticks = count()
    return Watch(steps.append, now=lambda: float(next(ticks)))


def test_a_watched_feed_is_a_feed_and_times_each_batch() -> None:
    feed = FakeFeed()
    watch = ticking_watch([])
    watched = WatchedFeed(feed, watch)
    assert isinstance(watched, Feed)
    assert (watched.cardinality, watched.partial_batch_size) == (6, 2)
    batches = watched.open(epoch=3)
    assert len(list(batches)) == 6
    batches.close()
    assert (feed.opened, feed.live) == ([3], 0)
    assert watch.fetches == [Fetch(2.0 * i, 2.0 * i + 1) for i in range(6)]


def test_a_watched_feed_that_nobody_reads_is_not_opened() -> None:
    feed = FakeFeed()
    WatchedFeed(feed, ticking_watch([])).open().close()
    assert feed.opened == []


def test_steps_are_counted_and_put_in_order() -> None:
    steps = list[int]()
    times = iter([2.0, 1.0, 3.0])
    watch = Watch(steps.append, now=lambda: next(times))
    for _ in range(3):
        watch.step_done()
    assert (steps, watch.done_s) == ([1, 2, 3], [1.0, 2.0, 3.0])
