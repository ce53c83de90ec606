from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock as ps
from penstock.graph.node import becomes_index_driven, index_obstacle
from tests.unit.graph.datasets import infinite, node_of, ten, unknown

INDEXED: dict[str, Callable[[], ps.Dataset]] = {
    "range": ten,
    "counter": lambda: ps.Dataset.counter(),
    "random": lambda: ps.Dataset.random(),
    "from_tensor_slices": lambda: ps.Dataset.from_tensor_slices([1, 2]),
    "from_tensors": lambda: ps.Dataset.from_tensors(1),
    "from_source": lambda: ps.Dataset.from_source([1, 2]),
    "map": lambda: ten().map(lambda x: x),
    "random_map": lambda: ten().random_map(lambda x, rng: x),
    "zip": lambda: ps.Dataset.zip(ten(), infinite()),
    "concatenate": lambda: ten().concatenate(ten()),
    "batch": lambda: ten().batch(3),
    "enumerate": lambda: ten().enumerate(),
    "repeat": lambda: ten().repeat(3),
    "endless repeat": infinite,
    "cache": lambda: ten().cache(),
    "prefetch": lambda: ten().prefetch(2),
    "slice": lambda: ten()[2:5],
}

# verb: (dataset, the reason it gives, whether rules lift it)
OBSTACLES: dict[str, tuple[Callable[[], ps.Dataset], str, bool]] = {
    "from_generator": (unknown, "yields its elements in order only", False),
    "filter": (lambda: ten().filter(lambda x: True), "drops elements, so positions are not known", False),
    "map": (lambda: ten().map(lambda x: x, on_error="skip"), "drops elements that fail", False),
    "unbatch": (
        lambda: ten().batch(2).unbatch(),
        "gives each element a number of rows known only when it is read",
        False,
    ),
    "repeat": (lambda: unknown().take(3).repeat(2), "yields its elements in order only", False),
    "shuffle": (lambda: ten().shuffle(), "has not been turned into a permutation", True),
    "take": (lambda: ten().take(3), "has not been turned into a stride", True),
    "skip": (lambda: ten().skip(3), "has not been turned into a stride", True),
    "shard": (lambda: ten().shard(2, 0), "has not been turned into a stride", True),
    "endless shuffle": (lambda: infinite().shuffle(5), "has not been turned into a permutation", True),
}


@pytest.mark.parametrize("verb", INDEXED)
def test_index_obstacle_is_none(verb: str) -> None:
    assert index_obstacle(node_of(INDEXED[verb]())) is None


@pytest.mark.parametrize("verb", OBSTACLES)
def test_index_obstacle_gives_the_reason(verb: str) -> None:
    dataset, reason, _ = OBSTACLES[verb]
    assert reason in str(index_obstacle(node_of(dataset())))


@pytest.mark.parametrize("verb", OBSTACLES)
def test_becomes_index_driven_tells_what_rules_lift(verb: str) -> None:
    dataset, _, is_lifted = OBSTACLES[verb]
    assert becomes_index_driven(node_of(dataset())) is is_lifted


def test_index_obstacle_names_the_verb_and_its_line() -> None:
    dataset = ten().filter(lambda x: True)
    obstacle = index_obstacle(node_of(dataset.batch(2)))
    assert obstacle is not None
    assert obstacle.startswith(f"filter at {node_of(dataset).location} ")
    assert "test_index_driven.py" in obstacle


def test_index_obstacle_is_the_first_from_the_source() -> None:
    assert "filter" in str(index_obstacle(node_of(ten().filter(lambda x: True).batch(2).unbatch())))
