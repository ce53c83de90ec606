from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.adapters.delivery import Delivery
from penstock.adapters.passes import LISTENERS
from penstock.dataset import DatasetFeed
from penstock.errors import NotResumableError, StateMismatchError, UnknownLengthError
from penstock.session import PipelineIterator
from tests.framework.fake_feed import FakeFeed


class Noted:
    """A mover that notes the order of what it is asked."""

    def __init__(self, ahead: int = 0, fail_at: int | None = None) -> None:
        self.ahead = ahead
        self.fail_at = fail_at
        self.notes: list[str] = []
        self.closed = 0

    def send(self, batch: Any) -> Any:
        number = int(batch[1][0]) // 4
        if number == self.fail_at:
            raise RuntimeError("cannot send")
        self.notes.append(f"send {number}")
        return number

    def receive(self, sent: Any) -> Any:
        self.notes.append(f"receive {sent}")
        return sent

    def close(self) -> None:
        self.closed += 1


class AsIs(Noted):
    def send(self, batch: Any) -> Any:
        return batch.tolist()

    def receive(self, sent: Any) -> Any:
        return sent


def delivery(dataset: ps.Dataset, ahead: int = 0) -> Delivery:
    return Delivery(DatasetFeed(dataset), AsIs(ahead))


def test_a_batch_is_sent_before_it_is_asked_for() -> None:
    mover = Noted(ahead=2)
    batches = iter(Delivery(FakeFeed(), mover))
    next(batches)
    next(batches)
    assert mover.notes == ["send 0", "send 1", "send 2", "receive 0", "send 3", "receive 1"]
    del batches


def test_without_look_ahead_a_batch_is_sent_when_it_is_asked_for() -> None:
    mover = Noted()
    assert list(Delivery(FakeFeed(), mover)) == list(range(6))
    assert mover.notes[:4] == ["send 0", "receive 0", "send 1", "receive 1"]


@pytest.mark.parametrize("ahead", [0, 1, 3, 10])
@pytest.mark.parametrize("cardinality", [6, -2])
def test_each_epoch_is_whole_and_the_next(ahead: int, cardinality: int) -> None:
    feed = FakeFeed(cardinality=cardinality)
    batches = Delivery(feed, Noted(ahead))
    assert [list(batches), list(batches)] == [list(range(6))] * 2
    assert (feed.opened, feed.live, batches.epoch) == ([0, 1], 0, 2)


