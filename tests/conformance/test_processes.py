"""Every case with its maps in worker processes, asked for or chosen: the same bytes.

Asked for, also functions that are not known to be pure.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock import Dataset, Options
from penstock.engine.executors import measured
from penstock.engine.executors.evidence import Verdict
from penstock.graph.nodes import Map
from penstock.graph.walk import nodes_of, rebuild
from penstock.testing import assert_same_elements, collect
from tests.conformance.registry import Case
from tests.conformance.test_same_bytes import expected


def in_processes(dataset: Dataset) -> Dataset:
    """The same pipeline, `executor="processes"` said on every map."""
    return Dataset._of(
        rebuild(dataset._node, lambda node, _: replace(node, executor="processes") if isinstance(node, Map) else node)
    )


pytestmark = pytest.mark.usefixtures("warm_pool")


SIZES = (1, 7, None)


def _size(case: Case) -> int | None:
    """A block size for each case; that they do not matter is held elsewhere."""
    return SIZES[len(case.name) % len(SIZES)]


def test_maps_in_processes(case: Case, files: Path) -> None:
    size = _size(case)
    dataset = in_processes(case.build(files))
    if not any(isinstance(node, Map) for node in nodes_of(dataset._node)):
        return
    got = collect(dataset.with_options(Options(block_size=size)), 1, case.limit)
    assert_same_elements(got, expected(case, files), f"block_size={size}")


def test_functions_that_moved(case: Case, files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What measurement decides, decided at the first block: all that may move does, by value."""
    size = _size(case)
    monkeypatch.setattr(
        measured, "judge", lambda evidence, left_s: Verdict("processes" if evidence.rows else "measure")
    )
    monkeypatch.setattr(measured, "judge_trial", lambda evidence, trial: Verdict("measure"))
    dataset = case.build(files).with_options(Options(block_size=size, cpu_budget=2))
    assert_same_elements(collect(dataset, 1, case.limit), expected(case, files), f"block_size={size}")
