"""The words of a plan: facts about a framework's devices, and steps, each one thing to set."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from penstock.errors import InvalidArgumentError
from penstock.train.device.request import Request
from penstock.train.runtime import Change
from penstock.units import format_bytes

Kind = Literal["environment", "option", "visible", "growth", "logical", "fraction"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """A device as far as it is known before the framework starts; total_bytes: None: not known."""

    name: str = "GPU"
    total_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a plan goes by. gpus: in the framework's order. why_none: why there is none, for a person.

    environment: variables as the user set them. version: of the framework, (2, 9).
    """

    gpus: tuple[Gpu, ...] = ()
    why_none: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    version: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing to set.

    kind: "environment": variable `name` to `value` (None: removed); "option": the framework's own, likewise;
    "visible": the numbers in `value`; of device `name`: "growth", "logical" (a tuple of limits in bytes, None for no
    limit), "fraction" (the bytes it may hold). text, why: as `Change`.
    """

    kind: Kind
    name: str
    value: Any
    text: str
    why: str = ""


Planned = tuple[Step | Change, ...]


def not_needed(request: Request, facts: Facts) -> Planned:
    """What becomes of a request about GPUs where there is none."""
    text = request.memory_text
    if request.visible:
        text += f"{', ' if text else ''}device{'s' if len(request.visible) > 1 else ''} {listed(request.visible)} only"
    return (Change(lever="memory", text=text, outcome="not needed", why=facts.why_none),) if text else ()


def not_possible(text: str, why: str) -> Change:
    """A change that a framework has no way to make."""
    return Change(lever="memory", text=text, outcome="not possible", why=why)


def chosen(request: Request, facts: Facts) -> tuple[int, ...]:
    """The numbers of the devices that stay visible. Raises: InvalidArgumentError: there is no such device."""
    every = tuple(range(len(facts.gpus)))
    if request.visible is None:
        return every
    missing = [number for number in request.visible if number not in every]
    if missing:
        raise InvalidArgumentError(
            "devices: visible", got=listed(request.visible), expected=f"numbers below {len(every)}: "
            + ", ".join(f"{number} ({gpu.name})" for number, gpu in enumerate(facts.gpus)),
        )  # fmt: skip
    return request.visible


def check_limit(request: Request, facts: Facts, numbers: tuple[int, ...]) -> None:
    """Raises: InvalidArgumentError: a device has less memory than the limit."""
    for number in numbers:
        total = facts.gpus[number].total_bytes
        if request.limit_bytes is not None and total is not None and request.limit_bytes > total:
            raise InvalidArgumentError(
                "devices: memory", got=format_bytes(request.limit_bytes),
                expected=f"at most the {format_bytes(total)} of device {number} ({facts.gpus[number].name})",
            )  # fmt: skip


def variable(facts: Facts, name: str, value: str | None, text: str, why: str = "") -> Step:
    """A step that sets a variable, and tells what the user's own said if it said otherwise."""
    before = facts.environment.get(name)
    if before is not None and before != value:
        told = f"the environment said {name}={before}"
        why = f"{why}; {told}" if why else told
    return Step(kind="environment", name=name, value=value, text=text, why=why)


def listed(numbers: tuple[int, ...]) -> str:
    """`0, 2`; "none"."""
    return ", ".join(map(str, numbers)) or "none"
