"""The marks that JPEG leaves, as an augmentation: encode and decode again. Names and defaults of tf.image."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.kernels import image as kernels
from penstock.ops.checks import check_numbers, one_image
from penstock.ops.program import op
from penstock.rng import Rng, scoped_rng

_BYTES = np.dtype(np.uint8)


@op
def adjust_jpeg_quality(image: ArrayLike, jpeg_quality: int) -> NDArray[Any]:
    """The image as a JPEG of that quality keeps it. Shapes: [h, w, 1 or 3]; the dtype is kept.

    Units: jpeg_quality 0 to 100 (0 is 1); floats stand for [0, 1]. Chroma is stored at half the size (4:2:0).
    """
    array = _pictured("adjust_jpeg_quality", image)
    if not 0 <= jpeg_quality <= 100:
        raise InvalidArgumentError("adjust_jpeg_quality: jpeg_quality", got=jpeg_quality, expected="0 to 100")
    pixels = kernels.convert_image_dtype(array, _BYTES, saturate=True)
    marked = kernels.decode_jpeg(kernels.encode_jpeg(pixels, max(1, int(jpeg_quality))), array.shape[-1])
    return kernels.convert_image_dtype(marked, array.dtype, saturate=True)


@op
def random_jpeg_quality(
    image: ArrayLike, min_jpeg_quality: int, max_jpeg_quality: int, rng: Rng | None = None
) -> NDArray[Any]:
    """`adjust_jpeg_quality` by a whole number uniform in [min_jpeg_quality, max_jpeg_quality)."""
    if not 0 <= min_jpeg_quality < max_jpeg_quality <= 100:
        raise InvalidArgumentError(
            "random_jpeg_quality: bounds",
            got=f"{min_jpeg_quality}, {max_jpeg_quality}",
            expected="0 <= min_jpeg_quality < max_jpeg_quality <= 100",
        )
    array = _pictured("random_jpeg_quality", image)
    return adjust_jpeg_quality(array, int((rng or scoped_rng()).integers(min_jpeg_quality, max_jpeg_quality)))


def _pictured(op: str, image: ArrayLike) -> NDArray[Any]:
    array = one_image(op, image)
    check_numbers(op, array)
    if array.shape[-1] not in (1, 3) or not 1 <= min(array.shape) <= max(array.shape) <= 65500:
        raise InvalidArgumentError(f"{op}: no JPEG holds it", got=f"shape {array.shape}", expected="[h, w, 1 or 3]")
    return array
