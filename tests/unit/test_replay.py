"""Replay: batches fed again from memory, their steps timed, the outcome told to the iterator."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.session.replay import Replay


class FakeTime:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_the_first_batches_come_then_again_and_the_rest_stays() -> None:
    source = iter(range(10))
    assert list(ps.replay(source, batches=3, steps=4)) == [0, 1, 2, 0, 1, 2, 0, 1, 2, 0]
    assert list(source) == [3, 4, 5, 6, 7, 8, 9]


def test_steps_of_the_later_turns_are_timed() -> None:
    now = FakeTime()
    replayed = Replay(range(10), 2, 5, now)
    for number, _ in enumerate(replayed):
        now.seconds += 10.0 if number < 4 else 0.25
    assert replayed.step_s == 0.25


def test_a_loader_that_ends_early_is_replayed_with_what_it_gave() -> None:
    assert list(ps.replay([7, 8], batches=5, steps=2)) == [7, 8, 7, 8, 7, 8]


def test_an_empty_loader_ends_and_measures_nothing() -> None:
    replayed = ps.replay([], batches=5)
    assert list(replayed) == []
    assert replayed.step_s is None


def test_an_iterator_learns_the_trainers_speed() -> None:
    with ps.Dataset.range(64).batch(4).iterator() as batches:
        replayed = ps.replay(batches, batches=2, steps=3)
        for _ in replayed:
            pass
        assert batches.trace().consumer.replay_step_s == replayed.step_s
        between_s = batches.trace().consumer.between_s
        next(batches)
        assert batches.trace().consumer.between_s == between_s
        assert batches.trace().consumer.steps == 3


def test_once_ended_it_stays_ended() -> None:
    replayed: Iterator[int] = ps.replay([1], batches=1, steps=1)
    assert list(replayed) == [1, 1, 1]
    assert list(replayed) == []


@pytest.mark.parametrize("said", [{"batches": 0}, {"steps": 0}])
def test_less_than_one_is_refused(said: dict[str, int]) -> None:
    with pytest.raises(InvalidArgumentError):
        ps.replay([1], **said)
