"""Each rule as text, before and after, and by the elements it leaves as they were."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.optimize.order import RULE_NAMES
from tests.unit.optimize.texts import elements, rewritten


class Case(NamedTuple):
    """A dataset, the rules that are on, and the graph they give. `after=None`: the rule has nothing to say."""

    make: Callable[[], ps.Dataset]
    rules: tuple[str, ...]
    after: list[str] | None


def _ten() -> ps.Dataset:
    return ps.Dataset.range(10)


def _generated() -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: iter(range(10)), output_signature=ps.Spec((), "int64"))


def _double(x: Any) -> Any:
    return x * 2


def _is_even(x: Any) -> Any:
    return x % 2 == 0


def _impure(x: Any) -> Any:
    random.getstate()
    return x


CASES: dict[str, Case] = {
    # drop_options
    "options": Case(
        lambda: _ten().with_options(ps.Options(seed=1)).map(_double).with_options(ps.Options(seed=2)),
        ("drop_options",),
        ["range 0 1", "map"],
    ),
    "prefetch below options is last": Case(
        lambda: _ten().prefetch(7).with_options(ps.Options(seed=1)),
        ("drop_options", "drop_noops"),
        ["range 0 1", "prefetch 7"],
    ),
    # drop_noops
    "prefetch inside": Case(lambda: _ten().prefetch(3).map(_double), ("drop_noops",), ["range 0 1", "map"]),
    "prefetch last": Case(lambda: _ten().prefetch(3), ("drop_noops",), None),
    "prefetch twice": Case(lambda: _ten().prefetch(3).prefetch(5), ("drop_noops",), ["range 0 1", "prefetch 5"]),
    "take of all": Case(lambda: _ten().take(10), ("drop_noops",), ["range 0 1"]),
    "take without limit": Case(lambda: _generated().take(-1), ("drop_noops",), ["from_generator"]),
    "take of some": Case(lambda: _ten().take(9), ("drop_noops",), None),
    "take of an unknown number": Case(lambda: _generated().take(99), ("drop_noops",), None),
    "skip of none": Case(lambda: _generated().skip(0), ("drop_noops",), ["from_generator"]),
    "skip of one": Case(lambda: _ten().skip(1), ("drop_noops",), None),
    "one shard": Case(lambda: _ten().shard(1, 0), ("drop_noops",), ["range 0 1"]),
    "two shards": Case(lambda: _ten().shard(2, 0), ("drop_noops",), None),
    "one pass": Case(lambda: _ten().repeat(1), ("drop_noops",), ["range 0 1"]),
    "two passes": Case(lambda: _ten().repeat(2), ("drop_noops",), None),
    "whole slice": Case(lambda: _ten()[:], ("drop_noops",), ["range 0 1"]),
    "reversed slice": Case(lambda: _ten()[::-1], ("drop_noops",), None),
    # slices_to_strides
    "take": Case(lambda: _ten().take(3), ("slices_to_strides",), ["range 0 1", "take 0 1 3"]),
    "skip": Case(lambda: _ten().skip(3), ("slices_to_strides",), ["range 0 1", "skip 3 1 7"]),
    "skip of more": Case(lambda: _ten().skip(30), ("slices_to_strides",), ["range 0 1", "skip 10 1 0"]),
    "skip of everything": Case(lambda: _ten().skip(-1), ("slices_to_strides",), ["range 0 1", "skip 10 1 0"]),
    "shard": Case(lambda: _ten().shard(3, 1), ("slices_to_strides",), ["range 0 1", "shard 1 3 3"]),
    "empty shard": Case(lambda: _ten().take(1).shard(3, 2), ("slices_to_strides",), ["range 0 1", "shard 2 3 0"]),
    "strides in a row": Case(
        lambda: _ten().skip(1).shard(2, 1).take(2), ("slices_to_strides",), ["range 0 1", "take 2 2 2"]
    ),
    "slice of a slice": Case(lambda: _ten()[8:1:-2][1:3], ("slices_to_strides",), ["range 0 1", "slice 6 -2 2"]),
    "take of an endless repeat": Case(
        lambda: _ten().repeat().skip(5).take(12),
        ("slices_to_strides",),
        ["range 0 1", "repeat -1", "take 5 1 12"],
    ),
    "take of a stream": Case(lambda: _generated().take(3), ("slices_to_strides",), None),
    "take above a map": Case(
        lambda: _ten().map(_double).take(3), ("slices_to_strides",), ["range 0 1", "map", "take 0 1 3"]
    ),
    # shuffle_to_permutation
    "shuffle": Case(lambda: _ten().shuffle(), ("shuffle_to_permutation",), ["range 0 1", "shuffle"]),
    "shuffle of a stream": Case(lambda: _generated().shuffle(4), ("shuffle_to_permutation",), None),
    "shuffle of a take": Case(
        lambda: _ten().take(5).shuffle(seed=3),
        ("slices_to_strides", "shuffle_to_permutation"),
        ["range 0 1", "take 0 1 5", "shuffle"],
    ),
    # indices_below_maps
    "shuffle above maps": Case(
        lambda: _ten().map(_double).map(_double).shuffle(),
        ("shuffle_to_permutation", "indices_below_maps"),
        ["range 0 1", "shuffle", "map", "map"],
    ),
    "take above a map that skips": Case(
        lambda: _ten().map(_double, on_error="skip").take(3), ("slices_to_strides", "indices_below_maps"), None
    ),
    "slice above a map": Case(
        lambda: _ten().map(_double)[2:5], ("indices_below_maps",), ["range 0 1", "slice 2 1 3", "map"]
    ),
    "slice above a batch": Case(lambda: _ten().batch(2)[1:3], ("indices_below_maps",), None),
    # limit_below_maps
    "take of a generator": Case(
        lambda: _generated().take(3), ("limit_below_maps",), ["from_generator limit=3", "take 3"]
    ),
    "take through one-to-one verbs": Case(
        lambda: _generated().map(_double).enumerate().take(3),
        ("limit_below_maps",),
        ["from_generator limit=3", "map", "enumerate 0", "take 3"],
    ),
    "take of batches": Case(
        lambda: _generated().batch(2).take(3),
        ("limit_below_maps",),
        ["from_generator limit=6", "batch", "take 3"],
    ),
    "take after skip": Case(
        lambda: _generated().skip(2).take(3), ("limit_below_maps",), ["from_generator limit=5", "skip 2", "take 3"]
    ),
    "take of a take": Case(
        lambda: _generated().take(4).map(_double).take(7),
        ("limit_below_maps",),
        ["from_generator limit=4", "take 4", "map", "take 7"],
    ),
    "take of a filter": Case(lambda: _generated().filter(_is_even).take(2), ("limit_below_maps",), None),
    "take of a shuffle": Case(lambda: _generated().shuffle(4).take(2), ("limit_below_maps",), None),
    "take of a map that skips": Case(
        lambda: _generated().map(_double, on_error="skip").take(2), ("limit_below_maps",), None
    ),
    # fuse_maps
    "two maps": Case(lambda: _ten().map(_double).map(_double), ("fuse_maps",), ["range 0 1", "segment map+map"]),
    "maps and a filter": Case(
        lambda: _ten().map(_double).filter(_is_even).map(_double),
        ("fuse_maps",),
        ["range 0 1", "segment map+filter+map"],
    ),
    "pure and impure": Case(lambda: _ten().map(_double).map(_impure), ("fuse_maps",), None),
    "two impure": Case(lambda: _ten().map(_impure).map(_impure), ("fuse_maps",), ["range 0 1", "segment map+map"]),
    "other parallelism": Case(lambda: _ten().map(_double).map(_double, num_parallel_calls=2), ("fuse_maps",), None),
    "other order": Case(lambda: _ten().map(_double).map(_double, deterministic=False), ("fuse_maps",), None),
    "a batch between": Case(lambda: _ten().map(_double).batch(2).map(_double), ("fuse_maps",), None),
}


@pytest.mark.parametrize("name", CASES)
def test_rule_rewrites_the_graph(name: str) -> None:
    case = CASES[name]
    before, after = rewritten(case.make(), *case.rules)
    assert after == (before if case.after is None else case.after), f"before: {before}"


@pytest.mark.parametrize("name", CASES)
def test_rule_keeps_the_elements(name: str) -> None:
    case = CASES[name]
    assert elements(case.make(), *case.rules) == elements(case.make())


@pytest.mark.parametrize("name", CASES)
def test_all_rules_keep_the_elements(name: str) -> None:
    case = CASES[name]
    assert elements(case.make(), *RULE_NAMES) == elements(case.make())


def test_rule_rewrites_only_the_path_of_its_taker() -> None:
    shared = _generated()
    _, after = rewritten(ps.Dataset.zip(shared, shared.take(3)), "limit_below_maps")
    assert after == ["from_generator", "from_generator limit=3", "take 3", "zip <- [0, 2]"]


def test_fused_maps_keep_their_own_numbers_and_lines() -> None:
    from penstock.graph.nodes import Chain
    from penstock.session import prepare

    dataset = _ten().map(_double).map(_double)
    chain = prepare(dataset._node).plan.graph
    assert isinstance(chain, Chain)
    assert [step.number for step in chain.steps] == [1, 2]
    assert len({step.label for step in chain.steps}) == 1


def test_the_spec_of_fused_maps_promises_no_more_than_theirs() -> None:
    rows = ps.Dataset.range(5).map(lambda x: np.arange(x)).map(lambda x: (x, x)).padded_batch(2)
    assert rows.element_spec[0].shape == (None, None)
    assert [a.shape for a, _ in rows] == [(2, 1), (2, 3), (1, 4)]


def test_the_spec_of_empty_arrays_is_known() -> None:
    assert ps.Dataset.from_tensor_slices({"a": np.zeros((0, 2))}).element_spec == {"a": ps.Spec((2,), np.float64)}
