"""What the Keras adapter decides without Keras: its base class, a PyDataset's order, a dataset given as it is."""

from __future__ import annotations

import random
import sys
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.adapters import keras as adapter
from penstock.adapters.py_dataset import InOrder
from penstock.errors import InvalidArgumentError
from tests.framework.fake_feed import FakeFeed, as_pair

PRIVATE = "keras.src.trainers.data_adapters.data_adapter"


def install(monkeypatch: pytest.MonkeyPatch, version: str, *, has_adapter: bool = True) -> type:
    keras: Any = ModuleType("keras")
    private: Any = ModuleType(PRIVATE)
    keras.__version__ = version
    base = type("DataAdapter", (), {})
    if has_adapter:
        private.DataAdapter = base
    monkeypatch.setitem(sys.modules, "keras", keras)
    monkeypatch.setitem(sys.modules, PRIVATE, private)
    return base


@pytest.mark.parametrize("version", ["3.9.0", "3.15.1", "3.16.0.dev2026", "4.0rc1"])
def test_a_keras_that_takes_adapters_is_given_one(monkeypatch: pytest.MonkeyPatch, version: str) -> None:
    base = install(monkeypatch, version)
    assert adapter._data_adapter() is base


@pytest.mark.parametrize(("version", "has_adapter"), [("3.6.0", True), ("3.0.5", True), ("3.15.1", False)])
def test_a_keras_that_refuses_them_or_has_none_is_not(
    monkeypatch: pytest.MonkeyPatch, version: str, has_adapter: bool
) -> None:
    install(monkeypatch, version, has_adapter=has_adapter)
    assert adapter._data_adapter() is None


class Numbered(FakeFeed):
    """Batches whose inputs say the epoch they are of."""

    def open(self, epoch: int | None = None, start: int = 0) -> Any:
        number = float(epoch or 0)
        self.make = lambda ids, pool: (pool.array(np.full((ids.size, 1), number, np.float32)), as_pair(ids, pool)[1])
        return super().open(epoch, start)


def asked(batches: InOrder, indices: list[int]) -> list[tuple[int, int]]:
    """(epoch, first number) of each batch asked for."""
    return [(int(inputs[0, 0]), int(targets[0])) for inputs, targets in (batches[index] for index in indices)]


@pytest.mark.parametrize("looks", [0, 1, 2])
def test_a_py_dataset_gives_each_batch_once_per_epoch_in_the_order_of_the_feed(looks: int) -> None:
    feed, draw = Numbered(), random.Random(looks)
    batches = InOrder(feed)
    for _ in range(looks):  # at one batch, to learn shapes
        asked(batches, draw.sample(range(6), 1))
        batches.on_epoch_end()
    for epoch in range(3):
        given = asked(batches, draw.sample(range(6), 6))
        batches.on_epoch_end()
        assert sorted(given) == [(epoch, first) for first in (0, 4, 8, 12, 16, 20)]
        assert looks or given == sorted(given)
    assert feed.live == 0


def test_a_py_dataset_goes_on_with_its_epoch_over_epochs_of_the_loop() -> None:
    batches = InOrder(Numbered())
    given = []
    for indices in ([3, 1], [0, 5], [2, 4], [1, 2]):  # steps_per_epoch=2
        given += asked(batches, indices)
        batches.on_epoch_end()
    assert given == [(0, 0), (0, 4), (0, 8), (0, 12), (0, 16), (0, 20), (1, 0), (1, 4)]


def test_a_py_dataset_left_early_gives_the_same_batches_again() -> None:
    feed = Numbered()
    batches = InOrder(feed)
    first = asked(batches, [0, 1, 2, 3])
    batches.on_epoch_end()
    assert asked(batches, [0, 1, 2, 3, 4, 5]) == [*first, (0, 16), (0, 20)]
    assert feed.live == 0


def test_a_dataset_given_to_keras_as_it_is_names_the_remedy() -> None:
    dataset = ps.Dataset.range(8).batch(4)
    with pytest.raises(InvalidArgumentError, match=r"Keras was given a Dataset.*give it dataset\.to_keras\(\)"):
        eval("hasattr(dataset, '__array__')", {"__name__": "keras.src.somewhere", "dataset": dataset})
    assert not hasattr(dataset, "__array__")
