from __future__ import annotations

from pathlib import Path

import pytest

from penstock.errors import InvalidArgumentError
from penstock.machine import Budget, measure_budget
from penstock.machine.budget import RecentBudget
from tests.unit.machine.trees import v2_tree, write_tree


def test_measure_budget_names_both_limits(tmp_path: Path) -> None:
    root = write_tree(tmp_path, v2_tree("/pod", {"pod/cpu.max": "200000 100000", "pod/memory.max": f"{2**30}"}))
    assert measure_budget(root, affinity=8) == Budget(
        cpus=2,
        memory_bytes=2**30,
        cpu_reason="cgroup quota of 2 CPUs (/sys/fs/cgroup/pod/cpu.max)",
        memory_reason="cgroup limit of 1.0 GiB, 0 B of it in use (/sys/fs/cgroup/pod/memory.max)",
    )


@pytest.mark.parametrize(("cpus", "memory_bytes"), [(0, 1), (-1, 1), (1, -1)])
def test_budget_refuses_less_than_nothing(cpus: int, memory_bytes: int) -> None:
    with pytest.raises(InvalidArgumentError):
        Budget(cpus, memory_bytes, "", "")


def test_a_recent_budget_is_measured_again_when_it_is_old() -> None:
    now, measured = 0.0, 0

    def measure() -> Budget:
        nonlocal measured
        measured += 1
        return Budget(measured, 1, "", "")

    recent = RecentBudget(measure, lambda: now)
    assert [recent().cpus, recent().cpus] == [1, 1]
    now = RecentBudget.KEPT_S
    assert recent().cpus == 2
