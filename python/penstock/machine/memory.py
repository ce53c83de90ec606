"""How many bytes this process may still take before the kernel kills it or the machine swaps.

A cgroup limit counts less what the group holds already. Page cache the kernel can drop at once (inactive file pages) is
not held: a group that has read a large data set would otherwise look full. Kubernetes counts its working set so too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from penstock.machine.cgroup import Hierarchy, find_hierarchies
from penstock.machine.limit import ROOT, Limit, read_integer, read_table, read_text, shown, tightest, to_integer
from penstock.units import format_bytes

# v1 writes "no limit" as the largest page-aligned int64; no machine has the 4 EiB above which we take it for that.
_V1_NO_LIMIT = 2**62


def memory_budget_bytes(root: Path = ROOT) -> int:
    """Bytes this process may still take, at least 0; `memory_limit` also says why."""
    return int(memory_limit(root).amount)


def memory_limit(root: Path = ROOT) -> Limit:
    """The limit that decides how many bytes may still be taken.

    Units: bytes. Cost: some ten small files; call it once per iterator, not per element.
    """
    limits: list[Limit] = []
    for hierarchy in find_hierarchies(root, "memory"):
        limits.extend(_v2_limits(root, hierarchy) if hierarchy.version == 2 else _v1_limits(root, hierarchy))
    limits.append(_machine_limit(root))
    return tightest(limits)


def rss_bytes(root: Path = ROOT) -> int:
    """Resident bytes of this process now. Cost: one small file."""
    words = (read_text(root / "proc/self/statm") or "").split()
    pages = to_integer(words[1]) if len(words) > 1 else None
    if pages is not None:
        return pages * os.sysconf("SC_PAGE_SIZE")
    import psutil  # only where there is no /proc

    return int(psutil.Process().memory_info().rss)


def _machine_limit(root: Path) -> Limit:
    available_kib = read_table(root / "proc/meminfo").get("MemAvailable")
    if available_kib is not None:
        return Limit(available_kib * 1024, f"{format_bytes(available_kib * 1024)} available on the machine")
    import psutil  # only where there is no /proc/meminfo

    available = int(psutil.virtual_memory().available)
    return Limit(available, f"{format_bytes(available)} available on the machine")


def _v2_limits(root: Path, hierarchy: Hierarchy) -> Iterator[Limit]:
    for folder in hierarchy.folders:
        held = _held_bytes(folder, "memory.current", "inactive_file")
        for name in ("memory.max", "memory.high"):
            limit = read_integer(folder / name)
            if limit is not None:
                yield _headroom(limit, held, shown(root, folder / name))


def _v1_limits(root: Path, hierarchy: Hierarchy) -> Iterator[Limit]:
    for folder in hierarchy.folders:
        held = _held_bytes(folder, "memory.usage_in_bytes", "total_inactive_file")
        # memory.stat repeats the tightest limit of the parents, even of those a container cannot see
        inherited = read_table(folder / "memory.stat").get("hierarchical_memory_limit")
        own = read_integer(folder / "memory.limit_in_bytes")
        for limit, name in ((own, "memory.limit_in_bytes"), (inherited, "memory.stat")):
            if limit is not None and limit < _V1_NO_LIMIT:
                yield _headroom(limit, held, shown(root, folder / name))


def _held_bytes(folder: Path, usage_name: str, droppable_name: str) -> int:
    usage = read_integer(folder / usage_name) or 0
    return max(0, usage - read_table(folder / "memory.stat").get(droppable_name, 0))


def _headroom(limit: int, held: int, where: str) -> Limit:
    left = max(0, limit - held)
    return Limit(left, f"cgroup limit of {format_bytes(limit)}, {format_bytes(held)} of it in use ({where})")
