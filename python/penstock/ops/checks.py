"""What the image ops ask of their arguments; each failure says what was got and what was expected."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import InvalidArgumentError

Image = NDArray[Any]


def image_array(op: str, image: ArrayLike) -> Image:
    """An array of [h, w, c] or [n, h, w, c]."""
    array = np.asarray(image)
    if array.ndim not in (3, 4) or array.dtype.hasobject:
        raise InvalidArgumentError(
            f"{op}: not an image",
            got=f"shape {array.shape}, dtype {array.dtype}",
            expected="[height, width, channels], or [n, height, width, channels]",
            remedy="a grey image needs an axis for its channel: image[..., None]" if array.ndim == 2 else None,
        )
    return array


def one_image(op: str, image: ArrayLike) -> Image:
    """An array of [h, w, c]: for ops that draw once an image."""
    array = np.asarray(image)
    if array.ndim == 4:
        raise InvalidArgumentError(
            f"{op}: several images at once",
            got=f"shape {array.shape}",
            expected="[height, width, channels]",
            remedy="map it before batch, so that each image has its own draw",
        )
    return image_array(op, array)


def check_numbers(op: str, array: Image) -> None:
    """Refuse what is neither integers nor floats."""
    if array.dtype.kind not in "iuf" and array.dtype.name != "bfloat16":
        raise InvalidArgumentError(f"{op}: not numbers", got=f"dtype {array.dtype}", expected="integers or floats")


def check_size(op: str, size: Sequence[int]) -> tuple[int, int]:
    """(height, width), both at least 1."""
    numbers = tuple(int(side) for side in np.ravel(np.asarray(size)))
    if len(numbers) != 2 or min(numbers) < 1:
        raise InvalidArgumentError(f"{op}: not a size", got=str(size), expected="(height, width), both at least 1")
    return numbers


def check_range(what: str, given: tuple[float, float]) -> None:
    """Refuse a range that is not 0 < low <= high."""
    low, high = given
    if not 0 < low <= high < math.inf:
        raise InvalidArgumentError(what, got=str(given), expected="(low, high) with 0 < low <= high")


def check_rgb(op: str, image: ArrayLike) -> Image:
    """Numbers of [h, w, 3] or [n, h, w, 3]."""
    array = image_array(op, image)
    check_numbers(op, array)
    if array.shape[-1] != 3:
        raise InvalidArgumentError(f"{op}: not RGB", got=f"shape {array.shape}", expected="3 channels")
    return array


def check_factors(op: str, lower: float, upper: float) -> None:
    """Refuse bounds that are not 0 <= lower < upper."""
    if not 0 <= lower < upper < math.inf:
        raise InvalidArgumentError(f"{op}: bounds", got=f"{lower}, {upper}", expected="0 <= lower < upper")
