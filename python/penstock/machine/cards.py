"""Who an accelerator is and who uses it, beside what it reads: asked once, not while training."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.machine.accelerators import as_text
from penstock.machine.limit import ROOT, read_text
from penstock.machine.readings import AcceleratorReading


@dataclass(frozen=True, slots=True, kw_only=True)
class CardUser:
    """A process that computes on a card. name: "" where it cannot be seen, as from inside a container."""

    pid: int
    name: str = ""
    memory_bytes: int | None = None

    @property
    def is_this_process(self) -> bool:
        return self.pid == os.getpid()


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One accelerator now. capability: CUDA's compute capability, (9, 0) for Hopper. users: None: it does not say."""

    reading: AcceleratorReading
    uuid: str = ""
    capability: tuple[int, int] | None = None
    users: tuple[CardUser, ...] | None = None


def describe(library: Any, handle: Any, reading: AcceleratorReading, asked: Callable[..., Any]) -> Card:
    """The card behind `handle`. asked: calls what it is given, None where the device does not tell."""
    uuid = asked("uuid", lambda: as_text(library.nvmlDeviceGetUUID(handle)))
    capability = asked("capability", lambda: library.nvmlDeviceGetCudaComputeCapability(handle))
    processes = asked("users", lambda: library.nvmlDeviceGetComputeRunningProcesses(handle))
    return Card(
        reading=reading,
        uuid=uuid or "",
        capability=None if capability is None else (int(capability[0]), int(capability[1])),
        users=None if processes is None else tuple(_user(each) for each in processes),
    )


def process_name(pid: int, root: Path = ROOT) -> str:
    """The command of a process, "" where it cannot be seen."""
    return read_text(root / f"proc/{pid}/comm") or ""


def _user(process: Any) -> CardUser:
    used = process.usedGpuMemory
    return CardUser(pid=int(process.pid), name=process_name(process.pid), memory_bytes=None if used is None else used)
