"""Colours: contrast, saturation, hue, gamma, grey, with the names, defaults and numerics of tf.image.

An image is [h, w, c] or [n, h, w, c]; dtypes are kept, integers standing for [0, 1] times their largest value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.kernels import image as kernels
from penstock.ops.checks import check_factors, check_numbers, check_rgb, image_array, one_image
from penstock.ops.draw import draw_factor
from penstock.ops.program import op
from penstock.rng import Rng, scoped_rng

Image = NDArray[Any]


@op
def adjust_contrast(images: ArrayLike, contrast_factor: float) -> Image:
    """Scale the distance of each value from the mean of its channel in its image. Integers are clamped."""
    array = image_array("adjust_contrast", images)
    check_numbers("adjust_contrast", array)
    return kernels.adjust_contrast(array, float(contrast_factor))


@op
def random_contrast(image: ArrayLike, lower: float, upper: float, rng: Rng | None = None) -> Image:
    """`adjust_contrast` by a factor uniform in [lower, upper)."""
    check_factors("random_contrast", lower, upper)
    array = one_image("random_contrast", image)
    return adjust_contrast(array, draw_factor(rng or scoped_rng(), lower, upper))


@op
def adjust_saturation(image: ArrayLike, saturation_factor: float) -> Image:
    """Multiply the saturation of RGB. Integers are clamped. Source: tf.image, within 1e-5 or 1 of uint8."""
    return kernels.adjust_saturation(check_rgb("adjust_saturation", image), float(saturation_factor))


@op
def random_saturation(image: ArrayLike, lower: float, upper: float, rng: Rng | None = None) -> Image:
    """`adjust_saturation` by a factor uniform in [lower, upper)."""
    check_factors("random_saturation", lower, upper)
    array = one_image("random_saturation", image)
    return adjust_saturation(array, draw_factor(rng or scoped_rng(), lower, upper))


@op
def adjust_hue(image: ArrayLike, delta: float) -> Image:
    """Turn the hue of RGB by `delta` of a full turn, in [-1, 1]."""
    array = check_rgb("adjust_hue", image)
    if not -1 <= delta <= 1:
        raise InvalidArgumentError("adjust_hue: delta", got=delta, expected="in [-1, 1]")
    return kernels.adjust_hue(array, float(delta))


@op
def random_hue(image: ArrayLike, max_delta: float, rng: Rng | None = None) -> Image:
    """`adjust_hue` by a delta uniform in [-max_delta, max_delta)."""
    if not 0 <= max_delta <= 0.5:
        raise InvalidArgumentError("random_hue: max_delta", got=max_delta, expected="in [0, 0.5]")
    array = one_image("random_hue", image)
    return adjust_hue(array, draw_factor(rng or scoped_rng(), -max_delta, max_delta))


@op
def adjust_gamma(image: ArrayLike, gamma: float = 1, gain: float = 1) -> Image:
    """`gain * value ** gamma`, in float32. Integers are clamped."""
    array = np.asarray(image)
    check_numbers("adjust_gamma", array)
    if not gamma >= 0:
        raise InvalidArgumentError("adjust_gamma: gamma", got=gamma, expected=">= 0")
    return kernels.adjust_gamma(array, float(gamma), float(gain))


@op
def rgb_to_grayscale(images: ArrayLike) -> Image:
    """The luma of RGB, 0.2989 red + 0.5870 green + 0.1140 blue. Shapes: [..., 3] to [..., 1]."""
    return kernels.rgb_to_grayscale(check_rgb("rgb_to_grayscale", images))


@op
def grayscale_to_rgb(images: ArrayLike) -> Image:
    """The one channel three times. Shapes: [..., 1] to [..., 3], any dtype."""
    array = image_array("grayscale_to_rgb", images)
    if array.shape[-1] != 1:
        raise InvalidArgumentError("grayscale_to_rgb: not grey", got=f"shape {array.shape}", expected="1 channel")
    return np.repeat(array, 3, axis=-1)


@op
def per_image_standardization(image: ArrayLike) -> NDArray[np.float32]:
    """Mean 0 and deviation 1 over all values of each image, float32; the deviation is at least 1 / sqrt(values)."""
    array = image_array("per_image_standardization", image)
    check_numbers("per_image_standardization", array)
    return kernels.per_image_standardization(array)
