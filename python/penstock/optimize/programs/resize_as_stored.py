"""A resize reads uint8 itself: the cast to float32 before it goes.

Every method but "nearest" computes in float32 and gives float32, and each uint8 is a float32 exactly.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.ops.program import Program, Ref, Step
from penstock.optimize.programs.rewriting import dtype_of, only_reader, renumbered

_CASTS = frozenset({"math.cast", "method.astype"})


def resize_as_stored(program: Program) -> Program:
    """The program without such casts; the same object when it has none."""
    for number in reversed(range(len(program.steps))):
        step = program.steps[number]
        if not _is_widening(program, step):
            continue
        reader = only_reader(program, number)
        if reader is not None and _computes_in_float32(program.steps[reader]):
            steps = list(program.steps)
            steps[reader] = replace(steps[reader], args=(step.args[0], *steps[reader].args[1:]))
            kept = [other for other in range(len(steps)) if other != number]
            program = renumbered(replace(program, steps=tuple(steps)), kept)
    return program


def _is_widening(program: Program, step: Step) -> bool:
    if step.op not in _CASTS or not isinstance(step.args[0], Ref):
        return False
    return step.dtype == "float32" and dtype_of(program, step.args[0]) == "uint8"


def _computes_in_float32(step: Step) -> bool:
    given: dict[str, Any] = dict(zip(("size", "method"), step.args[1:], strict=False)) | dict(step.kwargs)
    return step.op == "image.resize" and given.get("method", "bilinear") != "nearest"
