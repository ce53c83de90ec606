"""The fused image step on a block: regions and amounts are drawn as the single ops draw them, then one native call.

Raises where a row fails, so that the block goes back to the single ops, which say which row and why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from penstock.block.columns import Array, ArrayColumn, Column
from penstock.errors import DecodeError
from penstock.kernels.fused import fused_images, jpeg_shapes
from penstock.ops.draw import central_region, draw_brightness, draw_factor, draw_flip, draw_offsets, draw_resized_crop
from penstock.ops.fused import Adjustment, FusedImages, Region
from penstock.rng import Rng, UInt64s

_DTYPES = {"uint8": np.uint8, "float32": np.float32, "float16": np.float16, "bfloat16": ml_dtypes.bfloat16}

Allocate = Callable[[int | None, tuple[int, ...], np.dtype[Any]], Array]  # leaf of the result or None, shape, dtype
Streams = Callable[[int, int], Rng]  # of a row, for an op number


def run_fused(
    fused: FusedImages,
    contents: Column,
    key: int,
    ids: Callable[[], UInt64s],
    allocate: Callable[[tuple[int, ...], np.dtype[Any]], Array],
) -> Column:
    """The images of a block of JPEGs, [n, height, width, c] (or [n, c, height, width]), where `allocate` puts them.

    Raises: DecodeError: a row is no JPEG, or its region does not fit; nothing is kept then.
    """
    jpegs = list(contents.rows())
    shapes, failures = jpeg_shapes(jpegs)
    if failures:
        raise DecodeError(f"row {failures[0][0]}: {failures[0][1]}")

    def stream(row: int, draw: int) -> Rng:
        return Rng(key, int(ids()[row]), draw)

    channels = fused.channels or int(shapes[0, 2])
    if not fused.channels and (shapes[:, 2] != channels).any():
        raise DecodeError("images of one and of three channels in one block")
    channels = 3 if channels == 4 else channels
    regions = None if fused.region is None else _regions(fused.region, shapes, channels, stream)
    image = (channels, *fused.size) if fused.channels_first else (*fused.size, channels)
    out = allocate((len(jpegs), *image), np.dtype(_DTYPES[fused.dtype]))
    steps = [_step(adjustment, len(jpegs), stream) for adjustment in fused.adjustments]
    if fused.channels_first:
        steps.append(("channels_first",))
    failures = fused_images(
        jpegs,
        out,
        regions=regions,
        size=fused.size if fused.resizes else None,
        antialias=fused.antialias,
        steps=steps,
        channels=channels,
    )
    if failures:
        raise DecodeError(f"row {failures[0][0]}: {failures[0][1]}")
    return ArrayColumn(out)


def _regions(region: Region, shapes: Array, channels: int, stream: Streams) -> Array:
    """[n, 4] int32: top, left, height, width."""
    choose = _REGIONS[region.op]
    rows = []
    for row, (height, width, _) in enumerate(shapes.tolist()):
        box = choose(region, height, width, channels, lambda row=row: stream(row, region.draw or 0))
        top, left, box_height, box_width = box
        if (
            min(top, left) < 0
            or min(box_height, box_width) < 1
            or top + box_height > height
            or left + box_width > width
        ):
            raise DecodeError(f"row {row}: region {tuple(box)} of an image of {height} x {width}")
        rows.append(box)
    return np.array(rows, dtype=np.int32)


def _random_resized_crop(region: Region, height: int, width: int, channels: int, stream: Callable[[], Rng]) -> Any:
    return draw_resized_crop(stream(), height, width, *region.args)


def _random_crop(region: Region, height: int, width: int, channels: int, stream: Callable[[], Rng]) -> Any:
    size = region.args[0]
    if size[0] > height or size[1] > width or size[2] != channels:
        raise DecodeError(f"a crop of {size} from an image of {height} x {width} x {channels}")
    top, left, _ = draw_offsets(stream(), (height, width, channels), size)
    return top, left, size[0], size[1]


def _central_crop(region: Region, height: int, width: int, channels: int, stream: Callable[[], Rng]) -> Any:
    return central_region(height, width, region.args[0])


def _bounding_box(region: Region, height: int, width: int, channels: int, stream: Callable[[], Rng]) -> Any:
    return region.args


_REGIONS: dict[str, Callable[..., Any]] = {
    "random_resized_crop": _random_resized_crop,
    "random_crop": _random_crop,
    "central_crop": _central_crop,
    "crop_to_bounding_box": _bounding_box,
}


def _step(adjustment: Adjustment, count: int, stream: Streams) -> tuple[Any, ...]:
    """The step as the kernel takes it: amounts one an image."""
    name, draw = adjustment.name, adjustment.draw
    if name == "flip_left_right":
        return name, [True] * count if draw is None else [draw_flip(stream(row, draw)) for row in range(count)]
    if name == "adjust_brightness":
        amount = adjustment.args[0]
        if draw is None:
            return name, [amount] * count
        return name, [draw_brightness(stream(row, draw), amount) for row in range(count)]
    if name in ("adjust_contrast", "adjust_saturation"):
        if draw is None:
            return name, [adjustment.args[0]] * count
        return name, [draw_factor(stream(row, draw), *adjustment.args) for row in range(count)]
    return name, *(list(arg) if isinstance(arg, tuple) else arg for arg in adjustment.args)
