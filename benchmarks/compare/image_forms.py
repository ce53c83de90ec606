"""The work that all loaders of `compare.images` do, in its forms, and how it is shown that they did the same.

"train": a random region (area 0.08 to 1, ratio 3/4 to 4/3), resized to 224 x 224, bilinear, mirrored one time in two.
"validation": resize to 256 x 256 and centre crop of 224 x 224, written by all as the middle 7/8 of each side resized to
224 x 224: the same picture with fewer pixels computed. Both then normalise to float32; "uint8" keeps the bytes.

Regions are drawn at random by every library for itself, so contents are compared as statistics: exact counts of each
label, mean and deviation of each channel within TOLERANCE (2560 random regions leave about 0.01; a missing flip would
not show, a missing normalisation, swapped channels or other regions would).
"""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.compare.image_corpus import LARGE, PNG, SMALL, Corpus

BATCH, SIDE = 64, 224
AREA, RATIO = (0.08, 1.0), (3 / 4, 4 / 3)
CENTRE = 224 / 256
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
TOLERANCE = 0.05


@dataclass(frozen=True, slots=True)
class Form:
    """epochs: in one repetition, as one stream. is_random: regions and flips; else the middle. batch: images in one."""

    what: str
    corpus: Corpus
    epochs: int
    is_random: bool = True
    dtype: str = "float32"
    batch: int = BATCH

    @property
    def is_jpeg(self) -> bool:
        return self.corpus.suffix == ".jpg"


FORMS = {
    "train": Form("random resized crop, flip, normalise, float32", SMALL, 4),
    "validation": Form("resize 256, centre crop 224, normalise, float32", SMALL, 4, is_random=False),
    "uint8": Form("random resized crop, flip, uint8", SMALL, 4, dtype="uint8"),
    "large": Form("random resized crop, flip, normalise, float32", LARGE, 4),
    "png": Form("random resized crop, flip, normalise, float32", PNG, 2),
}

Region = tuple[int, int, int, int]  # top, left, height, width


def draw_region(form: Form, height: int, width: int, rng: Any = random) -> Region:
    """For peers that have none of their own. Source: torchvision.transforms.RandomResizedCrop.get_params."""
    if not form.is_random:
        part_height, part_width = round(height * CENTRE), round(width * CENTRE)
        return (height - part_height) // 2, (width - part_width) // 2, part_height, part_width
    low, high = math.log(RATIO[0]), math.log(RATIO[1])
    for _ in range(10):
        area, ratio = height * width * rng.uniform(*AREA), math.exp(rng.uniform(low, high))
        part_width, part_height = round(math.sqrt(area * ratio)), round(math.sqrt(area / ratio))
        if 0 < part_width <= width and 0 < part_height <= height:
            top, left = (int(rng.random() * (whole + 1)) for whole in (height - part_height, width - part_width))
            return top, left, part_height, part_width
    return 0, 0, height, width


def statistics(batches: Iterable[tuple[Any, Any]], form: Form) -> dict[str, Any]:
    """Counts of labels, and mean and deviation of each channel in units of the normalised image."""
    labels = np.zeros(0, dtype=np.int64)
    sums, squares, pixels = np.zeros(3), np.zeros(3), 0
    for images, numbers in batches:
        array = np.asarray(images)
        assert array.shape[1:] == (SIDE, SIDE, 3), array.shape
        assert array.dtype == form.dtype, array.dtype
        counts = np.bincount(np.asarray(numbers).ravel(), minlength=len(labels))
        labels = np.pad(labels, (0, len(counts) - len(labels))) + counts
        flat = array[:, ::4, ::4].reshape(-1, 3).astype(np.float64)  # one pixel in 16 tells as much
        sums, squares, pixels = sums + flat.sum(axis=0), squares + (flat**2).sum(axis=0), pixels + len(flat)
    mean = sums / pixels
    std = np.sqrt(squares / pixels - mean**2)
    if form.dtype == "uint8":
        mean, std = (mean / 255 - MEAN) / STD, std / 255 / STD
    return {"labels": labels.tolist(), "mean": mean.round(4).tolist(), "std": std.round(4).tolist()}
