"""Every case with its maps in worker processes: the same bytes, also for functions that are not known to be pure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from penstock import Dataset, Options
from penstock.engine.executors.processes import shared_pool
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


@pytest.fixture(scope="module", autouse=True)
def warm_pool() -> None:
    """Two workers that have started, so that no block runs in the trainer while they do."""
    pool = shared_pool()
    pool.start(2)
    workers = [pool.acquire(may_wait=True) for _ in range(2)]
    for worker in workers:
        assert worker is not None
        pool.release(worker)


@pytest.mark.parametrize("size", [1, 7, None])
def test_maps_in_processes(case: Case, files: Path, size: int | None) -> None:
    dataset = in_processes(case.build(files))
    if not any(isinstance(node, Map) for node in nodes_of(dataset._node)):
        return
    got = collect(dataset.with_options(Options(block_size=size)), 1, case.limit)
    assert_same_elements(got, expected(case, files), f"block_size={size}")
