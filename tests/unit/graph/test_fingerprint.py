from __future__ import annotations

from collections.abc import Callable

import pytest

import penstock as ps
from penstock.graph.fingerprint import order_description, order_fingerprint
from tests.unit.graph.datasets import node_of, ten

Pair = tuple[Callable[[], ps.Dataset], Callable[[], ps.Dataset]]

DIFFERENT: dict[str, Pair] = {
    "range start": (lambda: ps.Dataset.range(0, 10), lambda: ps.Dataset.range(1, 11)),
    "range step": (lambda: ps.Dataset.range(0, 10, 1), lambda: ps.Dataset.range(0, 20, 2)),
    "source length": (lambda: ps.Dataset.from_source([1]), lambda: ps.Dataset.from_source([1, 2])),
    "source type": (lambda: ps.Dataset.from_source([1]), lambda: ps.Dataset.from_source((1,))),
    "slices length": (
        lambda: ps.Dataset.from_tensor_slices([1]),
        lambda: ps.Dataset.from_tensor_slices([1, 2]),
    ),
    "slices structure": (
        lambda: ps.Dataset.from_tensor_slices([1]),
        lambda: ps.Dataset.from_tensor_slices(([1], [2])),
    ),
    "batch size": (lambda: ten().batch(2), lambda: ten().batch(3)),
    "drop_remainder": (lambda: ten().batch(3), lambda: ten().batch(3, drop_remainder=True)),
    "shuffle seed": (lambda: ten().shuffle(seed=1), lambda: ten().shuffle(seed=2)),
    "shuffle buffer": (lambda: ten().shuffle(3), lambda: ten().shuffle(4)),
    "reshuffle": (lambda: ten().shuffle(), lambda: ten().shuffle(reshuffle_each_iteration=False)),
    "repeat": (lambda: ten().repeat(2), lambda: ten().repeat(3)),
    "take": (lambda: ten().take(2), lambda: ten().take(3)),
    "skip": (lambda: ten().skip(2), lambda: ten().skip(3)),
    "shard index": (lambda: ten().shard(2, 0), lambda: ten().shard(2, 1)),
    "shard count": (lambda: ten().shard(2, 0), lambda: ten().shard(3, 0)),
    "enumerate start": (lambda: ten().enumerate(), lambda: ten().enumerate(1)),
    "slice": (lambda: ten()[1:5], lambda: ten()[2:6]),
    "random_map seed": (
        lambda: ten().random_map(lambda x, rng: x, seed=1),
        lambda: ten().random_map(lambda x, rng: x, seed=2),
    ),
    "on_error": (lambda: ten().map(lambda x: x), lambda: ten().map(lambda x: x, on_error="skip")),
    "order of verbs": (lambda: ten().shuffle().repeat(2), lambda: ten().repeat(2).shuffle()),
    "a verb more": (lambda: ten(), lambda: ten().map(lambda x: x)),
    "random_map for map": (lambda: ten().map(lambda x: x), lambda: ten().random_map(lambda x, rng: x)),
}

EQUAL: dict[str, Pair] = {
    "the same again": (lambda: ten().shuffle().batch(2), lambda: ten().shuffle().batch(2)),
    "another function": (lambda: ten().map(lambda x: x), lambda: ten().map(lambda x: x + 1)),
    "another line": (lambda: ten().map(abs), lambda: ten().map(abs)),
    "parallelism": (lambda: ten().map(abs), lambda: ten().map(abs, num_parallel_calls=7)),
    "prefetch": (lambda: ten(), lambda: ten().prefetch(5)),
    "options": (lambda: ten(), lambda: ten().with_options(ps.Options(cpu_budget=1))),
}


@pytest.mark.parametrize("name", DIFFERENT)
def test_fingerprint_changes_with_what_decides_order(name: str) -> None:
    first, second = (order_fingerprint(node_of(make())) for make in DIFFERENT[name])
    assert first != second


@pytest.mark.parametrize("name", EQUAL)
def test_fingerprint_does_not_change_with_the_rest(name: str) -> None:
    first, second = (order_fingerprint(node_of(make())) for make in EQUAL[name])
    assert first == second


def test_fingerprint_is_sixteen_hex_digits() -> None:
    assert int(order_fingerprint(node_of(ten())), 16) >= 0
    assert len(order_fingerprint(node_of(ten()))) == 16


def test_order_description_has_an_entry_a_verb() -> None:
    dataset = ten().shuffle(5, seed=3).prefetch(1).batch(4)
    assert order_description(node_of(dataset)) == [
        ["range", {"start": "0", "stop": "10", "step": "1"}],
        ["shuffle", {"buffer_size": "5", "seed": "3", "reshuffle_each_iteration": "True"}],
        ["batch", {"batch_size": "4", "drop_remainder": "False"}],
    ]
