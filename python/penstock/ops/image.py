"""Images: the names, defaults and numerics of tf.image. An image is [h, w, c]; most ops take [n, h, w, c] too.

Random ops take the stream of `rng`, or the next one of the element at work (`penstock.rng.scoped_rng`): one a call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.kernels import image as kernels
from penstock.ops.checks import check_numbers, check_range, check_size, image_array, one_image
from penstock.ops.draw import central_region, draw_brightness, draw_flip, draw_offsets, draw_resized_crop
from penstock.ops.dtypes import as_dtype
from penstock.ops.program import op
from penstock.rng import Rng, scoped_rng

Image = NDArray[Any]
_METHODS = ("bilinear", "nearest", "bicubic", "lanczos3", "area")


@op
def resize(
    images: ArrayLike,
    size: Sequence[int],
    method: str = "bilinear",
    antialias: bool = False,
    preserve_aspect_ratio: bool = False,
) -> Image:
    """Resize to `size` (height, width).

    Shapes: images [h, w, c] or [n, h, w, c]; result [.., height, width, c], the dtype of images for "nearest", float32
    for "bilinear", "bicubic", "lanczos3" and "area". preserve_aspect_ratio: the largest size inside `size`.
    Raises: InvalidArgumentError: another rank, an empty image, a size below 1, an unknown method.
    Cost: one pass over the rows that are needed; releases the GIL.
    Source: tf.image.resize: half-pixel centres; antialias widens the kernel when shrinking; "nearest" and
    "area" ignore it.
    """
    array = image_array("resize", images)
    height, width = check_size("resize", size)
    if method not in _METHODS:
        raise InvalidArgumentError("resize: an unknown method", got=repr(method), expected=", ".join(_METHODS))
    if 0 in array.shape[-3:]:
        raise InvalidArgumentError("resize: an image without pixels", got=f"shape {array.shape}")
    if preserve_aspect_ratio:
        height, width = _fitted(array.shape[-3:-1], height, width)
    if method == "nearest":
        return kernels.resize_nearest(array, height, width)
    check_numbers("resize", array)
    return kernels.resize(array, height, width, method, antialias)


@op
def flip_left_right(image: ArrayLike) -> Image:
    """Mirror the columns. Shapes: [h, w, c] or [n, h, w, c], any dtype; kept."""
    return kernels.flip_left_right(image_array("flip_left_right", image))


@op
def random_flip_left_right(image: ArrayLike, rng: Rng | None = None) -> Image:
    """Mirror the columns of one image in two. Shapes: [h, w, c], any dtype; kept."""
    array = one_image("random_flip_left_right", image)
    flip = draw_flip(rng or scoped_rng())
    return kernels.flip_left_right(array) if flip else array


@op
def adjust_brightness(image: ArrayLike, delta: float) -> Image:
    """Add `delta`, in units of the full range: 0.1 is 25.5 for uint8.

    Shapes: any; dtype kept. Integers pass through float32 and are clamped; floats are not clamped.
    """
    array = np.asarray(image)
    check_numbers("adjust_brightness", array)
    return kernels.adjust_brightness(array, float(delta))


@op
def random_brightness(image: ArrayLike, max_delta: float, rng: Rng | None = None) -> Image:
    """`adjust_brightness` by a delta uniform in [-max_delta, max_delta)."""
    if not max_delta >= 0:
        raise InvalidArgumentError("random_brightness: a negative max_delta", got=max_delta, expected=">= 0")
    return adjust_brightness(image, draw_brightness(rng or scoped_rng(), max_delta))


@op
def convert_image_dtype(image: ArrayLike, dtype: DTypeLike, saturate: bool = False) -> Image:
    """Convert so that the full range stays the full range: [0, 1] for floats, [0, max] for integers.

    Shapes: any; kept. saturate: clamp what the target cannot hold instead of wrapping.
    Source: tf.image.convert_image_dtype (floats become integers times max + 0.5, cut towards zero).
    """
    array = np.asarray(image)
    check_numbers("convert_image_dtype", array)
    target = as_dtype(dtype)
    check_numbers("convert_image_dtype", np.empty(0, target))
    return kernels.convert_image_dtype(array, target, saturate)


@op
def central_crop(image: ArrayLike, central_fraction: float) -> Image:
    """Keep the middle `central_fraction` of each side. Shapes: [h, w, c] or [n, h, w, c], any dtype."""
    array = image_array("central_crop", image)
    if not 0.0 < central_fraction <= 1.0:
        raise InvalidArgumentError("central_crop: not a fraction", got=central_fraction, expected="in (0, 1]")
    height, width = array.shape[-3:-1]
    return kernels.crop(array, *central_region(height, width, central_fraction))


@op
def crop_to_bounding_box(
    image: ArrayLike, offset_height: int, offset_width: int, target_height: int, target_width: int
) -> Image:
    """The region of `target_height` x `target_width` at (offset_height, offset_width), as a copy.

    Shapes: [h, w, c] or [n, h, w, c], any dtype. Raises: InvalidArgumentError: a region not inside the image.
    """
    array = image_array("crop_to_bounding_box", image)
    height, width = array.shape[-3:-1]
    fits = 0 <= offset_height <= height - target_height and 0 <= offset_width <= width - target_width
    if not fits or target_height < 1 or target_width < 1:
        raise InvalidArgumentError(
            "crop_to_bounding_box: a region not inside the image",
            got=f"{target_height} x {target_width} at ({offset_height}, {offset_width})",
            expected=f"inside {height} x {width}",
        )
    return kernels.crop(array, offset_height, offset_width, target_height, target_width)


@op
def random_crop(value: ArrayLike, size: Sequence[int], rng: Rng | None = None) -> Image:
    """A piece of `size`, as a copy, each place equally likely. Shapes: value of any rank; size one number per axis."""
    array = np.asarray(value)
    wanted = tuple(int(part) for part in size)
    if len(wanted) != array.ndim or any(
        not 0 < part <= whole for part, whole in zip(wanted, array.shape, strict=False)
    ):
        raise InvalidArgumentError(
            "random_crop: a size that does not fit the value",
            got=f"size {wanted}",
            expected=f"one number per axis, each from 1 to that of shape {array.shape}",
            remedy="resize or pad first, or keep all channels by giving their number",
        )
    offsets = draw_offsets(rng or scoped_rng(), array.shape, wanted)
    if array.ndim == 3 and wanted[2] == array.shape[2]:
        return kernels.crop(array, offsets[0], offsets[1], wanted[0], wanted[1])
    region = tuple(slice(start, start + part) for start, part in zip(offsets, wanted, strict=True))
    return np.array(array[region], order="C")


@op
def random_resized_crop(
    image: ArrayLike,
    size: Sequence[int],
    area_range: tuple[float, float] = (0.08, 1.0),
    aspect_ratio_range: tuple[float, float] = (3 / 4, 4 / 3),
    *,
    antialias: bool = False,
    rng: Rng | None = None,
) -> NDArray[Any]:
    """Cut a random region and resize it to `size` (height, width), bilinear, in the dtype of `image`.

    Shapes: image [h, w, c]; result [height, width, c]; integers are rounded to the nearest. Units: area_range in shares
    of the image, aspect ratio width / height.
    Source: torchvision.transforms.RandomResizedCrop, which keeps the dtype too; the resize is that of `resize`.
    """
    array = one_image("random_resized_crop", image)
    check_numbers("random_resized_crop", array)
    height, width = check_size("random_resized_crop", size)
    check_range("random_resized_crop: area_range", area_range)
    check_range("random_resized_crop: aspect_ratio_range", aspect_ratio_range)
    if array.size == 0:
        raise InvalidArgumentError("random_resized_crop: an image without pixels", got=f"shape {array.shape}")
    region = draw_resized_crop(rng or scoped_rng(), array.shape[0], array.shape[1], area_range, aspect_ratio_range)
    resized = kernels.resize_bilinear(kernels.crop(array, *region), height, width, antialias)
    return resized if array.dtype == np.float32 else _in_dtype(resized, array.dtype)


def _in_dtype(image: NDArray[np.float32], dtype: np.dtype[Any]) -> NDArray[Any]:
    """`image` in another dtype; integers rounded to the nearest (a mean of pixels lies within their range)."""
    return (np.rint(image) if dtype.kind in "iu" else image).astype(dtype)


@op
def normalize(image: ArrayLike, mean: ArrayLike, std: ArrayLike) -> NDArray[np.float32]:
    """`(value / 255 - mean) / std` for uint8, `(value - mean) / std` for other dtypes; float32.

    Shapes: image [..., c]; mean and std [c] or one number.
    """
    array = np.asarray(image)
    check_numbers("normalize", array)
    channels = array.shape[-1] if array.ndim else 0
    means, stds = np.asarray(mean, np.float64), np.asarray(std, np.float64)
    for name, given in (("mean", means), ("std", stds)):
        if channels == 0 or given.shape not in ((), (channels,)):
            raise InvalidArgumentError(
                f"normalize: {name} does not fit the image",
                got=f"{name} of shape {given.shape}, image of shape {array.shape}",
                expected="one number, or one for each of the last axis",
            )
    if not (stds > 0).all():
        raise InvalidArgumentError("normalize: std", got=str(std), expected="numbers above 0")
    return kernels.normalize(array, np.broadcast_to(means, channels), np.broadcast_to(stds, channels))


def _fitted(shape: tuple[int, ...], height: int, width: int) -> tuple[int, int]:
    scale = min(np.float32(height) / np.float32(shape[0]), np.float32(width) / np.float32(shape[1]))
    fitted_height, fitted_width = (max(1, int(np.round(np.float32(side) * scale))) for side in shape)
    return fitted_height, fitted_width
