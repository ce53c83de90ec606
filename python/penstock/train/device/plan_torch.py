"""PyTorch: devices by CUDA_VISIBLE_DEVICES, memory by a share of each device, its allocator by a variable.

Source: torch/cuda/memory.py, c10/core/AllocatorConfig. PyTorch takes memory as it needs it in any case; "growth" makes
its segments expandable, so that what it holds does not fragment while it grows.
"""

from __future__ import annotations

from penstock.machine.accelerators import visible_devices
from penstock.train.device.request import Request
from penstock.train.device.steps import (
    Facts,
    Planned,
    Step,
    check_limit,
    chosen,
    listed,
    not_needed,
    not_possible,
    variable,
)
from penstock.train.runtime import Change
from penstock.units import format_bytes

_ALLOCATOR = "PYTORCH_ALLOC_CONF"
_OLDER = "PYTORCH_CUDA_ALLOC_CONF"
_VISIBLE = "CUDA_VISIBLE_DEVICES"


def plan(request: Request, facts: Facts) -> Planned:
    """The steps for PyTorch. Raises: InvalidArgumentError: no such device, or less memory than the limit."""
    no_logical = (
        (not_possible(f"{request.logical} logical devices", "PyTorch has none; start processes instead"),)
        if request.logical is not None and request.logical > 1
        else ()
    )
    if not facts.gpus:
        return (*not_needed(request, facts), *no_logical)
    numbers = chosen(request, facts)
    check_limit(request, facts, numbers)
    steps: list[Step | Change] = []
    if request.visible is not None:
        said = visible_devices(facts.environment)
        names = [said[number] if said is not None and number < len(said) else str(number) for number in numbers]
        steps.append(variable(facts, _VISIBLE, ",".join(names), f"GPUs used: {listed(numbers)}"))
    if request.grow and numbers:
        steps.append(_expandable(facts))
    if request.limit_bytes is not None:
        steps += [
            Step(
                kind="fraction", name=f"cuda:{place}", value=request.limit_bytes,
                text=f"a limit of {format_bytes(request.limit_bytes)} on cuda:{place}",
            )
            for place in range(len(numbers))
        ]  # fmt: skip
    return (*steps, *no_logical)


def _expandable(facts: Facts) -> Step | Change:
    """What the user said of the allocator stays, under whichever of its two names."""
    name = _ALLOCATOR if facts.version >= (2, 9) else _OLDER
    said = facts.environment.get(name) or facts.environment.get(_OLDER) or ""
    if "expandable_segments:" in said:
        return Change(
            lever="memory", text="expandable segments", outcome="not needed", why=f"the environment says {said}"
        )
    value = f"{said},expandable_segments:True" if said else "expandable_segments:True"
    return Step(
        kind="environment", name=name, value=value, text="expandable segments",
        why=f"{name}={value}; PyTorch takes memory as it needs it in any case",
    )  # fmt: skip
