"""TensorFlow: growth and visibility by `tf.config`, limits and several devices on one as logical devices.

Source: tensorflow/python/eager/context.py. Growth and logical devices exclude each other, growth is the same on all
devices, and TF_FORCE_GPU_ALLOW_GROWTH is obeyed over what the program says.
"""

from __future__ import annotations

from penstock.errors import InvalidArgumentError
from penstock.train.device.request import Request
from penstock.train.device.steps import Facts, Planned, Step, check_limit, chosen, listed, not_needed, variable
from penstock.units import format_bytes

_FORCED = "TF_FORCE_GPU_ALLOW_GROWTH"
_LEAST = 2**20  # TensorFlow counts in MiB, and takes 0 for no limit
_SPARE = 0.9
"""Share of a device that logical devices divide where no limit is said: CUDA and libraries want the rest."""


def plan(request: Request, facts: Facts) -> Planned:
    """The steps for TensorFlow. Raises: InvalidArgumentError: growth with logical devices; no such device."""
    if request.grow and (request.limit_bytes is not None or (request.logical or 1) > 1):
        raise InvalidArgumentError(
            "devices: TensorFlow takes memory growth or logical devices (and so a limit), not both",
            got=f"{request.memory_text}, logical={request.logical}", expected='memory="growth" alone, or without it',
        )  # fmt: skip
    if not facts.gpus:
        return (*not_needed(request, facts), *_logical_cpus(request))
    numbers = chosen(request, facts)
    check_limit(request, facts, numbers)
    steps: list[Step] = []
    if request.visible is not None:
        steps.append(Step(kind="visible", name="GPU", value=numbers, text=f"GPUs used: {listed(numbers)}"))
    if request.grow and facts.environment.get(_FORCED, "true").lower() not in ("true", "1"):
        steps.append(variable(facts, _FORCED, "true", f"{_FORCED}=true", "TensorFlow obeys it over its own settings"))
    for number in numbers:
        name = f"GPU:{number}"
        if request.grow:
            steps.append(Step(kind="growth", name=name, value=True, text=f"memory growth on {name}"))
        elif request.limit_bytes is not None or request.logical is not None:
            steps.append(_logical(request, facts, number))
    return (*steps, *(() if numbers else _logical_cpus(request)))


def _logical_cpus(request: Request) -> tuple[Step, ...]:
    if request.logical is None:
        return ()
    pieces = (None,) * request.logical
    return (Step(kind="logical", name="CPU:0", value=pieces, text=f"{request.logical} logical CPUs"),)


def _logical(request: Request, facts: Facts, number: int) -> Step:
    """One device as several, or as one with a limit; a limit is divided among them."""
    total, pieces = facts.gpus[number].total_bytes, request.logical or 1
    limit = request.limit_bytes
    if limit is None and pieces > 1:
        if total is None:
            raise InvalidArgumentError(
                f"devices: how much memory GPU:{number} has is not known, so it cannot be divided by {pieces}",
                expected="a limit to divide", remedy=f'setup(memory="8 GiB", logical={pieces})',
            )  # fmt: skip
        limit = int(total * _SPARE)
    each = None if limit is None else limit // pieces
    if each is not None and each < _LEAST:
        raise InvalidArgumentError(
            f"devices: {format_bytes(limit or 0)} in {pieces} logical devices", got=format_bytes(each),
            expected="1 MiB at least for each",
        )  # fmt: skip
    text = f"GPU:{number} as {pieces} logical devices" if pieces > 1 else f"a limit on GPU:{number}"
    text += "" if each is None else f" of {format_bytes(each)}"
    return Step(kind="logical", name=f"GPU:{number}", value=(each,) * pieces, text=text)
