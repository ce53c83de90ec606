"""Places of pixels: flips, turns, padding, cutting out, with the names and defaults of tf.image. Any dtype; kept.

An image is [h, w, c] or [n, h, w, c].
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.kernels import image as kernels
from penstock.ops.checks import check_size, image_array, one_image
from penstock.ops.draw import draw_flip, draw_offsets
from penstock.ops.image import resize
from penstock.ops.program import op
from penstock.rng import Rng, scoped_rng

Image = NDArray[Any]


@op
def flip_up_down(image: ArrayLike) -> Image:
    """Mirror the rows."""
    return np.array(image_array("flip_up_down", image)[..., ::-1, :, :], order="C")


@op
def random_flip_up_down(image: ArrayLike, rng: Rng | None = None) -> Image:
    """Mirror the rows of one image in two. Shapes: [h, w, c]."""
    array = one_image("random_flip_up_down", image)
    return flip_up_down(array) if draw_flip(rng or scoped_rng()) else array


@op
def rot90(image: ArrayLike, k: int = 1) -> Image:
    """Turn by 90 degrees `k` times, against the clock."""
    return np.array(np.rot90(image_array("rot90", image), int(k), axes=(-3, -2)), order="C")


@op
def transpose(image: ArrayLike) -> Image:
    """Swap rows and columns."""
    return np.array(image_array("transpose", image).swapaxes(-3, -2), order="C")


@op
def pad_to_bounding_box(
    image: ArrayLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Image:
    """The image at (offset_height, offset_width) of zeros of `target_height` x `target_width`."""
    array = image_array("pad_to_bounding_box", image)
    height, width = array.shape[-3:-1]
    fits = 0 <= offset_height <= target_height - height and 0 <= offset_width <= target_width - width
    if not fits:
        raise InvalidArgumentError(
            "pad_to_bounding_box: the image does not fit",
            got=f"{height} x {width} at ({offset_height}, {offset_width})",
            expected=f"inside {target_height} x {target_width}",
        )
    padded = np.zeros((*array.shape[:-3], target_height, target_width, array.shape[-1]), array.dtype)
    padded[..., offset_height : offset_height + height, offset_width : offset_width + width, :] = array
    return padded


@op
def resize_with_pad(
    image: ArrayLike, target_height: int, target_width: int, method: str = "bilinear", antialias: bool = False
) -> Image:
    """Resize to the largest size inside the target that keeps the aspect ratio, and pad evenly with zeros.

    Source: tf.image.resize_with_pad (sizes are cut to whole pixels, in float32); at least one pixel is left.
    """
    array = image_array("resize_with_pad", image)
    target_height, target_width = check_size("resize_with_pad", (target_height, target_width))
    height, width = map(np.float32, array.shape[-3:-1])
    if 0 in (height, width):
        raise InvalidArgumentError("resize_with_pad: an image without pixels", got=f"shape {array.shape}")
    ratio = max(width / np.float32(target_width), height / np.float32(target_height))
    new_height, new_width = height / ratio, width / ratio
    resized = resize(array, (max(1, int(new_height)), max(1, int(new_width))), method, antialias)
    top = max(0, int((np.float32(target_height) - new_height) / 2))
    left = max(0, int((np.float32(target_width) - new_width) / 2))
    return pad_to_bounding_box(resized, top, left, target_height, target_width)


@op
def resize_with_crop_or_pad(image: ArrayLike, target_height: int, target_width: int) -> Image:
    """The middle of the image, or the image in the middle of zeros, in each direction."""
    array = image_array("resize_with_crop_or_pad", image)
    target_height, target_width = check_size("resize_with_crop_or_pad", (target_height, target_width))
    height, width = array.shape[-3:-1]
    rows, columns = min(height, target_height), min(width, target_width)
    top, left = max((height - target_height) // 2, 0), max((width - target_width) // 2, 0)
    cropped = kernels.crop(array, top, left, rows, columns)
    below, beside = max((target_height - height) // 2, 0), max((target_width - width) // 2, 0)
    return pad_to_bounding_box(cropped, below, beside, target_height, target_width)


@op
def cutout(image: ArrayLike, mask_size: Sequence[int], offset: Sequence[int], constant_values: float = 0) -> Image:
    """A copy with a rectangle of `mask_size` (height, width) around `offset` (row, column) filled, as far as it fits.

    Source: tensorflow_addons.image.cutout, where sides are even.
    """
    array = image_array("cutout", image).copy()
    mask_height, mask_width = check_size("cutout", mask_size)
    row, column = (int(place) for place in offset)
    top, left = row - mask_height // 2, column - mask_width // 2
    rows = slice(max(0, top), max(0, top + mask_height))
    array[..., rows, max(0, left) : max(0, left + mask_width), :] = constant_values
    return array


@op
def random_cutout(
    image: ArrayLike, mask_size: Sequence[int], constant_values: float = 0, rng: Rng | None = None
) -> Image:
    """`cutout` around a pixel of the image, each equally likely. Shapes: [h, w, c]."""
    array = one_image("random_cutout", image)
    return cutout(array, mask_size, draw_offsets(rng or scoped_rng(), array.shape[:2], (1, 1)), constant_values)
