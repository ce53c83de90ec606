"""docs/reference/differences-from-tf-data.md against the installed TensorFlow: every public name stands in it."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import penstock as ps

pytestmark = [pytest.mark.framework]

PAGE = Path(__file__).parents[2] / "docs/reference/differences-from-tf-data.md"
ROW = re.compile(r"^\| `(\w+)` \| (same|different|not here) \| (.*) \|$")


def rows(heading: str) -> dict[str, tuple[str, str]]:
    """Name to (verdict, reason), of the table below `heading`."""
    section = PAGE.read_text(encoding="utf-8").split(f"\n## {heading}\n")[1].split("\n## ")[0]
    return {row[1]: (row[2], row[3].strip()) for row in map(ROW.match, section.splitlines()) if row}


def public(owner: Any) -> set[str]:
    return {name for name in dir(owner) if not name.startswith("_")}


def parameters(function: Any) -> list[str]:
    """Those that can be given by name, without `name`, which only labels a node of TensorFlow's graph."""
    fixed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found = inspect.signature(function).parameters.values()
    return [each.name for each in found if each.kind not in fixed and each.name not in ("self", "name")]


def owners(tf: ModuleType) -> list[tuple[str, Any, Any]]:
    return [
        ("`tf.data`", tf.data, ps),
        ("`tf.data.Dataset`", tf.data.Dataset, ps.Dataset),
        ("`tf.data.experimental`", tf.data.experimental, None),
        ("`tf.data.Options`", tf.data.Options(), ps.Options()),
    ]


def test_every_public_name_of_tf_data_has_a_row(tf: ModuleType) -> None:
    for heading, theirs, _ in owners(tf):
        assert set(rows(heading)) == public(theirs), heading


def test_what_differs_or_is_not_here_says_why(tf: ModuleType) -> None:
    for heading, _, _ in owners(tf):
        assert not [name for name, (verdict, why) in rows(heading).items() if verdict != "same" and not why]


def test_what_is_said_to_be_here_is_here(tf: ModuleType) -> None:
    for heading, _, ours in owners(tf):
        if ours is not None:
            here = {name for name, (verdict, _) in rows(heading).items() if verdict != "not here"}
            assert here == {name for name in rows(heading) if hasattr(ours, name)}, heading


def test_what_is_the_same_takes_the_same_parameters(tf: ModuleType) -> None:
    for heading, theirs, ours in owners(tf):
        for name, (verdict, _) in rows(heading).items():
            if verdict == "same" and ours is not None and callable(getattr(theirs, name)):
                taken = parameters(getattr(theirs, name))
                assert parameters(getattr(ours, name))[: len(taken)] == taken, f"{heading}: {name}"


def test_a_verb_that_is_not_there_yet_says_what_to_do(tf: ModuleType) -> None:
    for name, (verdict, _) in rows("`tf.data.Dataset`").items():
        if verdict == "not here":
            with pytest.raises(AttributeError, match=f"Dataset.{name} is not (there yet|here): "):
                getattr(ps.Dataset.range(3), name)
