"""The plain Python generator most people start with: Pillow and NumPy, one thread."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.cli.demo.job import AREA_RANGE, ASPECT_RATIO_RANGE, Job
from penstock.errors import DecodeError

NAME = "Python generator"

Batch = tuple[NDArray[np.float32], NDArray[np.int64]]


def training(job: Job) -> Iterator[Batch]:
    """Epoch after epoch without end, as Keras wants a generator."""
    rng = random.Random(job.seed)
    pairs = list(zip(job.photos.training.paths, job.photos.training.labels, strict=True))
    while True:
        rng.shuffle(pairs)
        for step in range(job.steps_per_epoch):
            chosen = pairs[step * job.batch_size : (step + 1) * job.batch_size]
            images = [_augmented(path, job.image_size, rng) for path, _ in chosen]
            yield np.stack(images), np.array([label for _, label in chosen])


def validation(job: Job) -> Iterator[Batch]:
    part = job.photos.validation
    for first in range(0, len(part), job.batch_size):
        images = [_scaled(_open(path), job.image_size) for path in part.paths[first : first + job.batch_size]]
        yield np.stack(images), np.array(part.labels[first : first + job.batch_size])


def _augmented(path: str, size: int, rng: random.Random) -> NDArray[np.float32]:
    image = _open(path)
    pixels = _scaled(image, size, _region(image.width, image.height, rng))
    return pixels[:, ::-1] if rng.random() < 0.5 else pixels


def _open(path: str) -> Any:
    from PIL import Image

    try:
        with Image.open(path) as file:
            return file.convert("RGB")
    except OSError as error:  # Pillow's for what is no image, or a broken one
        raise DecodeError(f"cannot read the photograph {path}", got=str(error)) from error


def _scaled(image: Any, size: int, box: tuple[int, int, int, int] | None = None) -> NDArray[np.float32]:
    from PIL import Image

    resized = image.resize((size, size), Image.Resampling.BILINEAR, box=box)
    return np.asarray(resized, np.float32) / np.float32(255)


def _region(width: int, height: int, rng: random.Random) -> tuple[int, int, int, int]:
    """A random part; as torchvision.transforms.RandomResizedCrop draws it."""
    for _ in range(10):
        area = width * height * rng.uniform(*AREA_RANGE)
        aspect = math.exp(rng.uniform(math.log(ASPECT_RATIO_RANGE[0]), math.log(ASPECT_RATIO_RANGE[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            left, top = rng.randint(0, width - w), rng.randint(0, height - h)
            return left, top, left + w, top + h
    return 0, 0, width, height
