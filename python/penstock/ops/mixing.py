"""Examples mixed with their neighbour in the batch: `mixup`, `cutmix`. Mapped after `batch`.

    dataset.batch(64).map(ps.image.mixup)

Each example is mixed with the one before it in the batch (the first with the last), by one draw a batch: names,
defaults and pairing are those of torchvision.transforms.v2. (KerasCV draws for each example.)
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.ops.checks import check_numbers
from penstock.ops.draw import draw_beta
from penstock.ops.program import op
from penstock.rng import Rng, scoped_rng

Image = NDArray[Any]
Labels = NDArray[Any]


@op
def mixup(images: ArrayLike, labels: ArrayLike, alpha: float = 1.0, rng: Rng | None = None) -> tuple[Image, Labels]:
    """`lam` of each example and `1 - lam` of its neighbour, images and labels alike; lam from Beta(alpha, alpha).

    Shapes: images [n, h, w, c], dtype kept (integers are mixed in float32 and rounded); labels [n, classes], one-hot
    or already soft: floats keep their dtype, others become float32.
    Cost: two passes an image, in cache. Source: Zhang et al., "mixup", 2018; torchvision.transforms.v2.MixUp.
    """
    batch, soft = _batch("mixup", images, labels, alpha)
    weight = draw_beta(rng or scoped_rng(), alpha, alpha)
    return _blended(batch, weight), _blended(soft, weight)


@op
def cutmix(images: ArrayLike, labels: ArrayLike, alpha: float = 1.0, rng: Rng | None = None) -> tuple[Image, Labels]:
    """A rectangle of each image replaced by the same part of its neighbour; labels mixed by what area is left.

    The rectangle has the image's proportions and an area of `1 - lam`, lam from Beta(alpha, alpha), around a pixel
    drawn uniformly, cut off at the border. Shapes, dtypes: as `mixup`; pixels are copied, none computed.
    Source: Yun et al., "CutMix", 2019; torchvision.transforms.v2.CutMix.
    """
    batch, soft = _batch("cutmix", images, labels, alpha)
    stream = rng or scoped_rng()
    share = 0.5 * math.sqrt(1.0 - draw_beta(stream, alpha, alpha))
    height, width = batch.shape[1:3]
    row, column = stream.integers(height), stream.integers(width)
    half_height, half_width = int(share * height), int(share * width)
    rows = slice(max(row - half_height, 0), min(row + half_height, height))
    columns = slice(max(column - half_width, 0), min(column + half_width, width))
    mixed = batch.copy()
    mixed[:, rows, columns] = np.roll(batch[:, rows, columns], 1, axis=0)
    left = 1.0 - (rows.stop - rows.start) * (columns.stop - columns.start) / (height * width)
    return mixed, _blended(soft, left)


def _batch(name: str, images: ArrayLike, labels: ArrayLike, alpha: float) -> tuple[Image, Labels]:
    batch, soft = np.asarray(images), np.asarray(labels)
    check_numbers(name, batch)
    if batch.ndim != 4 or soft.ndim != 2 or len(batch) != len(soft):
        raise InvalidArgumentError(
            f"{name}: not a batch of images and one-hot labels",
            got=f"images of shape {batch.shape}, labels of shape {soft.shape}",
            expected="[n, height, width, channels] and [n, classes]",
            remedy="map it after batch; one-hot before it: penstock.one_hot(label, classes)",
        )
    if not 0 < alpha < math.inf:
        raise InvalidArgumentError(f"{name}: alpha", got=alpha, expected="a number above 0")
    is_float = soft.dtype.kind == "f" or soft.dtype.name == "bfloat16"
    return batch, soft if is_float else soft.astype(np.float32)


def _blended(values: Image, weight: float) -> Image:
    """`weight` of each row and the rest of the row before it; the first's is the last."""
    mixed = np.empty_like(values)
    kind = values.dtype if values.dtype.kind not in "iub" else np.dtype(np.float32)
    own, other = kind.type(weight), kind.type(1.0 - weight)
    for row, value in enumerate(values):
        blend = value * own + values[row - 1] * other
        mixed[row] = blend if values.dtype == kind else np.rint(blend)
    return mixed
