from __future__ import annotations

from dataclasses import replace

import pytest

import penstock as ps
from penstock.graph.node import Node
from penstock.graph.nodes import Map, Skip, Take
from penstock.graph.walk import collected_options, nodes_of, numbered, rebuild
from tests.unit.graph.datasets import node_of, ten


def _numbers(dataset: ps.Dataset) -> list[tuple[str, int]]:
    return [(node.verb, node.number) for node in nodes_of(numbered(node_of(dataset)))]


def test_nodes_of_gives_inputs_first() -> None:
    dataset = ps.Dataset.zip(ten().take(3), ten().skip(2)).batch(2)
    assert [node.verb for node in nodes_of(node_of(dataset))] == ["range", "take", "range", "skip", "zip", "batch"]


def test_nodes_of_gives_a_shared_node_once() -> None:
    shared = ten().map(lambda x: x)
    dataset = ps.Dataset.zip(shared, shared.take(3))
    assert [node.verb for node in nodes_of(node_of(dataset))] == ["range", "map", "take", "zip"]


def test_nodes_of_is_not_bound_by_the_stack() -> None:
    node = node_of(ten())
    for _ in range(5000):
        node = Skip(inputs=(node,), count=0)
    assert sum(1 for _ in nodes_of(node)) == 5001


def test_rebuild_without_change_gives_the_graph_itself() -> None:
    root = node_of(ten().map(lambda x: x).batch(2))
    assert rebuild(root, lambda node, is_root: node) is root


def test_rebuild_keeps_sharing() -> None:
    shared = ten().skip(1)
    root = node_of(ps.Dataset.zip(shared, shared))
    changed = rebuild(root, lambda node, is_root: replace(node, count=2) if isinstance(node, Skip) else node)
    left, right = changed.inputs
    assert left is right
    assert left.cardinality() == 8


def test_rebuild_leaves_the_old_graph_alone() -> None:
    root = node_of(ten().skip(1).batch(2))
    rebuild(root, lambda node, is_root: replace(node, count=2) if isinstance(node, Skip) else node)
    assert root.input.cardinality() == 9


def test_rebuild_keeps_untouched_branches() -> None:
    left, right = ten().skip(1), ten().take(3)
    root = node_of(ps.Dataset.zip(left, right))
    changed = rebuild(root, lambda node, is_root: replace(node, count=2) if isinstance(node, Skip) else node)
    assert changed.inputs[1] is node_of(right)


def test_rebuild_shows_inputs_already_changed_and_tells_the_root() -> None:
    seen: list[tuple[str, int, bool]] = []

    def change(node: Node, is_root: bool) -> Node:
        seen.append((node.verb, node.cardinality(), is_root))
        return replace(node, count=5) if isinstance(node, Take) else node

    rebuild(node_of(ten().take(3).skip(1)), change)
    assert seen == [("range", 10, False), ("take", 3, False), ("skip", 4, True)]


def test_numbered_counts_from_the_source() -> None:
    assert _numbers(ten().map(lambda x: x).batch(2)) == [("range", 0), ("map", 1), ("batch", 2)]


def test_numbered_gives_equal_graphs_equal_numbers() -> None:
    assert _numbers(ten().shuffle().repeat(2)) == _numbers(ten().shuffle().repeat(2))


def test_numbered_gives_a_shared_node_one_number() -> None:
    shared = ten().skip(1)
    assert _numbers(ps.Dataset.zip(shared, shared)) == [("range", 0), ("skip", 1), ("zip", 2)]


@pytest.mark.parametrize(
    "verb",
    [lambda d: d.cache(), lambda d: d.prefetch(2), lambda d: d.with_options(ps.Options(seed=3))],
    ids=["cache", "prefetch", "with_options"],
)
def test_numbered_gives_no_number_to_what_changes_no_element(verb: object) -> None:
    plain = ten().shuffle().map(lambda x: x)
    kept = verb(ten().shuffle()).map(lambda x: x)  # type: ignore[operator]  # a lambda of the table
    by_verb = dict(_numbers(kept))
    assert {name: by_verb[name] for name in ("range", "shuffle", "map")} == dict(_numbers(plain))


def test_numbered_keeps_everything_else() -> None:
    root = node_of(ten().map(lambda x: x))
    again = numbered(root)
    assert isinstance(root, Map)
    assert isinstance(again, Map)
    assert (again.function, again.location, again.memo) == (root.function, root.location, root.memo)


def test_collected_options_lets_those_near_the_root_win() -> None:
    dataset = ten().with_options(ps.Options(seed=1, cpu_budget=2)).batch(2).with_options(ps.Options(seed=5))
    assert collected_options(node_of(dataset)) == ps.Options(seed=5, cpu_budget=2)
