"""The host at one moment: its cores, this process and its children, memory, pressure. All under a `root`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from penstock.machine.accelerators import Accelerators, NoAccelerators
from penstock.machine.limit import ROOT, read_text, to_integer
from penstock.machine.memory import memory_budget_bytes
from penstock.machine.pressure import read_pressure
from penstock.machine.readings import AcceleratorReading, HostReading

_MOST_PROCESSES = 512
_IDLE, _IO_WAIT, _STEAL = 3, 4, 7  # columns of /proc/stat


class HostReader:
    """Reads the host again and again; a core's busy share is that since it was read last.

    cpus: numbers of the cores this process may use, asked of the system if None.
    """

    def __init__(
        self, accelerators: Accelerators | None = None, root: Path = ROOT, cpus: frozenset[int] | None = None
    ) -> None:
        self.accelerators = NoAccelerators("not asked for") if accelerators is None else accelerators
        self._root = root
        self._cpus = _affinity() if cpus is None else cpus
        self._before = _ticks(root)
        self._slow = HostReading()

    def read(self, *, all_of_it: bool = True) -> HostReading:
        """The host now. all_of_it: else only the accelerators are new. Cost: 1 ms, of the accelerators alone 0.2 ms."""
        if all_of_it:
            self._slow = HostReading(
                cores=self._cores(),
                rss_bytes=sum(_rss_bytes(self._root, name) for name in _family(self._root)),
                available_bytes=memory_budget_bytes(self._root),
                pressure=read_pressure(self._root),
            )
        slow, accelerators = self._slow, self.accelerators.read()
        return _with(slow, accelerators) if accelerators else slow

    def _cores(self) -> tuple[float, ...]:
        before, self._before = self._before, _ticks(self._root)
        shares = []
        for core in sorted(self._before.keys() & self._cpus):
            (busy, total), (busy_before, total_before) = self._before[core], before.get(core, (0, 0))
            passed = total - total_before
            shares.append(min(1.0, max(0.0, (busy - busy_before) / passed)) if passed > 0 else 0.0)
        return tuple(shares)


def _with(slow: HostReading, accelerators: tuple[AcceleratorReading, ...]) -> HostReading:
    return HostReading(
        cores=slow.cores, rss_bytes=slow.rss_bytes, available_bytes=slow.available_bytes, pressure=slow.pressure,
        accelerators=accelerators,
    )  # fmt: skip


def _affinity() -> frozenset[int]:
    if hasattr(os, "sched_getaffinity"):
        return frozenset(os.sched_getaffinity(0))
    return frozenset(range(os.cpu_count() or 1))


def _ticks(root: Path) -> dict[int, tuple[int, int]]:
    """By core, ticks it was busy and ticks in all, from lines like `cpu3 10132153 290696 3084719 46828483 16683 0`."""
    found = {}
    for line in (read_text(root / "proc/stat") or "").splitlines():
        name, *words = line.split() or [""]
        core = to_integer(name.removeprefix("cpu")) if name.startswith("cpu") else None
        ticks = [to_integer(word) or 0 for word in words[: _STEAL + 1]]
        if core is not None and len(ticks) > _IO_WAIT:
            total = sum(ticks)
            found[core] = total - ticks[_IDLE] - ticks[_IO_WAIT], total
    return found


def _family(root: Path) -> Iterator[str]:
    """This process and those it started, theirs too, by number; `self` where the system does not tell children."""
    pending, seen = ["self"], 0
    while pending and seen < _MOST_PROCESSES:
        name = pending.pop()
        seen += 1
        yield name
        try:
            threads = sorted((root / "proc" / name / "task").iterdir())
        except OSError:  # it has ended, or the system has no such folder
            continue
        for thread in threads:
            pending += [child for child in (read_text(thread / "children") or "").split() if child.isdecimal()]


def _rss_bytes(root: Path, name: str) -> int:
    words = (read_text(root / "proc" / name / "statm") or "").split()
    pages = to_integer(words[1]) if len(words) > 1 else None
    return 0 if pages is None else pages * os.sysconf("SC_PAGE_SIZE")
