"""The driver with rules of our own: skipped by name, checked after each, failures told with the rule's name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

import penstock as ps
from penstock.errors import GraphError, InvalidArgumentError, RuleError
from penstock.graph.node import Node
from penstock.graph.nodes import Batch, Map, Prefetch, Range, Take
from penstock.graph.walk import numbered
from penstock.optimize import driver
from penstock.optimize.order import RULE_NAMES
from penstock.optimize.rule import Rule

NONE: frozenset[str] = frozenset()
Use = Callable[..., None]


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Use:
    """Puts these rules in place of all others."""

    def put(*rules: Rule, once: tuple[Rule, ...] = ()) -> None:
        monkeypatch.setattr(driver, "UNTIL_STABLE", rules)
        monkeypatch.setattr(driver, "ONCE", once)
        monkeypatch.setattr(driver, "RULE_NAMES", tuple(rule.name for rule in (*rules, *once)))

    return put


def _root() -> Node:
    return numbered(ps.Dataset.range(10).take(4)._node)


def _raise(node: Node, is_root: bool) -> Node:
    raise KeyError("boom")


def _drop_take(node: Node, is_root: bool) -> Node:
    return node.input if isinstance(node, Take) else node


def _batch_root(node: Node, is_root: bool) -> Node:
    return Batch(inputs=(node,), batch_size=1, drop_remainder=False) if isinstance(node, Range) else node


def _cut_inputs(node: Node, is_root: bool) -> Node:
    return replace(node, inputs=()) if isinstance(node, Take) else node


def _one_less(node: Node, is_root: bool) -> Node:
    return replace(node, stop=node.stop - 1) if isinstance(node, Range) and node.stop > 4 else node


def _prefetch(node: Node, is_root: bool) -> Node:
    return Prefetch(inputs=(node,), buffer_size=3) if isinstance(node, Take) else node


def test_optimize_wraps_a_failing_rule_with_its_name(use: Use) -> None:
    use(Rule("explode", _raise))
    with pytest.raises(RuleError) as caught:
        driver.optimize(_root(), NONE, lambda: 0.0)
    assert "rule 'explode' failed" in caught.value.what
    assert isinstance(caught.value.__cause__, KeyError)
    assert 'skip_rules={"explode"}' in str(caught.value.remedy)


def test_optimize_catches_a_rule_that_changes_cardinality(use: Use) -> None:
    use(Rule("lose", _drop_take))
    with pytest.raises(RuleError) as caught:
        driver.optimize(_root(), NONE, lambda: 0.0)
    assert "rule 'lose' changed what the pipeline gives" in caught.value.what
    assert caught.value.got.startswith("10 x")
    assert caught.value.expected.startswith("4 x")


def test_optimize_catches_a_rule_that_changes_the_spec(use: Use) -> None:
    use(Rule("wrap", _batch_root))
    with pytest.raises(RuleError, match="rule 'wrap' changed what the pipeline gives"):
        driver.optimize(_root(), NONE, lambda: 0.0)


def test_optimize_lets_a_rule_know_more_than_was_promised() -> None:
    """The window's rows, once gathered, have a length that the flat map hid; what pads them may see it."""
    rows = ps.Dataset.range(6).batch(1, drop_remainder=True)
    padded = rows.window(2).flat_map(lambda window: window.batch(2)).padded_batch(1)
    root = numbered(padded._node)
    _, steps = driver.optimize(root, NONE, lambda: 0.0)
    assert "slide_windows" in {step.rule for step in steps}
    assert [batch.shape for batch in padded] == [(1, 2, 1)] * 3


def test_optimize_catches_a_rule_that_makes_an_illegal_graph(use: Use) -> None:
    use(Rule("cut", _cut_inputs))
    with pytest.raises(RuleError, match=r"rule 'cut' failed: take at .* this node has one input") as caught:
        driver.optimize(_root(), NONE, lambda: 0.0)
    assert isinstance(caught.value.__cause__, GraphError)


def test_optimize_checks_rules_that_run_once_too(use: Use) -> None:
    use(once=(Rule("lose", _drop_take),))
    with pytest.raises(RuleError, match="'lose'"):
        driver.optimize(_root(), NONE, lambda: 0.0)


def test_optimize_skips_a_rule_by_name(use: Use) -> None:
    use(Rule("explode", _raise), Rule("lose", _drop_take))
    root = _root()
    after, steps = driver.optimize(root, frozenset({"explode", "lose"}), lambda: 0.0)
    assert after is root
    assert steps == []


@pytest.mark.parametrize("names", [{"nonsense"}, {"fuse_maps", "nonsense"}])
def test_optimize_refuses_an_unknown_name(names: set[str]) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        driver.optimize(_root(), frozenset(names), lambda: 0.0)
    assert caught.value.got == ["nonsense"]
    assert "fuse_maps" in caught.value.expected


def test_optimize_goes_on_until_nothing_changes(use: Use) -> None:
    use(Rule("shrink", _one_less))
    after, steps = driver.optimize(_root(), NONE, lambda: 0.0)
    assert isinstance(after.input, Range)
    assert after.input.stop == 4
    assert [step.rule for step in steps] == ["shrink"] * 6


def test_optimize_applies_some_rules_once(use: Use) -> None:
    use(once=(Rule("shrink", _one_less),))
    _, steps = driver.optimize(_root(), NONE, lambda: 0.0)
    assert len(steps) == 1


def test_optimize_notes_what_each_rule_did(use: Use) -> None:
    use(Rule("nothing", lambda node, is_root: node), once=(Rule("prefetch", _prefetch),))
    root = _root()
    ticks = iter(range(100))
    after, steps = driver.optimize(root, NONE, lambda: float(next(ticks)))
    (step,) = steps
    assert (step.rule, step.before, step.after) == ("prefetch", root, after)
    assert step.seconds == 1.0


def test_optimize_leaves_the_graph_it_was_given(use: Use) -> None:
    root = numbered(ps.Dataset.range(10).map(abs).shuffle().take(3).prefetch(1)._node)
    labels = [type(node) for node in _chain(root)]
    driver.optimize(root, NONE, lambda: 0.0)
    assert [type(node) for node in _chain(root)] == labels


def test_optimize_is_done_after_one_go() -> None:
    root = numbered(ps.Dataset.range(10).map(abs).shuffle().map(abs).take(3).batch(2).prefetch(1)._node)
    after, _ = driver.optimize(root, NONE, lambda: 0.0)
    again, steps = driver.optimize(after, NONE, lambda: 0.0)
    assert again is after, f"changed again by {[step.rule for step in steps]}"


def test_rule_names_are_unique() -> None:
    assert len(set(RULE_NAMES)) == len(RULE_NAMES)


def test_optimize_keeps_numbers_and_memos() -> None:
    dataset = ps.Dataset.range(10).map(abs).shuffle()
    root = numbered(dataset._node)
    after, _ = driver.optimize(root, NONE, lambda: 0.0)
    assert isinstance(after, Map)
    assert after.number == 1
    assert after.memo is root.input.memo  # type: ignore[attr-defined]  # the map below the shuffle


def _chain(root: Node) -> list[Node]:
    nodes = [root]
    while nodes[-1].inputs:
        nodes.append(nodes[-1].input)
    return nodes
