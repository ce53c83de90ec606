"""The fused image step on a block: one native call, in which files are read and regions drawn as the single ops do.

Raises where a row fails, so that the block goes back to the single ops, which say which row and why.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from penstock.block.columns import Array, Column, FreshColumn
from penstock.errors import DecodeError
from penstock.kernels.fused import Failures, Regions, Step, fused_images, jpeg_shapes
from penstock.kernels.random import philox
from penstock.ops.fused import Adjustment, FusedImages, Region
from penstock.ops.io import read_files
from penstock.ops.limits import max_image_pixels
from penstock.ops.program import Draw
from penstock.rng import BlockStreams, UInt64s
from penstock.storage.url import is_remote

_DTYPES = {"uint8": np.uint8, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}

Allocate = Callable[[Sequence[int | None], tuple[int, ...], np.dtype[Any]], list[Array]]
"""Leaves of the result (None: something else), the shape and dtype of each -> memory for each."""


def run_fused(
    fused: FusedImages,
    source: Column,
    streams: BlockStreams,
    allocate: Callable[[tuple[int, ...], np.dtype[Any]], Array],
) -> Column:
    """The images of a block of files, [n, height, width, c] (or [n, c, height, width]), where `allocate` puts them.

    Raises: DecodeError: a row does not decode, or its region does not fit; nothing is kept then.
    """
    count = len(source)
    contents = _paths_or_bytes(source) if fused.reads else list(source.rows())
    draws = Draws(streams, count)
    channels = fused.channels or _stored_channels(contents)
    regions = None if fused.region is None else _regions(fused.region, count, channels, draws)
    image = (channels, *fused.size) if fused.channels_first else (*fused.size, channels)
    out = allocate((count, *image), np.dtype(_DTYPES[fused.dtype]))
    steps = [_step(adjustment, count, draws) for adjustment in fused.adjustments]
    if fused.channels_first:
        steps.append(("channels_first",))
    failures = fused_images(
        contents,
        out,
        regions=regions,
        size=fused.size if fused.resizes else None,
        antialias=fused.antialias,
        steps=steps,
        channels=channels,
        max_pixels=max_image_pixels(),
        allow_truncated=fused.allow_truncated,
        oriented=fused.is_oriented,
        fast=fused.is_fast,
        file_format=fused.file_format,
    )
    _check(failures)
    return FreshColumn(out, out)


def _paths_or_bytes(source: Column) -> list[str | bytes]:
    """What the kernel takes for these files: paths, which it reads itself; of objects behind URLs, their bytes."""
    paths = [os.fsdecode(path) for path in source.rows()]
    found = read_files([(path, 0, None) for path in paths if is_remote(path)])
    if found is None:
        return list(paths)
    remote = iter(found)
    return [next(remote) if is_remote(path) else path for path in paths]


@dataclass(frozen=True, slots=True)
class Draws:
    """What the `count` elements of a block draw. `streams`: may go on past them, where the first rows are checked."""

    streams: BlockStreams
    count: int

    def key(self, draw: Draw) -> int:
        return self.streams.keys[draw.call]

    def ids(self) -> UInt64s:
        return self.streams.ids()[: self.count]

    def uniform(self, draw: Draw, low: float, high: float) -> list[float]:
        """What each element's stream gives first from the place of `draw` on, by `Rng.uniform(low, high)`."""
        words = philox(self.key(draw), self.ids(), draw.op, draw.position + 2)[:, draw.position :].astype(np.uint64)
        bits = words[:, 0] | (words[:, 1] << np.uint64(32))
        values: list[float] = (low + (high - low) * ((bits >> np.uint64(11)) * 2.0**-53)).tolist()
        return values


def _check(failures: Failures) -> None:
    if failures:
        raise DecodeError(f"row {failures[0][0]}: {failures[0][1]}")


def _stored_channels(contents: list[Any]) -> int:
    shapes, failures = jpeg_shapes(contents)
    _check(failures)
    channels = int(shapes[0, 2])
    if (shapes[:, 2] != channels).any():
        raise DecodeError("images of one and of three channels in one block")
    return channels


def _regions(region: Region, count: int, channels: int, draws: Draws) -> Regions:
    """The regions as the kernel takes them."""
    name, args = region.op, region.args
    if name == "crop_to_bounding_box":
        return np.tile(np.array(args, dtype=np.int32), (count, 1))
    if name == "central_crop":
        return name, *args
    draw = region.draw
    assert draw is not None
    if name == "random_crop":
        height, width, wanted = args[0]
        if wanted != channels:
            raise DecodeError(f"a crop of {wanted} channels from images of {channels}")
        return name, draws.key(draw), draws.ids(), draw.op, (height, width)
    area, ratio = args
    return name, draws.key(draw), draws.ids(), draw.op, area, ratio, tuple(map(math.log, ratio))


def _step(adjustment: Adjustment, count: int, draws: Draws) -> Step:
    """The step as the kernel takes it: amounts one an image."""
    name, draw = adjustment.name, adjustment.draw
    if name == "flip_left_right":
        return name, [True] * count if draw is None else [unit < 0.5 for unit in draws.uniform(draw, 0.0, 1.0)]
    if name in ("adjust_brightness", "adjust_hue"):
        amount = adjustment.args[0]
        if draw is None:
            return name, [amount] * count
        return name, draws.uniform(draw, -amount, amount)
    if name in ("adjust_contrast", "adjust_saturation"):
        if draw is None:
            return name, [adjustment.args[0]] * count
        return name, draws.uniform(draw, *adjustment.args)
    return name, *(list(arg) if isinstance(arg, tuple) else arg for arg in adjustment.args)
