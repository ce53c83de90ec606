from __future__ import annotations

import os
from pathlib import Path

import pytest

from penstock.machine.cpu import cpu_budget, cpu_limit
from tests.unit.machine.trees import v1_tree, v2_tree, write_tree

AFFINITY = 16

# name: files, CPUs expected, text the reason must hold
CASES = {
    "no files at all": ({}, 16, "affinity"),
    "v2 without limits": (v2_tree("/", {"cpu.max": "max 100000"}), 16, "affinity"),
    "v2 quota": (v2_tree("/", {"cpu.max": "400000 100000"}), 4, "/sys/fs/cgroup/cpu.max"),
    "v2 fraction rounds up": (v2_tree("/", {"cpu.max": "150000 100000"}), 2, "1.5 CPUs"),
    "v2 below one CPU": (v2_tree("/", {"cpu.max": "20000 100000"}), 1, "0.2 CPUs"),
    "v2 nested, own": (v2_tree("/a/b", {"cpu.max": "max 1", "a/b/cpu.max": "300000 100000"}), 3, "/a/b/cpu.max"),
    "v2 nested, parent": (v2_tree("/a/b", {"a/cpu.max": "2 1", "a/b/cpu.max": "8 1"}), 2, "/a/cpu.max"),
    "v2 group outside": (v2_tree("/../x", {"cpu.max": "5 1"}), 5, "/sys/fs/cgroup/cpu.max"),
    "v2 garbled": (v2_tree("/", {"cpu.max": "plenty"}), 16, "affinity"),
    "v2 empty": (v2_tree("/", {"cpu.max": ""}), 16, "affinity"),
    "v2 zero period": (v2_tree("/", {"cpu.max": "100000 0"}), 16, "affinity"),
    "v2 cpuset": (v2_tree("/", {"cpuset.cpus.effective": "0-2,8"}), 4, "cpuset of 4"),
    "v2 cpuset wider": (v2_tree("/", {"cpuset.cpus.effective": "0-63"}), 16, "affinity"),
    "v2 cpuset empty": (v2_tree("/", {"cpuset.cpus.effective": ""}), 16, "affinity"),
    "v2 cpuset garbled": (v2_tree("/", {"cpuset.cpus.effective": "0-x"}), 16, "affinity"),
    "v1 quota": (
        v1_tree("/", "cpu,cpuacct", {"cpu.cfs_quota_us": "600000", "cpu.cfs_period_us": "100000"}),
        6,
        "/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us",
    ),
    "v1 no quota": (v1_tree("/", "cpu", {"cpu.cfs_quota_us": "-1", "cpu.cfs_period_us": "100000"}), 16, "affinity"),
    "v1 in a container, host path": (
        v1_tree("/docker/1f", "cpu", {"cpu.cfs_quota_us": "30", "cpu.cfs_period_us": "10"}, mount_root="/docker/1f"),
        3,
        "/sys/fs/cgroup/cpu/cpu.cfs_quota_us",
    ),
    "v1 parent": (
        v1_tree("/a/b", "cpu", {"a/cpu.cfs_quota_us": "70", "a/cpu.cfs_period_us": "10"}),
        7,
        "/sys/fs/cgroup/cpu/a/cpu.cfs_quota_us",
    ),
    "v1 cpuset": (v1_tree("/", "cpuset", {"cpuset.cpus": "1,3"}), 2, "cpuset.cpus"),
    "mount line cut short": ({**v2_tree("/", {"cpu.max": "1 1"}), "/proc/self/mountinfo": "30 20"}, 16, "affinity"),
}


@pytest.mark.parametrize("name", CASES)
def test_cpu_limit_is_the_smallest_and_says_why(name: str, tmp_path: Path) -> None:
    files, cpus, reason = CASES[name]
    limit = cpu_limit(write_tree(tmp_path, files), affinity=AFFINITY)
    assert limit.amount == cpus
    assert reason in limit.reason


def test_cpu_budget_of_narrow_affinity_beats_a_wide_quota(tmp_path: Path) -> None:
    assert cpu_budget(write_tree(tmp_path, v2_tree("/", {"cpu.max": "8 1"})), affinity=2) == 2


def test_cpu_limit_ignores_a_file_that_is_not_text(tmp_path: Path) -> None:
    root = write_tree(tmp_path, v2_tree("/", {"cpu.max": ""}))
    (root / "sys/fs/cgroup/cpu.max").write_bytes(b"\xff\xfe")
    assert cpu_budget(root, affinity=AFFINITY) == AFFINITY


def test_cpu_limit_ignores_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    root = write_tree(tmp_path, v2_tree("/", {"cpu.max/not_a_file": ""}))
    assert cpu_budget(root, affinity=AFFINITY) == AFFINITY


def test_cpu_limit_counts_the_machine_where_affinity_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    monkeypatch.setattr(os, "cpu_count", lambda: 12)
    limit = cpu_limit(tmp_path)
    assert limit.amount == 12
    assert "of the machine" in limit.reason


def test_cpu_budget_here_is_at_least_one() -> None:
    assert 1 <= cpu_budget() <= (os.cpu_count() or 1)
