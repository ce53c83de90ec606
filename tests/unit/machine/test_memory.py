from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from penstock.machine.memory import memory_budget_bytes, memory_limit, rss_bytes
from tests.unit.machine.trees import v1_tree, v2_tree, write_tree

GIB = 2**30
V1_NO_LIMIT = "9223372036854771712"

# name: files, bytes expected, text the reason must hold
CASES = {
    "no cgroup": ({"/proc/meminfo": "MemAvailable: 3145728 kB"}, 3 * GIB, "3.0 GiB available on the machine"),
    "v2 without limit": (v2_tree("/", {"memory.max": "max"}), 8 * GIB, "on the machine"),
    "v2 limit": (v2_tree("/", {"memory.max": f"{4 * GIB}"}), 4 * GIB, "/sys/fs/cgroup/memory.max"),
    "v2 limit, some in use": (
        v2_tree("/", {"memory.max": f"{4 * GIB}", "memory.current": f"{GIB}"}),
        3 * GIB,
        "1.0 GiB of it in use",
    ),
    "v2 droppable page cache is free": (
        v2_tree(
            "/",
            {"memory.max": f"{4 * GIB}", "memory.current": f"{3 * GIB}", "memory.stat": f"anon 5\ninactive_file {GIB}"},
        ),
        2 * GIB,
        "2.0 GiB of it in use",
    ),
    "v2 over its limit": (v2_tree("/", {"memory.max": f"{GIB}", "memory.current": f"{2 * GIB}"}), 0, "memory.max"),
    "v2 throttled earlier": (
        v2_tree("/", {"memory.max": f"{4 * GIB}", "memory.high": f"{2 * GIB}"}),
        2 * GIB,
        "memory.high",
    ),
    "v2 parent": (
        v2_tree("/a/b", {"a/memory.max": f"{2 * GIB}", "a/memory.current": f"{GIB}", "a/b/memory.max": f"{4 * GIB}"}),
        GIB,
        "/sys/fs/cgroup/a/memory.max",
    ),
    "v2 wider than the machine": (v2_tree("/", {"memory.max": f"{64 * GIB}"}), 8 * GIB, "on the machine"),
    "v2 garbled": (v2_tree("/", {"memory.max": "lots"}), 8 * GIB, "on the machine"),
    "v1 limit": (
        v1_tree("/", "memory", {"memory.limit_in_bytes": f"{2 * GIB}", "memory.usage_in_bytes": f"{GIB}"}),
        GIB,
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ),
    "v1 without limit": (v1_tree("/", "memory", {"memory.limit_in_bytes": V1_NO_LIMIT}), 8 * GIB, "on the machine"),
    "v1 parent out of sight": (
        v1_tree(
            "/docker/1f",
            "memory",
            {"memory.limit_in_bytes": V1_NO_LIMIT, "memory.stat": f"cache 0\nhierarchical_memory_limit {GIB}"},
            mount_root="/docker/1f",
        ),
        GIB,
        "memory.stat",
    ),
    "v1 parent in sight": (
        v1_tree("/a/b", "memory", {"a/memory.limit_in_bytes": f"{GIB}", "a/b/memory.limit_in_bytes": V1_NO_LIMIT}),
        GIB,
        "/a/memory.limit_in_bytes",
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_memory_limit_is_the_smallest_and_says_why(name: str, tmp_path: Path) -> None:
    files, expected_bytes, reason = CASES[name]
    limit = memory_limit(write_tree(tmp_path, files))
    assert limit.amount == expected_bytes
    assert reason in limit.reason


def test_memory_and_rss_ask_psutil_where_there_is_no_proc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = SimpleNamespace(
        virtual_memory=lambda: SimpleNamespace(available=5 * GIB),
        Process=lambda: SimpleNamespace(memory_info=lambda: SimpleNamespace(rss=123)),
    )
    monkeypatch.setitem(sys.modules, "psutil", fake)
    assert memory_budget_bytes(tmp_path) == 5 * GIB
    assert rss_bytes(tmp_path) == 123


def test_rss_bytes_counts_resident_pages(tmp_path: Path) -> None:
    root = write_tree(tmp_path, {"/proc/self/statm": "5000 300 20 1 0 400 0"})
    assert rss_bytes(root) == 300 * os.sysconf("SC_PAGE_SIZE")


def test_rss_bytes_of_this_process_is_less_than_the_machine_has() -> None:
    assert 2**20 < rss_bytes() < 2**44
