"""A folder of labelled JPEG photographs, made once from the photographs that two Python packages carry.

One class per photograph. Training and validation files come from regions of it that do not overlap (chosen so that both
show what the photograph is of), as crops of many sizes and qualities. The same folder every time: what is drawn depends
on the file's number alone. It is made beside its place and moved there when it is whole, so what is there is complete.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Event
from typing import Any, Literal

import numpy as np

from penstock.errors import MissingDependencyError
from penstock.machine.cpu import cpu_budget

VERSION = 1  # of what is drawn: another number, another folder
LONG_SIDE_PX = (200, 600)
QUALITY = (75, 95)
AREA_SHARE = (0.3, 1.0)  # of the region that a crop covers
ASPECT = (3 / 4, 4 / 3)
VALIDATION_SHARE = 0.2
MARKER = "complete.json"

Box = tuple[int, int, int, int]  # left, top, right, bottom


@dataclass(frozen=True, slots=True)
class Photograph:
    """A photograph that a package carries in its wheel: no download. `validation` is the part kept for validation."""

    name: str
    package: str
    path: str
    validation: Literal["left", "middle", "top"]

    def locate(self) -> Path:
        """Its file; the package is not imported. Raises: MissingDependencyError."""
        spec = importlib.util.find_spec(self.package)
        for folder in (spec.submodule_search_locations or []) if spec is not None else []:
            if (file := Path(folder, self.path)).is_file():
                return file
        distribution = {"skimage": "scikit-image", "sklearn": "scikit-learn"}[self.package]
        raise MissingDependencyError(
            f"the photograph {self.name!r} comes with {distribution}",
            got="no such file" if spec is not None else "not installed",
            remedy=f"pip install {distribution}, or give your own photographs with --data",
        )


PHOTOGRAPHS = (
    Photograph("astronaut", "skimage", "data/astronaut.png", "middle"),
    Photograph("cat", "skimage", "data/chelsea.png", "left"),
    Photograph("coffee", "skimage", "data/coffee.png", "left"),
    Photograph("galaxies", "skimage", "data/hubble_deep_field.jpg", "left"),
    Photograph("motorcycle", "skimage", "data/motorcycle_left.png", "middle"),
    Photograph("retina", "skimage", "data/retina.jpg", "middle"),
    Photograph("rocket", "skimage", "data/rocket.jpg", "left"),
    Photograph("tissue", "skimage", "data/ihc.png", "middle"),
    Photograph("flower", "sklearn", "datasets/images/flower.jpg", "left"),
    Photograph("temple", "sklearn", "datasets/images/china.jpg", "top"),
)


@dataclass(frozen=True, slots=True)
class Crop:
    """One file of the folder: what is cut from a photograph, how large it becomes, how well it is kept."""

    box: Box
    size: tuple[int, int]
    quality: int


def regions(validation: str, width: int, height: int) -> tuple[tuple[Box, ...], Box]:
    """The parts of a photograph for training, and the part for validation: a third, or a quarter in the middle."""
    if validation == "left":
        cut = width // 3
        return ((cut, 0, width, height),), (0, 0, cut, height)
    if validation == "top":
        cut = height // 3
        return ((0, cut, width, height),), (0, 0, width, cut)
    left, right = width * 3 // 8, width * 5 // 8
    return ((0, 0, left, height), (right, 0, width, height)), (left, 0, right, height)


def draw_crop(region: Box, rng: np.random.Generator) -> Crop:
    """A crop inside `region`, uniform in area, aspect ratio (logarithmic), place, size and quality."""
    left, top, right, bottom = region
    width, height = right - left, bottom - top
    aspect = float(np.exp(rng.uniform(*np.log(ASPECT))))
    side = (width * height * rng.uniform(*AREA_SHARE)) ** 0.5
    w = min(width, max(1, round(side * aspect**0.5)))
    h = min(height, max(1, round(side / aspect**0.5)))
    x = left + int(rng.integers(width - w + 1))
    y = top + int(rng.integers(height - h + 1))
    scale = int(rng.integers(*LONG_SIDE_PX, endpoint=True)) / max(w, h)
    size = (max(1, round(w * scale)), max(1, round(h * scale)))
    return Crop((x, y, x + w, y + h), size, int(rng.integers(*QUALITY, endpoint=True)))


def corpus_path(work: Path, samples: int) -> Path:
    """Where the folder of that many files has its place."""
    return work / f"photographs-v{VERSION}-{samples}"


def is_complete(directory: Path) -> bool:
    return (directory / MARKER).is_file()


def make_corpus(work: Path, samples: int, on_file: Callable[[], None] = lambda: None) -> Path:
    """The folder `train/<class>/*.jpg`, `validation/<class>/*.jpg` of about `samples` files, made unless it is there.

    `on_file()` is called after each file, from several threads. An interruption leaves nothing behind.
    """
    place = corpus_path(work, samples)
    if is_complete(place):
        return place
    work.mkdir(parents=True, exist_ok=True)
    unfinished = work / f".{place.name}-{os.getpid()}"
    pool = ThreadPoolExecutor(min(8, cpu_budget()))
    stop = Event()
    try:
        counts = [pool.submit(_write_class, photo, unfinished, samples, on_file, stop) for photo in PHOTOGRAPHS]
        total = sum(count.result() for count in counts)
        (unfinished / MARKER).write_text(json.dumps({"version": VERSION, "files": total}) + "\n", encoding="utf-8")
        shutil.rmtree(place, ignore_errors=True)
        _move(unfinished, place)
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)
        shutil.rmtree(unfinished, ignore_errors=True)
    return place


def _move(unfinished: Path, place: Path) -> None:
    try:
        unfinished.rename(place)
    except OSError:
        if not is_complete(place):  # else another process made the same folder meanwhile
            raise


def _write_class(photo: Photograph, directory: Path, samples: int, on_file: Callable[[], None], stop: Event) -> int:
    from PIL import Image

    with Image.open(photo.locate()) as file:
        image = file.convert("RGB")
    per_class = max(2, round(samples / len(PHOTOGRAPHS)))
    validation = max(1, round(per_class * VALIDATION_SHARE))
    training_regions, validation_region = regions(photo.validation, *image.size)
    for split, count, parts in (
        ("train", per_class - validation, training_regions),
        ("validation", validation, (validation_region,)),
    ):
        folder = directory / split / photo.name
        folder.mkdir(parents=True)
        for number in range(count):
            if stop.is_set():
                return number
            seed = [VERSION, PHOTOGRAPHS.index(photo), len(split), number]
            crop = draw_crop(parts[number % len(parts)], np.random.default_rng(seed))
            _write(image, crop, folder / f"{number:04d}.jpg")
            on_file()
    return per_class


def _write(image: Any, crop: Crop, file: Path) -> None:
    from PIL import Image

    resized = image.resize(crop.size, Image.Resampling.LANCZOS, box=crop.box, reducing_gap=2.0)
    resized.save(file, "JPEG", quality=crop.quality)
