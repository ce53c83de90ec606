"""The reference lists each kind of finding there is, and no other."""

from __future__ import annotations

import re
from pathlib import Path

import penstock.diagnose.rules

REFERENCE = Path(__file__).parents[3] / "docs" / "reference" / "findings.md"


def test_each_kind_is_in_the_reference() -> None:
    rules = Path(penstock.diagnose.rules.__file__).parent
    kinds = {kind for file in rules.glob("*.py") for kind in re.findall(r'kind="(\w+)"', file.read_text())}
    told = set(re.findall(r"^\| `(\w+)` \|", REFERENCE.read_text(), re.MULTILINE))
    assert told == kinds


def test_each_rule_is_in_the_rulebook() -> None:
    from penstock.diagnose.rulebook import EXPLAINED, RULES

    rules = Path(penstock.diagnose.rules.__file__).parent
    names = {file.stem for file in rules.glob("*.py")} - {"__init__"}
    assert {rule.__module__.rpartition(".")[2] for rule in RULES} == names
    assert set(EXPLAINED) | set().union(*EXPLAINED.values()) <= names
