"""One native pass per image for a block of them: decode a region, resize, adjust, and write into the batch's buffer.

Steps are plain tuples, applied in order after the resize; between them values are uint8 or float32 (after a resize
float32), channels last. A step's per-image values are one for each image of the block, its per-channel values one for
each channel or one for all:

    ("flip_left_right", [bool per image])       mirror where True
    ("round",)                                  float32 to uint8: nearest, halves to even, clamped
    ("adjust_brightness", [delta per image])    as image.adjust_brightness
    ("adjust_contrast", [factor per image])     as image.adjust_contrast; needs the whole image, so costs a pass more
    ("adjust_saturation", [factor per image])   as image.adjust_saturation; RGB only
    ("adjust_hue", [delta per image])           as image.adjust_hue; RGB only
    ("convert_image_dtype", dtype, saturate)    as image.convert_image_dtype, to "uint8" or "float32"
    ("cast", dtype)                             to "uint8" (cut towards zero, wrapped) or "float32"
    ("affine", [scale], [offset])               value * scale + offset, per channel; gives float32
    ("multiply" | "add" | "subtract" | "divide", [values])      float32 arithmetic per channel; uint8 is cast first
    ("channels_first",)                         only as the last: out is [n, c, h, w]

Regions are [n, 4] integers (top, left, height, width), or are reckoned from each image's size, as the eager ops do:

    ("central_crop", share)                             the middle share of each side
    ("random_crop", key, ids, op, (height, width))      each place equally likely
    ("random_resized_crop", key, ids, op, area_range, ratio_range, log_ratio_range)

drawn from the stream (key, ids[i], op) of image i; ids [n] uint64.

The result equals the eager ops applied one after another, bit for bit (tests/unit/kernels/test_fused.py). It must end
as uint8 for an `out` of uint8, as float32 for one of float32, float16 or bfloat16 (rounded to nearest even).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _native

LIMIT_PIXELS = 178_956_970
"""Pixels that a header may claim, unless said otherwise: where Pillow refuses too (half a GiB of RGB)."""

Step = tuple[str, *tuple[Any, ...]]
Regions = NDArray[np.integer] | tuple[str, *tuple[Any, ...]]
Failures = list[tuple[int, str]]


def fused_images(
    contents: Sequence[str | bytes | bytearray | memoryview | NDArray[np.uint8]],
    out: NDArray[Any],
    *,
    regions: Regions | None = None,
    size: tuple[int, int] | None = None,
    antialias: bool = False,
    steps: Sequence[Step] = (),
    channels: int = 3,
    max_pixels: int = LIMIT_PIXELS,
    allow_truncated: bool = False,
    oriented: bool = False,
    fast: bool = False,
    reference: bool = False,
    file_format: str = "jpeg",
) -> Failures:
    """Decode files, or a region of each, resize them bilinearly to `size`, apply `steps`, and write row i of `out`.

    contents: bytes, or the paths (str) of files, which are read into memory that the thread uses again.
    Shapes: regions as above, or None for whole images; out [n, h, w, c] or, with "channels_first", [n, c, h, w],
    C-contiguous; size is its (h, w), or None where the regions have that size already.
    channels: 1, 3, or 0 for what each file stores; must be those of out. allow_truncated, oriented: as
    `kernels.image.decode_jpeg`; regions and sizes are those of upright images then.
    fast: a region of at least twice `size` may be decoded at 1/2, 1/4 or 1/8 of its sides, at least `size` still. Equal
    on smooth images, and free of the aliasing that bilinear shrinking by two or more has; so not to the bit.
    file_format: "jpeg", "png", or "any": a JPEG, PNG, WebP, BMP or GIF; of other files than JPEGs all is decoded.
    reference: libjpeg-turbo decodes all JPEGs, also the baseline ones that our own decoder is for: its slow twin.
    Returns: the rows that failed, each with a reason, in order; they are zeros in `out`.
    Raises: ValueError, TypeError: steps or arrays that do not fit together; nothing was written then.
    Cost: the decoder's, plus 110 to 160 us for 224 x 224 float32 (benchmarks/micro/fused_image.py); one thread, no
    allocation after the first images, releases the GIL for the whole block.
    Source: as kernels.image; a region equals decode-then-crop exactly. Rows below the region are not decoded: damage
    there goes unseen, but a file without an end is an error all the same.
    """
    return _native.fused_images(
        list(contents),
        _regions(regions),
        size,
        antialias,
        list(steps),
        out,
        channels,
        max_pixels,
        allow_truncated,
        oriented,
        fast,
        reference,
        file_format,
    )


def fused_pixels(
    images: Sequence[NDArray[Any]],
    out: NDArray[Any],
    *,
    regions: Regions | None = None,
    size: tuple[int, int] | None = None,
    antialias: bool = False,
    steps: Sequence[Step] = (),
) -> Failures:
    """As `fused_images`, from decoded images: [h, w, c] arrays, all uint8 or all float32.

    Without a size, steps start from the dtype of the images. Images share no memory with `out`.
    """
    return _native.fused_pixels(
        [np.ascontiguousarray(image) for image in images], _regions(regions), size, antialias, list(steps), out
    )


def jpeg_shapes(
    contents: Sequence[bytes | bytearray | memoryview], oriented: bool = False
) -> tuple[NDArray[np.int32], Failures]:
    """Height, width and channels (1 or 3) of JPEGs, from their headers alone; of the upright images if `oriented`.

    Shapes: result [n, 3] int32; zeros where a header could not be read, and that row with its reason beside it.
    Cost: below 1 us an image; releases the GIL.
    """
    return _native.jpeg_shapes(list(contents), oriented)


def normalize_steps(mean: NDArray[np.float64], std: NDArray[np.float64], dtype: str) -> list[Step]:
    """The steps that `normalize` is, for values of `dtype` ("uint8" or "float32"); mean and std one per channel."""
    if dtype == "uint8":
        return [("affine", (1.0 / (255.0 * std)).tolist(), (-mean / std).tolist())]
    return [("subtract", mean.tolist()), ("divide", std.tolist())]


def _regions(regions: Regions | None) -> NDArray[np.int32] | tuple[str, *tuple[Any, ...]] | None:
    if regions is None or isinstance(regions, tuple):
        return regions
    return np.ascontiguousarray(regions, dtype=np.int32)
