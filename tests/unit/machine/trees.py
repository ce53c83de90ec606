"""Fake /proc and /sys trees: a dict of path to text, written under a folder."""

from __future__ import annotations

from pathlib import Path

V2_MOUNT = "30 20 0:26 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate"
MEMINFO_8_GIB = "MemTotal:       16777216 kB\nMemAvailable:    8388608 kB\nHugePages_Total:       0\n"


def v1_mount(controllers: str, mount_root: str = "/") -> str:
    return f"31 20 0:27 {mount_root} /sys/fs/cgroup/{controllers} ro - cgroup cgroup rw,{controllers}"


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for path, text in files.items():
        target = root / path.lstrip("/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    return root


def v2_tree(group: str, files: dict[str, str]) -> dict[str, str]:
    """The files of a machine with cgroup v2; paths in `files` are below /sys/fs/cgroup."""
    return {
        "/proc/self/cgroup": f"0::{group}\n",
        "/proc/self/mountinfo": V2_MOUNT + "\n",
        "/proc/meminfo": MEMINFO_8_GIB,
        **{f"/sys/fs/cgroup/{path}": text for path, text in files.items()},
    }


def v1_tree(group: str, controllers: str, files: dict[str, str], mount_root: str = "/") -> dict[str, str]:
    """The files of a machine with one v1 hierarchy; paths in `files` are below its mount point."""
    return {
        "/proc/self/cgroup": f"4:{controllers}:{group}\n1:name=systemd:/\n",
        "/proc/self/mountinfo": v1_mount(controllers, mount_root) + "\n",
        "/proc/meminfo": MEMINFO_8_GIB,
        **{f"/sys/fs/cgroup/{controllers}/{path}": text for path, text in files.items()},
    }
