"""However it runs, a pipeline gives the same bytes: any block size, any subset of rules, any executor and width."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import pytest

from penstock import Options
from penstock.optimize.order import GRAPH_RULE_NAMES, RULE_NAMES
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
# Pairs of rules on graphs; the rules on programs take their turns alone here and at random in test_joined_maps.
SUBSETS = [
    *(frozenset(names) for count in (1, len(RULE_NAMES) - 1) for names in combinations(RULE_NAMES, count)),
    *map(frozenset, combinations(GRAPH_RULE_NAMES, 2)),
    frozenset(RULE_NAMES),
]


def expected(case: Case, files: Path, epoch: int = 1) -> list[object]:
    """One element at a time, in this thread, as written: the slow twin of every way to run."""
    return collect(case.build(files).with_options(SLOW), epoch, case.limit)


def test_any_block_size(case: Case, files: Path) -> None:
    twin = expected(case, files)
    for size in BLOCK_SIZES:
        for executor in ("threads", "inline"):
            got = collect(case.build(files).with_options(Options(block_size=size, executor=executor)), 1, case.limit)
            assert_same_elements(got, twin, f"block_size={size}, {executor}")


def test_any_rules(case: Case, files: Path) -> None:
    twin = expected(case, files)
    for number, skipped in enumerate(SUBSETS):
        options = Options(skip_rules=skipped, executor="inline", block_size=(1, 3, None)[number % 3])
        got = collect(case.build(files).with_options(options), 1, case.limit)
        assert_same_elements(got, twin, f"without {sorted(skipped)}")


@pytest.mark.parametrize("way", WAYS)
def test_any_width(case: Case, files: Path, way: str) -> None:
    got = collect(case.build(files).with_options(WAYS[way]), 1, case.limit)
    assert_same_elements(got, expected(case, files), way)
