"""Penstock: the same verbs, the same work."""

from __future__ import annotations

from typing import Any

import numpy as np

import penstock as ps
from penstock.cli.demo.job import AREA_RANGE, ASPECT_RATIO_RANGE, Job
from penstock.cli.demo.photos import Part

NAME = "Penstock"


def training(job: Job) -> ps.Dataset:
    load = _load if job.photos.has_png else _load_jpeg
    size = (job.image_size, job.image_size)

    def augmented(path: str, label: int) -> Any:
        image = ps.image.random_resized_crop(load(path), size, AREA_RANGE, ASPECT_RATIO_RANGE)
        return ps.image.random_flip_left_right(image) / 255.0, label

    return (
        _files(job.photos.training)
        .shuffle(seed=job.seed)
        .map(augmented)
        .batch(job.batch_size, drop_remainder=True)
        .prefetch(ps.AUTOTUNE)
    )


def validation(job: Job) -> ps.Dataset:
    load = _load if job.photos.has_png else _load_jpeg
    size = (job.image_size, job.image_size)

    def scaled(path: str, label: int) -> Any:
        return ps.image.resize(load(path), size) / 255.0, label

    return _files(job.photos.validation).map(scaled).batch(job.batch_size).prefetch(ps.AUTOTUNE)


def _files(part: Part) -> ps.Dataset:
    return ps.Dataset.from_tensor_slices((list(part.paths), np.array(part.labels)))


def _load_jpeg(path: str) -> Any:
    return ps.io.decode_jpeg(ps.io.read_file(path), channels=3)


def _load(path: str) -> Any:
    data = ps.io.read_file(path)
    if path.lower().endswith(".png"):
        return ps.io.decode_png(data, channels=3)
    return ps.io.decode_jpeg(data, channels=3)
