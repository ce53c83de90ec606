"""How much of the time tasks of this machine waited for a resource: Linux pressure stall information."""

from __future__ import annotations

from pathlib import Path

from penstock.machine.limit import ROOT, read_text
from penstock.machine.readings import Pressure


def read_pressure(root: Path = ROOT) -> Pressure | None:
    """The last ten seconds; None where the kernel does not tell. Cost: three small files, 60 us."""
    shares = [_some(root / "proc/pressure" / name) for name in ("cpu", "memory", "io")]
    cpu, memory, io = shares
    return None if cpu is None or memory is None or io is None else Pressure(cpu=cpu, memory=memory, io=io)


def _some(path: Path) -> float | None:
    """The share in `some avg10=1.53 avg60=0.40 ...`, which counts in percent."""
    for line in (read_text(path) or "").splitlines():
        kind, _, rest = line.partition(" ")
        name, _, value = rest.partition(" ")[0].partition("=")
        if kind == "some" and name == "avg10":
            try:
                return min(1.0, max(0.0, float(value) / 100))
            except ValueError:
                return None
    return None
