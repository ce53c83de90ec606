"""Folders of images for the benchmarks, made once from the photographs that scikit-image and scikit-learn carry.

One class per photograph, all of one count. What is drawn (part, size, quality) depends on the file's number alone, so
the folder is the same every time; the bytes are those of the Pillow that wrote them. JPEGs alternate between 4:2:0 and
4:4:4, quality 90 to 95. Three in ten are upright. A part of a photograph is scaled down by up to 1.5, and up where the
photograph is smaller than what is asked for: at 2000 x 1500 all are scaled up, so they have fewer bits per pixel than
a camera's (540 KB a file; 68 KB at 500 x 375).
"""

from __future__ import annotations

import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from penstock.cli.demo.command import cache_directory
from penstock.cli.demo.corpus import PHOTOGRAPHS

VERSION = 1  # of what is drawn: another number, another folder
QUALITY = (90, 95)


@dataclass(frozen=True, slots=True)
class Corpus:
    """files: a multiple of the number of photographs. long_side_px: range of the longer side; the other is 3/4."""

    name: str
    files: int
    long_side_px: tuple[int, int]
    suffix: str = ".jpg"

    @property
    def place(self) -> Path:
        return cache_directory() / "benchmarks" / f"images-{self.name}-v{VERSION}-{self.files}"


SMALL = Corpus("500x375", 640, (470, 530))
LARGE = Corpus("2000x1500", 160, (1900, 2100))
PNG = Corpus("500x375-png", 320, (470, 530), ".png")


def make(corpus: Corpus) -> Path:
    """The folder `<class>/<number><suffix>`, made unless it is there; it appears whole or not at all."""
    if corpus.place.is_dir():
        return corpus.place
    unfinished = corpus.place.with_name(f".{corpus.place.name}-{os.getpid()}")
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda number: _write_class(corpus, number, unfinished), range(len(PHOTOGRAPHS))))
        unfinished.rename(corpus.place)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return corpus.place


def listing(corpus: Corpus) -> tuple[list[str], list[int]]:
    """Paths and labels, in order."""
    paths = sorted(make(corpus).glob(f"*/*{corpus.suffix}"))
    classes = sorted({path.parent.name for path in paths})
    return [str(path) for path in paths], [classes.index(path.parent.name) for path in paths]


def _write_class(corpus: Corpus, number: int, folder: Path) -> None:
    photograph = PHOTOGRAPHS[number]
    with Image.open(photograph.locate()) as file:
        image = file.convert("RGB")
    place = folder / photograph.name
    place.mkdir(parents=True)
    for row in range(corpus.files // len(PHOTOGRAPHS)):
        rng = np.random.default_rng([VERSION, number, row])
        part = _part(image, corpus, rng)
        if corpus.suffix == ".png":
            part.save(place / f"{row:04d}.png")
        else:
            quality = int(rng.integers(*QUALITY, endpoint=True))
            part.save(place / f"{row:04d}.jpg", quality=quality, subsampling="4:4:4" if row % 2 else "4:2:0")


def _part(image: Image.Image, corpus: Corpus, rng: np.random.Generator) -> Image.Image:
    long = int(rng.integers(*corpus.long_side_px, endpoint=True))
    short = round(long * 3 / 4 * rng.uniform(0.95, 1.05))
    upright = rng.random() < 0.3
    width, height = (short, long) if upright else (long, short)
    scale = min(rng.uniform(1, 1.5), image.width / width, image.height / height)
    left, top = rng.random() * (image.width - width * scale), rng.random() * (image.height - height * scale)
    left, top = max(left, 0.0), max(top, 0.0)  # rounding
    box = (left, top, min(left + width * scale, image.width), min(top + height * scale, image.height))
    return image.resize((width, height), Image.Resampling.LANCZOS, box=box)