def test_what_came_before_a_failure_is_delivered_first() -> None:
    feed = FakeFeed(fail_at=3)
    batches = iter(Delivery(feed, Noted(ahead=5)))
    assert [next(batches) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(RuntimeError, match="no more"):
        next(batches)
    assert feed.live == 0


def test_a_batch_that_cannot_be_sent_ends_the_pass_after_those_before_it() -> None:
    feed = FakeFeed()
    batches = iter(Delivery(feed, Noted(ahead=2, fail_at=1)))
    assert next(batches) == 0
    with pytest.raises(RuntimeError, match="cannot send"):
        next(batches)
    assert feed.live == 0


def test_a_dropped_pass_closes_the_feed_and_the_next_is_the_next_epoch() -> None:
    feed = FakeFeed()
    data = Delivery(feed, Noted(ahead=2))
    batches = iter(data)
    next(batches)
    del batches
    assert feed.live == 0
    assert list(data) == list(range(6))
    assert feed.opened == [0, 1]


def test_an_iterator_that_nobody_reads_opens_nothing() -> None:
    feed = FakeFeed()
    data = Delivery(feed, Noted())
    iter(data)
    assert (list(data), feed.opened) == (list(range(6)), [0])


def test_a_given_epoch_is_read() -> None:
    feed = FakeFeed()
    data = Delivery(feed, Noted())
    data.set_epoch(7)
    assert len(list(data)) == 6
    assert (feed.opened, data.epoch) == ([7], 8)


def test_length_is_told_where_it_is_known() -> None:
    assert len(Delivery(FakeFeed(), Noted())) == 6
    data = Delivery(FakeFeed(cardinality=-2), Noted())
    assert data
    with pytest.raises(UnknownLengthError, match="unknown"):
        len(data)


def test_close_gives_back_what_moving_took() -> None:
    mover = Noted()
    Delivery(FakeFeed(), mover).close()
    assert mover.closed == 1


PIPELINES = {
    "indexed": lambda: ps.Dataset.range(23).shuffle().batch(4),
    "stream": lambda: ps.Dataset.range(40).filter(lambda n: n % 3 != 0).shuffle(7).batch(4),
}


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("ahead", [0, 3])
def test_a_state_counts_what_was_received_at_every_step(name: str, ahead: int) -> None:
    data = delivery(PIPELINES[name](), ahead)
    whole, states = [], [json.dumps(data.state_dict())]
    for batch in data:
        whole.append(batch)
        states.append(json.dumps(data.state_dict()))
    after = next(iter(data))
    for received, state in enumerate(states):
        again = delivery(PIPELINES[name](), ahead)
        again.load_state_dict(json.loads(state))
        assert json.dumps(again.state_dict()) == state
        assert list(again) == whole[received:]
        assert next(iter(again)) == after


def test_a_state_after_the_end_is_that_of_the_next_epoch() -> None:
    data = delivery(PIPELINES["indexed"]())
    list(data)
    again = delivery(PIPELINES["indexed"]())
    again.load_state_dict(data.state_dict())
    assert list(again) == list(data)


def test_an_iterator_that_nobody_reads_does_not_use_a_loaded_state_up() -> None:
    data = delivery(PIPELINES["indexed"]())
    batches = iter(data)
    next(batches)
    again = delivery(PIPELINES["indexed"]())
    again.load_state_dict(data.state_dict())
    iter(again)
    assert list(again) == list(batches)


@pytest.mark.parametrize(("epoch", "rest"), [(0, 5), (3, 6)])
def test_naming_the_epoch_of_a_loaded_state_keeps_it(epoch: int, rest: int) -> None:
    data = delivery(PIPELINES["indexed"]())
    batches = iter(data)
    next(batches)
    again = delivery(PIPELINES["indexed"]())
    again.load_state_dict(data.state_dict())
    again.set_epoch(epoch)
    assert len(list(again)) == rest
    batches.close()  # type: ignore[attr-defined]


@pytest.mark.parametrize("state", [{}, None, [], {"version": 0, "epoch": 0, "batches": None}])
def test_what_is_no_state_is_refused(state: Any) -> None:
    with pytest.raises(StateMismatchError, match="state_dict"):
        delivery(PIPELINES["indexed"]()).load_state_dict(state)


def test_a_state_of_another_pipeline_is_refused_when_it_is_loaded() -> None:
    data = delivery(PIPELINES["indexed"]())
    batches = iter(data)
    next(batches)
    with pytest.raises(StateMismatchError):
        delivery(PIPELINES["stream"]()).load_state_dict(data.state_dict())
    batches.close()  # type: ignore[attr-defined]


def test_a_feed_without_states_says_so() -> None:
    data = Delivery(FakeFeed(), Noted())
    batches = iter(data)
    next(batches)
    with pytest.raises(NotResumableError, match="FakeFeed"):
        data.state_dict()
    del batches


def test_asking_a_feed_whether_it_can_be_resumed_looks_at_no_element() -> None:
    def never(number: Any) -> Any:
        raise AssertionError

    data = delivery(ps.Dataset.range(3).map(never, compile=False).batch(2))
    assert len(data) == 2
    assert isinstance(np.asarray(data.epoch), np.ndarray)


@pytest.mark.parametrize("ahead", [0, 2])
def test_listeners_hear_what_the_loop_asks_for_and_see_the_feed_s_own_batches(ahead: int) -> None:
    class Heard:
        def __init__(self) -> None:
            self.given: list[Any] = []
            self.batches: list[Any] = []

        def passing(self, batches: Any, owner: Any) -> Any:
            for batch in batches:
                self.given.append(batch)
                yield batch

        def opened(self, batches: Any) -> None:
            self.batches.append(batches)

    heard = Heard()
    before = LISTENERS.set((heard,))
    try:
        batches = iter(delivery(PIPELINES["indexed"](), ahead))
    finally:
        LISTENERS.reset(before)
    received = [next(batches) for _ in range(2)]
    assert heard.given == received
    assert [type(opened) for opened in heard.batches] == [PipelineIterator]
    del batches


def test_two_passes_at_once_keep_their_states_apart() -> None:
    data = delivery(PIPELINES["indexed"](), ahead=1)
    one, other = iter(data), iter(data)
    next(one)
    states = [data.state_dict()]
    next(other)
    next(other)
    states.append(data.state_dict())
    next(one)
    states.append(data.state_dict())
    assert [(state["epoch"], state["batches"]["position"]) for state in states] == [(0, 1), (1, 2), (0, 2)]
    del one, other
