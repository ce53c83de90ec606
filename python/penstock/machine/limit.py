"""A limit with its reason, and the file reads that never fail."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/")


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `amount` (CPUs or bytes; the caller knows which), because of `reason`."""

    amount: float
    reason: str


def tightest(limits: Iterable[Limit]) -> Limit:
    """The smallest limit; of equal ones, the first, so callers list the most telling first."""
    return min(limits, key=lambda limit: limit.amount)


def read_text(path: Path) -> str | None:
    """The text of `path`, stripped; None where it is missing, unreadable or not text."""
    try:
        return path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return None


def read_integer(path: Path) -> int | None:
    """The integer `path` holds; None where there is none, as for cgroup v2's `max`."""
    return to_integer(read_text(path))


def to_integer(text: str | None) -> int | None:
    """The integer written in `text`; None where it is something else."""
    try:
        return None if text is None else int(text)
    except ValueError:
        return None


def read_table(path: Path) -> dict[str, int]:
    """The `name value` lines of `path` (memory.stat, and /proc/meminfo with its colons); other lines are left out.

    Units: those of the file; meminfo counts in KiB, memory.stat in bytes.
    """
    table = {}
    for line in (read_text(path) or "").splitlines():
        name, *rest = line.replace(":", " ").split() or [""]
        value = to_integer(rest[0]) if rest else None
        if value is not None:
            table[name] = value
    return table


def under(root: Path, path: str) -> Path:
    """The absolute `path` as seen under `root`."""
    return root / path.lstrip("/")


def shown(root: Path, path: Path) -> str:
    """`path` as the machine knows it, without the `root` it was read under."""
    return f"/{path.relative_to(root)}"
