"""Accelerators behind a protocol: whoever samples need not know whose they are, and tests need none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from penstock.machine.readings import AcceleratorReading


class Accelerators(Protocol):
    """The accelerators of this process. why_none: what keeps them from being read, to be said once; "": nothing."""

    why_none: str

    def read(self) -> tuple[AcceleratorReading, ...]:
        """Each of them now. Never raises: what one does not say is None."""
        ...

    def close(self) -> None:
        """Give up what is held. Idempotent."""
        ...


class NoAccelerators:
    """There are none that could be read, because of `why_none`."""

    def __init__(self, why_none: str) -> None:
        self.why_none = why_none

    def read(self) -> tuple[AcceleratorReading, ...]:
        return ()

    def close(self) -> None:
        """Nothing is held."""


def visible_devices(environ: Mapping[str, str]) -> tuple[str, ...] | None:
    """The indices and UUIDs in CUDA_VISIBLE_DEVICES, up to the first that is neither, as CUDA reads it; None: all."""
    said = environ.get("CUDA_VISIBLE_DEVICES")
    if said is None:
        return None
    found: list[str] = []
    for word in (part.strip() for part in said.split(",")):
        if not (word.isdecimal() or word.startswith(("GPU-", "MIG-"))) or word in found:
            break
        found.append(word)
    return tuple(found)


def as_text(value: Any) -> str:
    """A name as libraries give it: text, or bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
