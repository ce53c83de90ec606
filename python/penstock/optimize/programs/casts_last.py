"""Casts, scaling and normalisation move behind what only picks or moves pixels: crops, flips, turns.

Each pixel's value is computed from it alone, so the order is free; done later there are fewer pixels, and until then
they are uint8, a quarter of the bytes. What makes values smaller (float to uint8) stays where it is.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.ops.program import Program, Ref, Step
from penstock.optimize.programs.rewriting import dtype_of, only_reader, swapped

_PURE_CASTS = frozenset({"math.cast", "method.astype", "image.convert_image_dtype"})
_ARITHMETIC = frozenset({"np.add", "np.subtract", "np.multiply", "np.divide"})
_PLACES = frozenset(
    "image.flip_left_right image.random_flip_left_right image.central_crop image.crop_to_bounding_box "
    "geometry.flip_up_down geometry.random_flip_up_down geometry.rot90 geometry.transpose".split()
)
_PADS = frozenset({"geometry.pad_to_bounding_box", "geometry.resize_with_crop_or_pad"})  # zeros are cast to zeros


def casts_last(program: Program) -> Program:
    """The program with every such step as late as it goes; the same object when none moves."""
    while True:
        found = _movable(program)
        if found is None:
            return program
        program = swapped(program, *found)


def _movable(program: Program) -> tuple[int, int] | None:
    for number, step in enumerate(program.steps):
        channels = _channels(step)
        if channels is None or not _grows(program, step):
            continue
        reader = only_reader(program, number)
        if reader is not None and _moves_pixels(program.steps[reader], step, channels):
            return number, reader
    return None


def _channels(step: Step) -> int | None:
    """0 for a step that treats every value alike, the number of channels it tells apart, None for another step."""
    if not step.args or not isinstance(step.args[0], Ref) or len(step.references()) != 1:
        return None
    if step.op in _PURE_CASTS:
        return 0
    if step.op in _ARITHMETIC and len(step.args) == 2 and not step.kwargs:
        return _told_apart(step.args[1])
    if step.op == "image.normalize":
        given = [*step.args[1:], *(value for _, value in step.kwargs)]
        told = [_told_apart(value) for value in given]
        return None if None in told else max((number for number in told if number is not None), default=None)
    return None


def _told_apart(value: Any) -> int | None:
    shape = np.shape(value)
    if isinstance(value, Ref) or len(shape) > 1:
        return None
    return shape[0] if shape else 0


def _grows(program: Program, step: Step) -> bool:
    before, after = dtype_of(program, step.args[0]), step.dtype
    return bool(before and after) and np.dtype(before).itemsize <= np.dtype(after).itemsize


def _moves_pixels(step: Step, cast: Step, channels: int) -> bool:
    """Whether `step` only picks or moves pixels of an image, and keeps the channels that `cast` tells apart."""
    if step.op in _PLACES:
        return True
    if step.op in _PADS:
        return cast.op in _PURE_CASTS
    given = dict(zip(("size", "method"), step.args[1:], strict=False)) | dict(step.kwargs)
    if step.op == "image.resize":
        return given.get("method") == "nearest"
    if step.op == "image.random_crop" and isinstance(given.get("size"), tuple | list):
        return not channels or tuple(given["size"])[2:] == (channels,)
    return False
