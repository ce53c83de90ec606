"""JAX: memory by variables that XLA's client reads when it starts, devices by JAX' own options.

Source: jaxlib/xla_client.py, generate_pjrt_gpu_plugin_options; jax/_src/xla_bridge.py. XLA_CLIENT_MEM_FRACTION and its
older name together are an error there, so the older one is removed. One fraction holds for all devices.
"""

from __future__ import annotations

import math

from penstock.errors import InvalidArgumentError
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

_FRACTION = "XLA_CLIENT_MEM_FRACTION"
_OLDER = "XLA_PYTHON_CLIENT_MEM_FRACTION"
_PREALLOCATE = "XLA_PYTHON_CLIENT_PREALLOCATE"


_PARTS = 10**6
"""A share is given in parts of a million, rounded down: a limit is not passed."""


def plan(request: Request, facts: Facts) -> Planned:
    """The steps for JAX. Raises: InvalidArgumentError: no such device, or a limit of devices of unknown size."""
    if not facts.gpus:
        return (*not_needed(request, facts), *_logical_cpus(request))
    numbers = chosen(request, facts)
    check_limit(request, facts, numbers)
    steps: list[Step | Change] = []
    if request.visible is not None:
        steps.append(_visible(numbers))
    if request.grow:
        steps.append(variable(facts, _PREALLOCATE, "false", "memory growth", f"{_PREALLOCATE}=false"))
    if request.limit_bytes is not None and numbers:
        steps += _limit(request.limit_bytes, facts, numbers)
    if not numbers:
        steps += _logical_cpus(request)
    elif request.logical is not None:
        steps.append(not_possible(f"{request.logical} logical devices", "JAX divides its CPU alone, with visible=[]"))
    return tuple(steps)


def _visible(numbers: tuple[int, ...]) -> Step:
    if not numbers:
        return Step(kind="option", name="jax_platforms", value="cpu", text="no GPU is used")
    return Step(
        kind="option", name="jax_cuda_visible_devices", value=",".join(map(str, numbers)),
        text=f"GPUs used: {listed(numbers)}",
    )  # fmt: skip


def _limit(limit_bytes: int, facts: Facts, numbers: tuple[int, ...]) -> list[Step]:
    totals = [facts.gpus[number].total_bytes for number in numbers]
    known = [total for total in totals if total is not None]
    if len(known) < len(totals):
        raise InvalidArgumentError(
            f"devices: JAX takes a limit as a share of a device, and how much memory there is is not known "
            f"({facts.why_none or 'no telemetry'})",
            got=format_bytes(limit_bytes), remedy=f"set {_FRACTION}=0.5 in the environment, or memory=\"growth\"",
        )  # fmt: skip
    fraction = math.floor(limit_bytes / max(known) * _PARTS) / _PARTS
    why = f"{_FRACTION}={fraction:g}"
    if min(known) < max(known):
        why += f", so {format_bytes(fraction * min(known))} on the smallest device: one share holds for all"
    steps = []
    if _OLDER in facts.environment:
        steps.append(variable(facts, _OLDER, None, f"{_OLDER} removed", f"JAX refuses it beside {_FRACTION}"))
    steps.append(variable(facts, _FRACTION, f"{fraction:g}", f"a limit of {format_bytes(limit_bytes)}", why))
    return steps


def _logical_cpus(request: Request) -> list[Step]:
    if request.logical is None:
        return []
    return [
        Step(kind="option", name="jax_num_cpu_devices", value=request.logical, text=f"{request.logical} CPU devices")
    ]
