"""However it runs, a pipeline gives the same bytes: any block size, any subset of rules, any executor and width."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from penstock import Options
from penstock.graph.node import Node
from penstock.optimize.driver import optimize
from penstock.optimize.order import GRAPH_RULE_NAMES, RULE_NAMES
from penstock.optimize.programs import PROGRAM_RULE_NAMES
from penstock.optimize.rule import Step
from penstock.session import preparation
from penstock.testing import assert_same_elements, collect
from tests.conformance.registry import Case

SLOW = Options(executor="inline", block_size=1, skip_rules=frozenset(RULE_NAMES))
BLOCK_SIZES = (1, 2, 3, 7, 1000, None)
WAYS = {
    "threads": Options(),
    "one thread": Options(cpu_budget=1),
    "four threads": Options(cpu_budget=4),
    "inline": Options(executor="inline"),
    "processes": Options(executor="processes"),
    "small budget": Options(ram_budget=1),
}


def expected(case: Case, files: Path) -> list[object]:
    """Epoch 1 one element at a time, in this thread, as written: the slow twin of every way to run."""
    if case.name not in _EXPECTED:
        _EXPECTED[case.name] = collect(case.build(files).with_options(SLOW), 1, case.limit)
    return _EXPECTED[case.name]


_EXPECTED: dict[str, list[object]] = {}


def test_any_block_size(case: Case, files: Path) -> None:
    twin = expected(case, files)
    for number, size in enumerate(BLOCK_SIZES):
        executor = ("threads", "inline")[number % 2]
        got = collect(case.build(files).with_options(Options(block_size=size, executor=executor)), 1, case.limit)
        assert_same_elements(got, twin, f"block_size={size}, {executor}")


def test_any_rules(case: Case, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any one rule, without all but one, without any two of those that do something here, without any.

    The rules on programs take their turns alone here and at random in test_joined_maps.
    """
    twin = expected(case, files)
    acting: set[str] = set()

    def watched(*given: Any) -> tuple[Node, list[Step]]:
        root, steps = optimize(*given)
        acting.update(step.rule for step in steps)
        return root, steps

    def check(skipped: frozenset[str], block_size: int | None) -> None:
        options = Options(skip_rules=skipped, executor="inline", block_size=block_size)
        got = collect(case.build(files).with_options(options), 1, case.limit)
        assert_same_elements(got, twin, f"without {sorted(skipped)}")

    with monkeypatch.context() as patch:
        patch.setattr(preparation, "optimize", watched)
        check(frozenset(), 2)
        for number, name in enumerate(GRAPH_RULE_NAMES):
            check(frozenset(RULE_NAMES) - {name}, (1, 3, None)[number % 3])
    alone = sorted(acting.union(PROGRAM_RULE_NAMES))
    for number, names in enumerate([*combinations(alone, 1), *combinations(sorted(acting), 2), RULE_NAMES]):
        check(frozenset(names), (1, 3, None)[number % 3])


@pytest.mark.parametrize("way", WAYS)
def test_any_width(case: Case, files: Path, way: str) -> None:
    got = collect(case.build(files).with_options(WAYS[way]), 1, case.limit)
    assert_same_elements(got, expected(case, files), way)
