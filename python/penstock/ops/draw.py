"""What random image ops draw: parameters from a stream, apart from the kernels that apply them.

The fused kernel draws the same numbers for whole blocks (crates/penstock-kernels/src/fused/regions.rs).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from penstock.rng import Rng


class Crop(NamedTuple):
    """A region of an image, in pixels."""

    top: int
    left: int
    height: int
    width: int


def draw_flip(rng: Rng) -> bool:
    """True for one element in two."""
    return bool(rng.random() < 0.5)


def draw_brightness(rng: Rng, max_delta: float) -> float:
    """Uniform in [-max_delta, max_delta)."""
    return float(rng.uniform(-max_delta, max_delta))


def draw_factor(rng: Rng, lower: float, upper: float) -> float:
    """Uniform in [lower, upper): how much contrast, saturation or hue changes."""
    return float(rng.uniform(lower, upper))


def draw_offsets(rng: Rng, shape: Sequence[int], size: Sequence[int]) -> tuple[int, ...]:
    """Where a piece of `size` starts in something of `shape`: uniform over all places, one draw per axis."""
    return tuple(int(rng.integers(whole - part + 1)) for whole, part in zip(shape, size, strict=True))


def draw_resized_crop(
    rng: Rng, height: int, width: int, area_range: tuple[float, float], aspect_ratio_range: tuple[float, float]
) -> Crop:
    """A crop whose share of the area is uniform and whose aspect ratio (width / height) is log-uniform in the ranges.

    Ten tries; if none fits in the image, the largest central crop whose ratio is in range.
    Source: torchvision.transforms.RandomResizedCrop.get_params.
    """
    low, high = map(math.log, aspect_ratio_range)
    for _ in range(10):
        area = height * width * rng.uniform(*area_range)
        ratio = math.exp(rng.uniform(low, high))
        crop_width, crop_height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < crop_width <= width and 0 < crop_height <= height:
            top, left = draw_offsets(rng, (height, width), (crop_height, crop_width))
            return Crop(top, left, crop_height, crop_width)
    return _central(height, width, aspect_ratio_range)


def central_region(height: int, width: int, fraction: float) -> Crop:
    """The middle `fraction` of each side, as tf.image.central_crop rounds it; draws nothing."""
    top, left = int((height - height * fraction) / 2), int((width - width * fraction) / 2)
    return Crop(top, left, height - 2 * top, width - 2 * left)


def _central(height: int, width: int, aspect_ratio_range: tuple[float, float]) -> Crop:
    crop_height, crop_width = height, width
    if width / height < aspect_ratio_range[0]:
        crop_height = max(1, round(width / aspect_ratio_range[0]))
    elif width / height > aspect_ratio_range[1]:
        crop_width = max(1, round(height * aspect_ratio_range[1]))
    return Crop((height - crop_height) // 2, (width - crop_width) // 2, crop_height, crop_width)


def draw_beta(rng: Rng, alpha: float, beta: float) -> float:
    """From the beta distribution, in [0, 1]; as many draws as it needs.

    Source: a ratio of gamma variables, in logarithms so that small parameters do not vanish; Marsaglia, Tsang, "A
    simple method for generating gamma variables", 2000.
    """
    difference = _log_gamma_variable(rng, beta) - _log_gamma_variable(rng, alpha)
    return 1.0 / (1.0 + math.exp(min(difference, 700.0)))


def _log_gamma_variable(rng: Rng, shape: float) -> float:
    """The logarithm of a gamma variable of `shape`: that of shape + 1, times uniform ** (1 / shape)."""
    d = shape + 1.0 - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x = float(rng.normal())
        v = (1.0 + c * x) ** 3
        if v > 0.0 and math.log(1.0 - rng.random()) < 0.5 * x * x + d - d * v + d * math.log(v):
            return math.log(d * v) + math.log(1.0 - rng.random()) / shape
