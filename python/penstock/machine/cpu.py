"""How many CPUs this process may keep busy: the smallest of affinity, cpuset and cgroup quota."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from pathlib import Path

from penstock.machine.cgroup import Hierarchy, find_hierarchies
from penstock.machine.limit import ROOT, Limit, read_integer, read_text, shown, tightest, to_integer


def cpu_budget(root: Path = ROOT, affinity: int | None = None) -> int:
    """CPUs this process may keep busy, at least 1; `cpu_limit` also says why."""
    return int(cpu_limit(root, affinity).amount)


def cpu_limit(root: Path = ROOT, affinity: int | None = None) -> Limit:
    """The limit that decides how many CPUs may be kept busy.

    Units: CPUs, whole; a quota of 1.5 CPUs counts as 2, for threads that wait as well as work.
    Args: affinity: CPUs the scheduler may use, asked of the operating system when None.
    Cost: some ten small files; call it once per iterator, not per element.
    """
    limits = [_affinity_limit(affinity)]
    for hierarchy in find_hierarchies(root, "cpuset"):
        limits.extend(_cpuset_limits(root, hierarchy))
    for hierarchy in find_hierarchies(root, "cpu"):
        limits.extend(_quota_limits(root, hierarchy))
    least = tightest(limits)
    return Limit(max(1, math.ceil(least.amount)), least.reason)


def cpu_flags(root: Path = ROOT) -> frozenset[str]:
    """What the first CPU can do, in Linux' words ("avx2", "amx_bf16"); empty where it does not say."""
    for line in (read_text(root / "proc/cpuinfo") or "").splitlines():
        name, _, words = line.partition(":")
        if name.strip() in ("flags", "Features"):  # x86-64, Arm
            return frozenset(words.split())
    return frozenset()


def _affinity_limit(affinity: int | None) -> Limit:
    total = os.cpu_count() or 1
    if affinity is None and hasattr(os, "sched_getaffinity"):
        affinity = len(os.sched_getaffinity(0))
    if affinity is None:
        return Limit(total, f"all {total} CPUs of the machine")
    return Limit(affinity, f"affinity mask of {affinity} CPUs")


def _cpuset_limits(root: Path, hierarchy: Hierarchy) -> Iterator[Limit]:
    """The group's own set: the kernel keeps it within the parents' sets, so the first folder that has one is enough."""
    names = ("cpuset.cpus.effective",) if hierarchy.version == 2 else ("cpuset.effective_cpus", "cpuset.cpus")
    for folder in hierarchy.folders:
        for name in names:
            count = _count_listed(read_text(folder / name))
            if count:
                yield Limit(count, f"cpuset of {count} CPUs ({shown(root, folder / name)})")
                return


def _count_listed(text: str | None) -> int:
    """CPUs in a kernel list such as `0-3,8`; 0 where it is empty or cannot be read."""
    count = 0
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        low, high = to_integer(first), to_integer(last or first)
        if low is None or high is None or high < low:
            return 0
        count += high - low + 1
    return count


def _quota_limits(root: Path, hierarchy: Hierarchy) -> Iterator[Limit]:
    for folder in hierarchy.folders:
        if hierarchy.version == 2:
            path = folder / "cpu.max"
            quota, period = [to_integer(word) for word in [*(read_text(path) or "").split(), "", ""][:2]]
        else:
            path = folder / "cpu.cfs_quota_us"
            quota, period = read_integer(path), read_integer(folder / "cpu.cfs_period_us")
        if quota is not None and period is not None and quota > 0 and period > 0:
            yield Limit(quota / period, f"cgroup quota of {quota / period:.3g} CPUs ({shown(root, path)})")
