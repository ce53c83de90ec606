from __future__ import annotations

from pathlib import Path

from penstock.machine.cgroup import find_hierarchies
from tests.unit.machine.trees import V2_MOUNT, v1_mount, v2_tree, write_tree


def test_find_hierarchies_runs_from_the_group_to_the_mount(tmp_path: Path) -> None:
    (hierarchy,) = find_hierarchies(write_tree(tmp_path, v2_tree("/a/b", {})), "cpu")
    base = tmp_path / "sys/fs/cgroup"
    assert hierarchy.version == 2
    assert hierarchy.folders == (base / "a/b", base / "a", base)


def test_find_hierarchies_sees_both_versions_of_a_hybrid_machine(tmp_path: Path) -> None:
    files = {
        "/proc/self/cgroup": "3:memory:/job\n0::/job\n",
        "/proc/self/mountinfo": f"{v1_mount('memory')}\n{v1_mount('cpu')}\n{V2_MOUNT}\n",
    }
    assert {h.version for h in find_hierarchies(write_tree(tmp_path, files), "memory")} == {1, 2}
    assert {h.version for h in find_hierarchies(tmp_path, "cpu")} == {2}


def test_find_hierarchies_reads_escaped_mount_points(tmp_path: Path) -> None:
    mount = V2_MOUNT.replace("/sys/fs/cgroup", r"/my\040groups")
    files = {"/proc/self/cgroup": "0::/\n", "/proc/self/mountinfo": mount}
    (hierarchy,) = find_hierarchies(write_tree(tmp_path, files), "cpu")
    assert hierarchy.folders == (tmp_path / "my groups",)


def test_find_hierarchies_is_empty_without_proc(tmp_path: Path) -> None:
    assert find_hierarchies(tmp_path, "cpu") == ()
