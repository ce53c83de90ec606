"""One image by Pillow or by OpenCV, in Python: what a PyTorch dataset, a Grain map or a thread pool calls.

By best practice: the region is resized without being copied, OpenCV's own threads are off, and normalisation is one
multiplication and one addition over whole rows (100 us; 1300 us as `(image / 255 - mean) / std` by channel).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.compare.image_forms import MEAN, SIDE, STD, Form, draw_region

Load = Callable[..., np.ndarray]  # (path, rng=random, out=None) -> [224, 224, 3]
SCALE = np.tile(1 / (255 * STD), SIDE).astype(np.float32)
OFFSET = np.tile(-MEAN / STD, SIDE).astype(np.float32)


def opencv(form: Form) -> Load:
    """Bilinear without antialiasing, as tf.image.resize."""
    import cv2

    cv2.setNumThreads(0)
    flags = cv2.IMREAD_COLOR_RGB | cv2.IMREAD_IGNORE_ORIENTATION

    def load(path: str, rng: Any = random, out: np.ndarray | None = None) -> np.ndarray:
        image = cv2.imread(path, flags)
        top, left, height, width = draw_region(form, *image.shape[:2], rng)
        image = cv2.resize(image[top : top + height, left : left + width], (SIDE, SIDE))
        if form.is_random and rng.random() < 0.5:
            image = cv2.flip(image, 1)
        return _finished(image, form, out)

    return load


def pillow(form: Form) -> Load:
    """As torchvision: bilinear, always antialiased."""
    from PIL import Image

    def load(path: str, rng: Any = random, out: np.ndarray | None = None) -> np.ndarray:
        with Image.open(path) as file:
            image = file if file.mode == "RGB" else file.convert("RGB")
            top, left, height, width = draw_region(form, image.height, image.width, rng)
            box = (left, top, left + width, top + height)
            image = image.resize((SIDE, SIDE), Image.Resampling.BILINEAR, box=box)
        if form.is_random and rng.random() < 0.5:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        return _finished(np.array(image), form, out)

    return load


def _finished(image: np.ndarray, form: Form, out: np.ndarray | None) -> np.ndarray:
    if form.dtype == "uint8":
        if out is None:
            return image
        out[...] = image
        return out
    out = np.empty(image.shape, np.float32) if out is None else out
    rows = out.reshape(SIDE, -1)
    np.multiply(image.reshape(SIDE, -1), SCALE, out=rows)
    np.add(rows, OFFSET, out=rows)
    return out
