"""The fused image kernel beside its limit and the eager ops: no engine, one thread and two.

Random resized crop (area 0.08 to 1, ratio 3/4 to 4/3) to 224 x 224, flip, normalise, float32, of 500 x 375 crops of the
photographs in scikit-image and scikit-learn, quality 90 to 95, 4:4:4 and 4:2:0 in turn; blocks of 32 into a batch
buffer. The limit decodes the same regions with libjpeg-turbo and makes one pixel of each. Reach: at least 0.80 of it.
"""

from __future__ import annotations

import functools
import io
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

FILES, SIDE, BLOCK = 128, 224, 32
HEIGHT, WIDTH = 375, 500
MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
Work = Callable[[slice], Any]


@functools.cache
def corpus() -> tuple[list[bytes], np.ndarray, np.ndarray]:
    """The same files, crops and flips in every process."""
    import skimage.data
    import sklearn.datasets
    from PIL import Image

    photographs = [getattr(skimage.data, name)() for name in ("astronaut", "coffee", "chelsea", "rocket")]
    photographs += list(sklearn.datasets.load_sample_images().images)
    generator = np.random.default_rng(0)
    files = []
    for number in range(FILES):
        photograph = Image.fromarray(photographs[number % len(photographs)])
        if photograph.height < HEIGHT or photograph.width < WIDTH:
            photograph = photograph.resize((max(WIDTH, photograph.width), max(HEIGHT, photograph.height)))
        left = int(generator.integers(photograph.width - WIDTH + 1))
        top = int(generator.integers(photograph.height - HEIGHT + 1))
        buffer = io.BytesIO()
        part = photograph.crop((left, top, left + WIDTH, top + HEIGHT))
        quality = int(generator.integers(90, 96))
        part.save(buffer, "JPEG", quality=quality, subsampling="4:4:4" if number % 2 else "4:2:0")
        files.append(buffer.getvalue())
    crops = np.array([_crop(generator) for _ in files], np.int32)
    return files, crops, generator.random(FILES) < 0.5


def _crop(generator: np.random.Generator) -> tuple[int, int, int, int]:
    from penstock.ops.draw import draw_resized_crop
    from penstock.rng import Rng

    return draw_resized_crop(Rng(int(generator.integers(2**63))), HEIGHT, WIDTH, (0.08, 1.0), (3 / 4, 4 / 3))


def region(part: slice) -> None:
    from penstock.kernels.fused import fused_images

    files, crops, _ = corpus()
    pixel = np.empty((len(files[part]), 1, 1, 3), np.float32)
    assert fused_images(files[part], pixel, regions=crops[part], size=(1, 1)) == []


def fused(part: slice, out: np.ndarray) -> None:
    from penstock.kernels.fused import fused_images, normalize_steps

    files, crops, flips = corpus()
    steps = [("round",), ("flip_left_right", flips[part].tolist()), *normalize_steps(MEAN, STD, "uint8")]
    assert fused_images(files[part], out[part], regions=crops[part], size=(SIDE, SIDE), steps=steps) == []


def eager(part: slice, out: np.ndarray) -> None:
    from penstock import image
    from penstock.io import decode_jpeg

    files, crops, flips = corpus()
    for row in range(FILES)[part]:
        top, left, height, width = crops[row].tolist()
        picture = image.crop_to_bounding_box(decode_jpeg(files[row], channels=3), top, left, height, width)
        picture = np.rint(image.resize(picture, (SIDE, SIDE))).astype(np.uint8)
        out[row] = image.normalize(image.flip_left_right(picture) if flips[row] else picture, MEAN, STD)


def _repetition(work: Callable[..., None], threads: int, *, writes: bool = True) -> Callable[..., Any]:
    corpus()
    out = np.empty((FILES, SIDE, SIDE, 3), np.float32)
    parts = [slice(start, start + BLOCK) for start in range(0, FILES, BLOCK)]
    pool = ThreadPoolExecutor(threads)

    def repeat(prove: bool) -> Any:
        list(pool.map(lambda part: work(part, out) if writes else work(part), parts))
        return (zlib.crc32(out) if writes else None) if prove else FILES

    return repeat


def fused_1() -> Callable[..., Any]:
    return _repetition(fused, 1)


def fused_2() -> Callable[..., Any]:
    return _repetition(fused, 2)


def eager_1() -> Callable[..., Any]:
    return _repetition(eager, 1)


def eager_2() -> Callable[..., Any]:
    return _repetition(eager, 2)


def region_1() -> Callable[..., Any]:
    return _repetition(region, 1, writes=False)


def region_2() -> Callable[..., Any]:
    return _repetition(region, 2, writes=False)


def run(rounds: int) -> Result:
    lines, figures = [], {}
    for threads in (1, 2):
        names = [("fused", "fused"), ("limit: region decoding", "region"), ("eager ops", "eager")]
        contenders = [Contender(name, f"benchmarks.micro.fused_image:{work}_{threads}") for name, work in names]
        result = compare("fused_image", "", interleave(contenders, rounds), "images/s")
        lines += [f"-- {threads} thread(s)", *result.lines]
        figures[f"{threads} threads"] = result.figures
    what = f"{FILES} JPEGs of {WIDTH} x {HEIGHT} to {SIDE} x {SIDE} float32, blocks of {BLOCK}, {rounds} rounds"
    return Result("fused_image", what, lines, figures)
