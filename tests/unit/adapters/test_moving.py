"""Movers without a framework, and what `to_numpy` returns."""

from __future__ import annotations

import threading
from itertools import chain
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.adapters.delivery import Delivery
from penstock.adapters.moving import Convert, PlaceInThread
from tests.framework.fake_feed import FakeFeed


class Placer:
    """Notes what it placed, and in which threads; blocks until `go` is set."""

    def __init__(self, fail_at: int | None = None) -> None:
        self.placed: list[int] = []
        self.threads: set[str] = set()
        self.go = threading.Event()
        self.go.set()
        self._fail_at = fail_at

    def __call__(self, batch: Any) -> int:
        assert self.go.wait(10)
        self.threads.add(threading.current_thread().name)
        if len(self.placed) == self._fail_at:
            raise MemoryError("the device is full")
        self.placed.append(int(batch[1][0]))
        return self.placed[-1]


def test_batches_come_in_order_placed_by_a_thread_of_their_own() -> None:
    feed, place = FakeFeed(), Placer()
    with Delivery(feed, PlaceInThread(place, ahead=2)) as batches:
        assert list(batches) == list(batches) == [0, 4, 8, 12, 16, 20]
    assert (place.threads, feed.live) == ({"penstock-place_0"}, 0)
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("penstock-place")]


def test_the_loop_does_not_wait_for_what_it_has_not_asked_for() -> None:
    place = Placer()
    mover = PlaceInThread(place, ahead=2)
    first = mover.send((None, [0]))
    assert mover.receive(first) == 0
    place.go.clear()
    sent = [mover.send((None, [number])) for number in (1, 2)]  # returns though nothing is placed
    assert place.placed == [0]
    place.go.set()
    assert [mover.receive(one) for one in sent] == [1, 2]
    mover.close()


def test_an_error_of_placing_comes_after_the_batches_before_it() -> None:
    feed = FakeFeed()
    data = Delivery(feed, PlaceInThread(Placer(fail_at=2), ahead=3))
    batches = iter(data)
    assert [next(batches), next(batches)] == [0, 4]
    with pytest.raises(MemoryError):
        next(batches)
    data.close()
    assert feed.live == 0


def test_leaving_ends_every_epoch_that_is_read() -> None:
    feed = FakeFeed()
    with Delivery(feed, Convert()) as data:
        one, other = iter(data), iter(data)
        next(one)
        next(other)
        assert feed.live == 2
    assert (feed.live, list(one)) == (0, [])
    assert len(list(data)) == 6


def test_to_numpy_gives_an_epoch_anew_each_time() -> None:
    dataset = ps.Dataset.range(10).shuffle().batch(4)
    with dataset.to_numpy() as batches:
        first, second = ([batch.tolist() for batch in batches] for _ in range(2))
        assert (len(batches), batches.element_spec) == (3, dataset.element_spec)
    assert sorted(chain(*first)) == sorted(chain(*second)) == list(range(10))
    assert first != second
    assert [batch.tolist() for batch in dataset.iterator(epoch=1)] == second


def test_to_numpy_counts_epochs_apart_from_the_dataset() -> None:
    dataset = ps.Dataset.range(20).shuffle().batch(20)
    batches = dataset.to_numpy()
    list(dataset)
    assert np.array_equal(next(iter(batches)), next(dataset.iterator(epoch=0)))


def test_to_numpy_goes_on_where_a_state_was_taken() -> None:
    batches = ps.Dataset.range(10).shuffle().batch(4).to_numpy()
    reading = iter(batches)
    next(reading)
    again = ps.Dataset.range(10).shuffle().batch(4).to_numpy()
    again.load_state_dict(batches.state_dict())
    assert [batch.tolist() for batch in again] == [batch.tolist() for batch in reading]
