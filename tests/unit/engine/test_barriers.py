"""Barriers fed with blocks cut anyhow: what comes out depends on the elements alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.block.block import Block
from penstock.engine.operators.barriers import BARRIERS
from penstock.engine.operators.barriers.base import Barrier
from penstock.graph.node import Node
from penstock.graph.walk import numbered
from tests.unit.engine.driven import cut, numbers, scope_of

COUNT = 40
CUTS = st.lists(st.integers(1, 9), min_size=1, max_size=5)


def _stream() -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: iter(range(COUNT)), output_signature=ps.Spec((), "int64"))


def _barrier(dataset: ps.Dataset, epoch: int = 0) -> Barrier:
    node: Node = numbered(dataset._node)
    return BARRIERS[type(node)](node, scope_of(epoch=epoch))


def _elements(blocks: list[Block]) -> list[Any]:
    return [_plain(element) for block in blocks for element in block.elements()]


def _plain(value: Any) -> Any:
    return tuple(map(_plain, value)) if isinstance(value, tuple) else np.asarray(value).tolist()


def _feed(barrier: Barrier, blocks: list[Block]) -> list[Any]:
    scope = scope_of().in_task()
    out: list[Block] = []
    for block in blocks:
        if barrier.wants is None:
            break
        out += barrier.push(0, block, scope)
        while barrier.pending:
            out += barrier.more(scope)
    if barrier.wants is not None:
        out += barrier.finish(0, scope)
    while barrier.pending:
        out += barrier.more(scope)
    assert barrier.wants is None
    return _elements(out)


MAKES: dict[str, Callable[[ps.Dataset], ps.Dataset]] = {
    "flat_map": lambda d: d.flat_map(lambda x: ps.Dataset.range(x, x + x % 4)),
    "interleave(3)": lambda d: d.interleave(lambda x: ps.Dataset.range(x, x + x % 4), 3),
    "interleave(7, 2)": lambda d: d.interleave(lambda x: ps.Dataset.range(x, x + x % 9), 7, 2),
    "shuffle(1)": lambda d: d.shuffle(1, seed=3),
    "shuffle(7)": lambda d: d.shuffle(7, seed=3),
    "shuffle(40)": lambda d: d.shuffle(40, seed=3),
    "shuffle(1000)": lambda d: d.shuffle(1000, seed=3),
    "shuffle()": lambda d: d.shuffle(seed=3),
    "shuffle(33, early)": lambda d: d.shuffle(33, seed=3, start_early=True),
    "shuffle(5, early)": lambda d: d.shuffle(5, seed=3, start_early=True),
    "batch(1)": lambda d: d.batch(1),
    "batch(7)": lambda d: d.batch(7),
    "batch(7, drop_remainder)": lambda d: d.batch(7, drop_remainder=True),
    "batch(100)": lambda d: d.batch(100),
    "take(0)": lambda d: d.take(0),
    "take(13)": lambda d: d.take(13),
    "take(-1)": lambda d: d.take(-1),
    "take(40)": lambda d: d.take(40),
    "skip(0)": lambda d: d.skip(0),
    "skip(13)": lambda d: d.skip(13),
    "skip(-1)": lambda d: d.skip(-1),
    "skip(99)": lambda d: d.skip(99),
    "shard(3, 0)": lambda d: d.shard(3, 0),
    "shard(3, 2)": lambda d: d.shard(3, 2),
    "enumerate(5)": lambda d: d.enumerate(5),
    "cache": lambda d: d.cache(),
    "scan": lambda d: d.scan(0, lambda s, x: (s + x, s)),
    "take_while": lambda d: d.take_while(lambda x: x < 13),
    "unique": lambda d: d.unique(),
    "rejection_resample": lambda d: d.rejection_resample(lambda x: x % 2, [0.8, 0.2]),
    "assert_cardinality": lambda d: d.assert_cardinality(COUNT),
}

EXPECTED: dict[str, list[Any]] = {
    "shuffle(1)": list(range(COUNT)),
    "batch(1)": [[n] for n in range(COUNT)],
    "batch(7)": [list(range(s, min(s + 7, COUNT))) for s in range(0, COUNT, 7)],
    "batch(7, drop_remainder)": [list(range(s, s + 7)) for s in range(0, 35, 7)],
    "batch(100)": [list(range(COUNT))],
    "take(0)": [],
    "take(13)": list(range(13)),
    "take(-1)": list(range(COUNT)),
    "take(40)": list(range(COUNT)),
    "skip(0)": list(range(COUNT)),
    "skip(13)": list(range(13, COUNT)),
    "skip(-1)": [],
    "skip(99)": [],
    "shard(3, 0)": list(range(0, COUNT, 3)),
    "shard(3, 2)": list(range(2, COUNT, 3)),
    "enumerate(5)": [(n + 5, n) for n in range(COUNT)],
    "cache": list(range(COUNT)),
    "scan": [n * (n - 1) // 2 for n in range(COUNT)],
    "take_while": list(range(13)),
    "unique": list(range(COUNT)),
}


@pytest.mark.parametrize("name", MAKES)
@given(cuts=CUTS)
def test_barrier_does_not_depend_on_how_blocks_are_cut(name: str, cuts: list[int]) -> None:
    apply = MAKES[name]
    whole = _feed(_barrier(apply(_stream())), [numbers(0, COUNT)])
    assert _feed(_barrier(apply(_stream())), cut(COUNT, cuts)) == whole


@pytest.mark.parametrize("name", EXPECTED)
def test_barrier_gives(name: str) -> None:
    assert _feed(_barrier(MAKES[name](_stream())), cut(COUNT, [3, 5])) == EXPECTED[name]


@pytest.mark.parametrize("name", [name for name in MAKES if name != "assert_cardinality"])
def test_barrier_of_no_elements_gives_none(name: str) -> None:
    assert _feed(_barrier(MAKES[name](_stream())), [numbers(0, 0)]) == []


# --- the shuffle buffer ----------------------------------------------------------------------------------------------


@given(buffer=st.integers(1, 60), seed=st.integers(0, 99), cuts=CUTS)
def test_shuffle_gives_each_element_once(buffer: int, seed: int, cuts: list[int]) -> None:
    shuffled = _feed(_barrier(_stream().shuffle(buffer, seed=seed)), cut(COUNT, cuts))
    assert sorted(shuffled) == list(range(COUNT))


@given(buffer=st.integers(1, 60), seed=st.integers(0, 99))
def test_shuffle_lets_no_element_leave_before_it_can_have_come(buffer: int, seed: int) -> None:
    shuffled = _feed(_barrier(_stream().shuffle(buffer, seed=seed)), cut(COUNT, [4]))
    assert all(element <= place + buffer for place, element in enumerate(shuffled))


@given(buffer=st.integers(1, 60), seed=st.integers(0, 99), cuts=CUTS)
def test_early_shuffle_gives_each_element_once(buffer: int, seed: int, cuts: list[int]) -> None:
    shuffled = _feed(_barrier(_stream().shuffle(buffer, seed=seed, start_early=True)), cut(COUNT, cuts))
    assert sorted(shuffled) == list(range(COUNT))
    assert all(element <= place + buffer for place, element in enumerate(shuffled))


def test_early_shuffle_delivers_one_for_two_until_its_buffer_is_full() -> None:
    barrier, scope = _barrier(_stream().shuffle(32, seed=3, start_early=True)), scope_of().in_task()
    given = [len(_elements(barrier.push(0, numbers(n, n + 1), scope))) for n in range(70)]
    assert given[:2] == [0, 0]  # a sixteenth of it
    assert sum(given[2:62]) == 30
    assert given[62:] == [1] * 8


def test_shuffle_differs_by_seed_and_epoch() -> None:
    orders = [
        tuple(_feed(_barrier(_stream().shuffle(20, seed=seed), epoch), [numbers(0, COUNT)]))
        for seed, epoch in [(0, 0), (0, 1), (1, 0), (1, 1)]
    ]
    assert len(set(orders)) == 4


def test_shuffle_repeats_where_it_was_told_not_to_reshuffle() -> None:
    dataset = _stream().shuffle(20, seed=3, reshuffle_each_iteration=False)
    assert _feed(_barrier(dataset, 0), [numbers(0, COUNT)]) == _feed(_barrier(dataset, 5), [numbers(0, COUNT)])


def test_shuffle_with_a_full_buffer_brings_any_element_first() -> None:
    firsts = [_feed(_barrier(_stream().shuffle(COUNT, seed=seed)), [numbers(0, COUNT)])[0] for seed in range(400)]
    counts = np.bincount(firsts, minlength=COUNT)
    assert counts.min() > 0
    assert counts.max() < 30


def test_shuffle_with_a_small_buffer_keeps_a_rough_order() -> None:
    shuffled = _feed(_barrier(_stream().shuffle(5, seed=1)), cut(COUNT, [3]))
    assert shuffled != list(range(COUNT))
    assert np.mean(np.abs(np.array(shuffled) - np.arange(COUNT))) < 6


# --- zip -------------------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(1, 5), min_size=1, max_size=3), st.lists(st.integers(1, 5), min_size=1, max_size=3))
def test_zip_joins_however_its_inputs_are_cut(left: list[int], right: list[int]) -> None:
    barrier = _barrier(ps.Dataset.zip(_stream(), _stream()))
    inputs = [cut(11, left), cut(17, right)]
    scope = scope_of().in_task()
    out: list[Block] = []
    while barrier.wants is not None:
        waiting = inputs[barrier.wants]
        out += barrier.push(barrier.wants, waiting.pop(0), scope) if waiting else barrier.finish(barrier.wants, scope)
    assert _elements(out) == [(n, n) for n in range(11)]


def test_zip_asks_for_the_input_that_lacks() -> None:
    barrier = _barrier(ps.Dataset.zip(_stream(), _stream()))
    scope = scope_of().in_task()
    assert barrier.wants == 0
    barrier.push(0, numbers(0, 5), scope)
    assert barrier.wants == 1
    assert _elements(barrier.push(1, numbers(0, 2), scope)) == [(0, 0), (1, 1)]
    assert barrier.wants == 1
    barrier.push(1, numbers(2, 5), scope)
    assert barrier.wants == 0


# --- the cache of a stream -------------------------------------------------------------------------------------------


def test_stream_cache_keeps_a_complete_pass_only() -> None:
    dataset = _stream().cache()
    store = dataset._node.store  # type: ignore[attr-defined]  # a Cache node
    barrier = _barrier(dataset)
    barrier.push(0, numbers(0, 5), scope_of().in_task())
    assert store.stream is None
    barrier.finish(0, scope_of().in_task())
    assert _elements(store.stream) == [0, 1, 2, 3, 4]


def test_stream_cache_over_its_budget_keeps_nothing_and_says_so_once() -> None:
    dataset = _stream().cache()
    told: list[str] = []
    scope = scope_of(cache_budget_bytes=100, told=told)
    node = numbered(dataset._node)
    for _ in range(2):
        barrier = BARRIERS[type(node)](node, scope)
        out = [block for part in cut(COUNT, [7]) for block in barrier.push(0, part, scope.in_task())]
        barrier.finish(0, scope.in_task())
        assert _elements(out) == list(range(COUNT))
    assert node.store.stream is None  # type: ignore[attr-defined]  # a Cache node
    assert len(told) == 1
    assert "cache budget of 100 B" in told[0]
