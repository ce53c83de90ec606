"""Where the kernel keeps the limits of this process's control groups, v1 and v2, in a container or not.

`/proc/self/cgroup` names the group, `/proc/self/mountinfo` says where its hierarchy is mounted and from which group on.
A parent's limit binds its children, so the folders run from the group itself up to the mount point: what lies above
cannot be seen from inside a container.

Source: Linux Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/; the mapping of mount roots is that of the
OpenJDK's cgroupSubsystem_linux.cpp.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from penstock.machine.limit import read_text, under

_ESCAPE = re.compile(r"\\(\d{3})")


@dataclass(frozen=True, slots=True)
class Hierarchy:
    """The folders of one controller, the process's own group first; `version` 1 or 2 says how its files are named."""

    version: int
    folders: tuple[Path, ...]


@dataclass(frozen=True, slots=True)
class _Mount:
    version: int
    controllers: frozenset[str]
    mount_root: str
    mount_point: str


def find_hierarchies(root: Path, controller: str) -> tuple[Hierarchy, ...]:
    """The hierarchies that may limit `controller` ("cpu", "cpuset", "memory") for this process; often one or none.

    Machines in the hybrid layout have both versions; a controller's files exist in one of them.
    """
    groups = _read_groups(root)
    hierarchies = []
    for mount in _read_mounts(root):
        name = "" if mount.version == 2 else controller
        if name in groups and (mount.version == 2 or controller in mount.controllers):
            hierarchies.append(Hierarchy(mount.version, _folders(root, mount, groups[name])))
    return tuple(hierarchies)


def _read_groups(root: Path) -> dict[str, str]:
    """The group's path by v1 controller, and by "" for v2, from lines like `4:cpu,cpuacct:/a/b` and `0::/a/b`."""
    groups = {}
    for line in (read_text(root / "proc/self/cgroup") or "").splitlines():
        _, controllers, path = [*line.split(":", 2), "", ""][:3]
        for controller in controllers.split(","):
            groups[controller] = path
    return groups


def _read_mounts(root: Path) -> list[_Mount]:
    """The cgroup mounts, from lines like `35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory`."""
    mounts = []
    for line in (read_text(root / "proc/self/mountinfo") or "").splitlines():
        left, _, right = line.partition(" - ")
        fields, kind, options = left.split(), right.split()[:1], right.split()[-1:]
        if len(fields) >= 5 and kind in (["cgroup"], ["cgroup2"]):
            version = 2 if kind == ["cgroup2"] else 1
            controllers = frozenset(options[0].split(","))
            mounts.append(_Mount(version, controllers, _unescape(fields[3]), _unescape(fields[4])))
    return mounts


def _unescape(path: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match[1], 8)), path)


def _folders(root: Path, mount: _Mount, group: str) -> tuple[Path, ...]:
    """From the group's folder up to the mount point; the mount point alone where the group lies outside the mount."""
    top = under(root, mount.mount_point)
    try:
        inside = PurePosixPath(group).relative_to(mount.mount_root)
    except ValueError:
        return (top,)
    if ".." in inside.parts:
        return (top,)
    levels = [inside, *inside.parents] if inside.parts else [inside]
    return tuple(top / level for level in levels)
