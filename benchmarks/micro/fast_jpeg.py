"""fidelity="fast" beside "exact": how far apart their pixels are on photographs, and what is saved. No engine.

Differences in grey levels of 255, against exact pixels resized with antialias (see penstock.ops.io.FAST_TOLERANCE):
random regions of the photographs in scikit-image and scikit-learn, quality 92, shrunk by each factor. CPU: one thread,
interleaved, ratio of the medians of pairs.
"""

from __future__ import annotations

import io
import time

import numpy as np

from benchmarks.harness import Result

SHRINKS = (2, 2.5, 3, 4, 5, 6, 8, 10, 12, 15)
REGIONS = 6
SPEEDS = {"2000 x 1500 to 224 x 224": ((2000, 1500), 224), "500 x 375 to 112 x 112": ((500, 375), 112)}


def photographs() -> list[np.ndarray]:
    """RGB, 400 to 640 pixels a side."""
    import skimage.data
    import sklearn.datasets

    pictures = [getattr(skimage.data, name)() for name in ("astronaut", "coffee", "chelsea", "rocket")]
    return [*pictures, *sklearn.datasets.load_sample_images().images]


def encoded(picture: np.ndarray, sampling: str, size: tuple[int, int] | None = None) -> bytes:
    from PIL import Image

    image = Image.fromarray(picture)
    buffer = io.BytesIO()
    (image if size is None else image.resize(size)).save(buffer, "JPEG", quality=92, subsampling=sampling)
    return buffer.getvalue()


def differences(antialias: bool, shrink: float) -> list[np.ndarray]:
    """Of each region of each photograph, one value a channel of a pixel."""
    from penstock.kernels.fused import fused_images

    generator = np.random.default_rng(0)
    found = []
    for sampling in ("4:4:4", "4:2:0"):
        for picture in photographs():
            file, (height, width) = encoded(picture, sampling), picture.shape[:2]
            for _ in range(REGIONS):
                rows, columns = (int(generator.integers(side // 2, side + 1)) for side in (height, width))
                top, left = int(generator.integers(height - rows + 1)), int(generator.integers(width - columns + 1))
                region = np.array([[top, left, rows, columns]])
                size = (int(rows // shrink), int(columns // shrink))
                exact, fast = (np.empty((1, *size, 3), np.float32) for _ in range(2))
                assert fused_images([file], exact, regions=region, size=size, antialias=True) == []
                assert fused_images([file], fast, regions=region, size=size, antialias=antialias, fast=True) == []
                found.append(np.abs(exact - fast).ravel())
    return found


def cpu_ms(size: tuple[int, int], side: int, rounds: int) -> tuple[float, float]:
    """Median CPU milliseconds an image: exact, fast."""
    from penstock.kernels.fused import fused_images

    files = [encoded(picture, "4:2:0", size) for picture in photographs()]
    out = np.empty((len(files), side, side, 3), np.float32)
    spent: dict[bool, list[float]] = {False: [], True: []}
    for _ in range(rounds):
        for is_fast, times in spent.items():
            began = time.process_time()
            assert fused_images(files, out, size=(side, side), fast=is_fast) == []
            times.append((time.process_time() - began) / len(files) * 1e3)
    return float(np.median(spent[False])), float(np.median(spent[True]))


def run(rounds: int) -> Result:
    lines, figures = (
        [f"{'antialias':>9} {'shrunk':>6} {'mean':>6} {'worst image':>11} {'99.9 %':>7} {'largest':>7}"],
        {},
    )
    for antialias in (False, True):
        for shrink in SHRINKS:
            images = differences(antialias, shrink)
            values = np.concatenate(images)
            row = [values.mean(), max(image.mean() for image in images), np.percentile(values, 99.9), values.max()]
            lines.append(f"{antialias!s:>9} {shrink:6} {row[0]:6.2f} {row[1]:11.2f} {row[2]:7.1f} {row[3]:7.0f}")
            figures[f"antialias {antialias}, shrunk {shrink}"] = [float(value) for value in row]
    for name, (size, side) in SPEEDS.items():
        exact, fast = cpu_ms(size, side, rounds)
        lines.append(f"{name}: exact {exact:.2f} ms CPU, fast {fast:.2f}, exact / fast {exact / fast:.2f}")
        figures[name] = [exact, fast]
    return Result("fast_jpeg", 'fidelity="fast" against "exact"', lines, figures)
