"""Plans of typical graphs: the stages from the source on, their workers, and which must run serially."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

import penstock as ps
from penstock.graph.walk import numbered
from penstock.optimize.driver import optimize
from penstock.plan.lower import LOWER, lower
from penstock.plan.stage import Plan, Stage

CPUS = 3


def pure(x: Any) -> Any:
    return x * 2


def impure(x: Any) -> Any:
    random.getstate()
    return x


def is_even(x: Any) -> Any:
    return x % 2 == 0


def ten() -> ps.Dataset:
    return ps.Dataset.range(10)


def generated() -> ps.Dataset:
    return ps.Dataset.from_generator(lambda: iter(range(10)), output_signature=ps.Spec((), "int64"))


class Source:
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> int:
        return index


def plan_of(dataset: ps.Dataset, *, deterministic: bool = True) -> Plan:
    graph, _ = optimize(numbered(dataset._node), frozenset(), lambda: 0.0)
    return lower(graph, CPUS, deterministic)


def lines(stage: Stage) -> list[str]:
    """One line a stage, sources first: kind, verb of its last node, workers, and what is special."""
    told = [line for source in stage.inputs for line in lines(source)]
    special = f"{' serial' if stage.width.serial else ''}{'' if stage.ordered else ' as completed'}"
    return [*told, f"{stage.kind}: {stage.node.verb} x{stage.width.workers}{special}"]


SHAPES: dict[str, tuple[Callable[[], ps.Dataset], list[str]]] = {
    "a source": (ten, ["indexed segment: range x3"]),
    "shuffle, map, batch in one": (lambda: ten().shuffle().map(pure).batch(4), ["indexed segment: batch x3"]),
    "zip, repeat, take, enumerate in one": (
        lambda: ps.Dataset.zip(ten(), ten()).repeat(3).take(20).enumerate(),
        ["indexed segment: enumerate x3"],
    ),
    "concatenate and cache in one": (
        lambda: ten().concatenate(ten()).cache().map(pure),
        ["indexed segment: map x3"],
    ),
    "impure alone": (lambda: ten().map(impure), ["indexed segment: range x3", "segment: map x1 serial"]),
    "impure between pure": (
        lambda: ten().map(pure).map(impure).map(pure).batch(2),
        [
            "indexed segment: map x3",
            "segment: map x1 serial",
            "segment: map x3",
            "barrier: batch x1 serial",
        ],
    ),
    "shuffle above impure goes below it": (
        lambda: ten().map(impure).shuffle(),
        ["indexed segment: shuffle x3", "segment: map x1 serial"],
    ),
    "impure under a zip": (
        lambda: ps.Dataset.zip(ten().map(impure), ten().map(pure)),
        ["indexed segment: zip x1 serial"],
    ),
    "impure under a repeat": (lambda: ten().map(impure).repeat(2), ["indexed segment: repeat x1 serial"]),
    "map after batch": (
        lambda: ten().batch(2).map(pure),
        ["indexed segment: batch x3", "segment: map x3"],
    ),
    "filter": (
        lambda: ten().filter(is_even).batch(2),
        ["indexed segment: range x3", "segment: filter x3", "barrier: batch x1 serial"],
    ),
    "map and filter are one segment": (
        lambda: ten().map(pure).filter(is_even),
        ["indexed segment: range x3", "segment: segment x3"],
    ),
    "unbatch": (
        lambda: ten().batch(2).unbatch(),
        ["indexed segment: batch x3", "segment: unbatch x3"],
    ),
    "generator": (
        lambda: generated().map(pure).shuffle(4).batch(2),
        [
            "source: from_generator x1 serial",
            "segment: map x3",
            "barrier: shuffle x1 serial",
            "barrier: batch x1 serial",
        ],
    ),
    "generator taken, skipped, sharded": (
        lambda: generated().take(8).skip(2).shard(2, 0),
        [
            "source: from_generator x1 serial",
            "barrier: take x1 serial",
            "barrier: skip x1 serial",
            "barrier: shard x1 serial",
        ],
    ),
    "generator repeated": (
        lambda: generated().repeat(2),
        ["source: from_generator x1 serial", "chain: repeat x1"],
    ),
    "stream zipped with indices": (
        lambda: ps.Dataset.zip(ten(), generated()),
        ["indexed segment: range x3", "source: from_generator x1 serial", "barrier: zip x1 serial"],
    ),
    "stream cached": (
        lambda: generated().cache(),
        ["source: from_generator x1 serial", "barrier: cache x1 serial"],
    ),
    "endless shuffle": (
        lambda: ten().repeat().shuffle(5),
        ["indexed segment: shuffle x3"],
    ),
    "user's source": (
        lambda: ps.Dataset.from_source(Source()).map(pure),
        ["indexed segment: from_source x1 serial", "segment: map x3"],
    ),
    "user's source in threads": (
        lambda: ps.Dataset.from_source(Source(), num_parallel_calls=5).map(pure),
        ["indexed segment: map x5"],
    ),
    "list as a source": (lambda: ps.Dataset.from_source([1, 2]).map(pure), ["indexed segment: map x3"]),
    "workers by number": (lambda: ten().map(impure, num_parallel_calls=7), ["indexed segment: map x7"]),
    "one worker by number": (
        lambda: ten().map(pure, num_parallel_calls=1),
        ["indexed segment: range x3", "segment: map x1 serial"],
    ),
    "no parallel calls": (
        lambda: ten().map(pure, num_parallel_calls=None),
        ["indexed segment: range x3", "segment: map x1 serial"],
    ),
    "threads by word": (lambda: ten().map(impure, executor="threads"), ["indexed segment: map x3"]),
    "as completed": (
        lambda: ten().map(pure, deterministic=False).batch(2),
        ["indexed segment: batch x3 as completed"],
    ),
    "as completed, impure": (
        lambda: ten().map(impure, deterministic=False),
        ["indexed segment: range x3", "segment: map x1 serial"],
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_lower_cuts_the_graph_into_stages(name: str) -> None:
    make, expected = SHAPES[name]
    assert lines(plan_of(make()).root) == expected


@pytest.mark.parametrize("name", SHAPES)
def test_lower_gives_every_stage_a_reason(name: str) -> None:
    pending = [plan_of(SHAPES[name][0]()).root]
    while pending:
        stage = pending.pop()
        pending.extend(stage.inputs)
        assert stage.width.reason


REASONS: dict[str, tuple[Callable[[], ps.Dataset], str]] = {
    "native": (ten, "native"),
    "pure": (lambda: ten().map(pure), "pure"),
    "impure": (lambda: ten().map(impure), "because it uses random.getstate"),
    "advice": (lambda: ten().map(impure), "num_parallel_calls=N runs it in N threads"),
    "impure predicate": (lambda: ten().filter(lambda x: impure(x) > 1), "random.getstate"),
    "by number": (lambda: ten().map(impure, num_parallel_calls=7), "num_parallel_calls=7"),
    "by none": (lambda: ten().map(pure, num_parallel_calls=None), "num_parallel_calls=None"),
    "by word": (lambda: ten().map(impure, executor="threads"), 'executor="threads"'),
    "generator": (generated, "a generator: one worker, in order"),
    "user's source": (lambda: ps.Dataset.from_source(Source()), "Source.__getitem__ is user code"),
    "user's source by number": (
        lambda: ps.Dataset.from_source(Source(), num_parallel_calls=2),
        "num_parallel_calls=2",
    ),
    "list": (lambda: ps.Dataset.from_source([1]), "a built-in sequence"),
    "barrier": (lambda: generated().batch(2), "needs its input in order"),
}


@pytest.mark.parametrize("name", REASONS)
def test_lower_says_why_a_stage_is_as_wide_as_it_is(name: str) -> None:
    make, reason = REASONS[name]
    assert reason in plan_of(make()).root.width.reason


def test_lower_takes_order_from_the_options() -> None:
    root = plan_of(ten().map(pure), deterministic=False).root
    assert not root.ordered


@pytest.mark.parametrize(
    "over", [lambda d: ps.Dataset.zip(d, d), lambda d: d.take(3), lambda d: d.skip(3), lambda d: d.enumerate()]
)
def test_lower_keeps_order_below_what_means_places(over: Callable[[ps.Dataset], ps.Dataset]) -> None:
    root = plan_of(over(generated().map(pure)), deterministic=False).root
    pending = list(root.inputs)
    while pending:
        stage = pending.pop()
        pending.extend(stage.inputs)
        assert stage.ordered


@pytest.mark.parametrize(("size", "ahead"), [(5, 5), (ps.AUTOTUNE, None), (0, None)])
def test_lower_keeps_the_last_prefetch(size: int, ahead: int | None) -> None:
    assert plan_of(ten().batch(2).prefetch(size)).root.ahead == ahead


def test_lower_keeps_a_prefetch_below_options() -> None:
    assert plan_of(ten().prefetch(7).with_options(ps.Options(seed=1))).root.ahead == 7


OBSTACLES: dict[str, tuple[Callable[[], ps.Dataset], str | None]] = {
    "index-driven": (lambda: ten().shuffle().map(pure).batch(2).take(3), None),
    "impure but index-driven": (lambda: ten().map(impure).batch(2), None),
    "generator": (generated, None),
    "filter": (lambda: ten().filter(is_even), None),
    "as completed": (lambda: ten().map(pure, deterministic=False), "deterministic=False"),
}


@pytest.mark.parametrize("name", OBSTACLES)
def test_lower_says_whether_state_can_be_taken(name: str) -> None:
    make, reason = OBSTACLES[name]
    obstacle = plan_of(make()).state_obstacle
    assert obstacle is None if reason is None else reason in str(obstacle)


def test_lower_has_a_row_for_every_node_that_verbs_and_rules_make() -> None:
    from penstock.graph import nodes
    from penstock.graph.node import Node

    kinds = {kind for kind in vars(nodes).values() if isinstance(kind, type) and issubclass(kind, Node)} - {
        Node,
        nodes.Nesting,
        nodes.Distribute,  # gone before the rules begin
    }
    assert kinds == set(LOWER)
