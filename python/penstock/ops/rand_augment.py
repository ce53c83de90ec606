"""`rand_augment`: a few operations drawn from a fixed list, all at one magnitude. uint8 images.

Magnitudes are torchvision's; what each operation does to pixels is Pillow's, to the byte, but for the turned and
sheared, whose nearest pixel may be another one where two are equally near.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.ops.checks import one_image
from penstock.ops.program import op
from penstock.rng import Rng, scoped_rng

Pixels = NDArray[np.uint8]
_BYTES = np.arange(256)


@op
def rand_augment(
    image: ArrayLike,
    num_ops: int = 2,
    magnitude: int = 9,
    num_magnitude_bins: int = 31,
    *,
    fill: int = 0,
    rng: Rng | None = None,
) -> Pixels:
    """Apply `num_ops` operations, each drawn from 14 with equal chance, at `magnitude` out of `num_magnitude_bins`.

    Shapes: image [h, w, 1 or 3] uint8; kept. At the full magnitude (num_magnitude_bins - 1): identity; shear_x and
    shear_y by 0.3; translate_x and translate_y by 150 / 331 of the side; rotate by 30 degrees; brightness, color,
    contrast and sharpness by a factor of 1 +- 0.9; posterize to 4 bits; solarize from 0; autocontrast; equalize. Less
    in proportion. Shears, shifts, turns and factors go either way with equal chance. `fill`: of pixels from outside.
    Source: Cubuk et al., "RandAugment", 2019; torchvision.transforms.v2.RandAugment (nearest pixels).
    """
    array = one_image("rand_augment", image)
    if array.dtype != np.uint8 or array.shape[-1] not in (1, 3):
        raise InvalidArgumentError(
            "rand_augment: not an image of bytes", got=f"shape {array.shape}, dtype {array.dtype}",
            expected="[height, width, 1 or 3] uint8", remedy="map it before casts and normalisation",
        )  # fmt: skip
    if not 0 <= magnitude < num_magnitude_bins:
        raise InvalidArgumentError(
            "rand_augment: magnitude",
            got=magnitude,
            expected=f"from 0 to {num_magnitude_bins - 1}",
        )
    stream = rng or scoped_rng()
    share = magnitude / (num_magnitude_bins - 1) if num_magnitude_bins > 1 else 0.0
    for _ in range(num_ops):
        number, sign = stream.integers(len(OPERATIONS)), 1 - 2 * stream.integers(2)
        array = OPERATIONS[_NAMES[number]](array, share, sign, fill)
    return np.ascontiguousarray(array)


Operation = Callable[[Pixels, float, int, int], Pixels]  # image, share of the full magnitude, 1 or -1, fill


# --- places ----------------------------------------------------------------------------------------------------------


def _affine(image: Pixels, matrix: tuple[float, ...], fill: int) -> Pixels:
    """Each pixel (x, y) from (a x + b y + c, d x + e y + f), the nearest; `matrix`: a to f, for centres of pixels."""
    height, width = image.shape[:2]
    a, b, c, d, e, f = matrix
    x, y = np.arange(width) + 0.5, (np.arange(height) + 0.5)[:, None]
    columns = np.floor(a * x + b * y + c).astype(np.int64)
    rows = np.floor(d * x + e * y + f).astype(np.int64)
    inside = (0 <= columns) & (columns < width) & (0 <= rows) & (rows < height)
    places = np.where(inside, rows * width + columns, 0)
    moved: Pixels = np.take(image.reshape(-1, image.shape[2]), places, axis=0)
    moved[~inside] = fill
    return moved


def _shear_x(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _affine(image, (1, 0.3 * share * sign, 0, 0, 1, 0), fill)


def _shear_y(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _affine(image, (1, 0, 0, 0.3 * share * sign, 1, 0), fill)


def _translate_x(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _affine(image, (1, 0, -int(150 / 331 * image.shape[1] * share * sign), 0, 1, 0), fill)


def _translate_y(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _affine(image, (1, 0, 0, 0, 1, -int(150 / 331 * image.shape[0] * share * sign)), fill)


def _rotate(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    """Against the clock by a positive angle, around the middle."""
    angle = -math.radians(30 * share * sign)
    cosine, sine = math.cos(angle), math.sin(angle)
    x, y = image.shape[1] / 2, image.shape[0] / 2
    return _affine(image, (cosine, sine, x - cosine * x - sine * y, -sine, cosine, y + sine * x - cosine * y), fill)


# --- values ----------------------------------------------------------------------------------------------------------


def _looked_up(image: Pixels, tables: list[NDArray[Any]]) -> Pixels:
    """Each channel through its table of 256 bytes."""
    channels = [np.take(table.astype(np.uint8), image[..., channel]) for channel, table in enumerate(tables)]
    return np.stack(channels, axis=-1)


def _blended(degenerate: NDArray[Any], image: Pixels, factor: float) -> Pixels:
    """From `degenerate` (factor 0) over the image (1) and beyond, cut to whole numbers as Pillow cuts them."""
    base = np.asarray(degenerate, np.float32)
    mixed = base + np.float32(factor) * (image.astype(np.float32) - base)
    return np.clip(mixed, 0, 255).astype(np.uint8)


def _factor(share: float, sign: int) -> float:
    return 1.0 + 0.9 * share * sign


def _grey(image: Pixels) -> NDArray[Any]:
    """[h, w, 1] integers: luma as Pillow rounds it."""
    if image.shape[2] == 1:
        return image
    red, green, blue = (image[..., channel].astype(np.int64) for channel in range(3))
    return ((red * 19595 + green * 38470 + blue * 7471 + 0x8000) >> 16)[..., None]


def _brightness(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _blended(np.zeros(1), image, _factor(share, sign))


def _color(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _blended(_grey(image), image, _factor(share, sign))


def _contrast(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _blended(np.full(1, int(_grey(image).mean() + 0.5)), image, _factor(share, sign))


def _sharpness(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    """Towards or away from the image smoothed by its 8 neighbours (weight 1 beside 5); the border stays."""
    smooth = image.astype(np.int64)
    height, width = image.shape[:2]
    if height > 2 and width > 2:
        total = sum(smooth[y : height - 2 + y, x : width - 2 + x] for y in range(3) for x in range(3))
        total = total + 4 * smooth[1:-1, 1:-1]
        smooth[1:-1, 1:-1] = (2 * total + 13) // 26
    return _blended(smooth, image, _factor(share, sign))


def _posterize(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    bits = 8 - round(4 * share)
    return image & np.uint8(256 - 2 ** (8 - bits))


def _solarize(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return np.where(image < 255.0 * (1.0 - share), image, 255 - image)


def _autocontrast(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _looked_up(image, [_stretch(image[..., channel]) for channel in range(image.shape[2])])


def _stretch(channel: Pixels) -> NDArray[Any]:
    low, high = int(channel.min()), int(channel.max())
    if high <= low:
        return _BYTES
    scale = 255.0 / (high - low)
    return np.clip((_BYTES * scale - low * scale).astype(np.int64), 0, 255)


def _equalize(image: Pixels, share: float, sign: int, fill: int) -> Pixels:
    return _looked_up(image, [_level(image[..., channel]) for channel in range(image.shape[2])])


def _level(channel: Pixels) -> NDArray[Any]:
    counts = np.bincount(channel.ravel(), minlength=256)
    used = counts[counts > 0]
    step = int(used.sum() - used[-1]) // 255
    if len(used) < 2 or not step:
        return _BYTES
    before = np.concatenate([[0], np.cumsum(counts)[:-1]])
    levels: NDArray[Any] = np.minimum((step // 2 + before) // step, 255)
    return levels


OPERATIONS: dict[str, Operation] = {
    "identity": lambda image, share, sign, fill: image,
    "shear_x": _shear_x,
    "shear_y": _shear_y,
    "translate_x": _translate_x,
    "translate_y": _translate_y,
    "rotate": _rotate,
    "brightness": _brightness,
    "color": _color,
    "contrast": _contrast,
    "sharpness": _sharpness,
    "posterize": _posterize,
    "solarize": _solarize,
    "autocontrast": _autocontrast,
    "equalize": _equalize,
}
"""In torchvision's order, which is also the order of what is drawn."""

_NAMES = tuple(OPERATIONS)
