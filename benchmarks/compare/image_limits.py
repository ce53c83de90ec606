"""What `compare.images` is measured against: the same files in memory, the regions drawn beforehand, no engine.

kernel: Penstock's fused pass over blocks of 32, into a few buffers that are used again and again. regions:
libjpeg-turbo decodes the regions and one pixel of each is kept; with that decoder nothing is faster.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.compare.image_corpus import listing
from benchmarks.compare.image_forms import CORES, MEAN, SIDE, STD, Form, draw_region
from benchmarks.compare.image_loaders import Batches

BLOCK = 32


class Prepared:
    """A whole repetition, in the order in which it is done: contents, labels, regions [n, 4] and flips [n]."""

    def __init__(self, form: Form) -> None:
        from penstock.kernels.fused import jpeg_shapes

        paths, labels = listing(form.corpus)
        contents = [Path(path).read_bytes() for path in paths]
        shapes = jpeg_shapes(contents)[0].tolist()
        generator = np.random.default_rng(0)
        order = np.concatenate([generator.permutation(len(paths)) for _ in range(form.epochs)]).tolist()
        self.contents = [contents[row] for row in order]
        self.labels = np.array(labels)[order]
        self.regions = np.array([draw_region(form, *shapes[row][:2], generator) for row in order], np.int32)
        self.flips = generator.random(len(order)) < (0.5 if form.is_random else 0)
        self.blocks = [slice(start, start + BLOCK) for start in range(0, len(order), BLOCK)]


def kernel(form: Form) -> Batches:
    from penstock.kernels.fused import fused_images, normalize_steps

    prepared = Prepared(form)
    floats = normalize_steps(255 * MEAN, 255 * STD, "float32")
    bytes_ = [] if form.dtype == "uint8" else normalize_steps(MEAN, STD, "uint8")

    def work(block: slice, out: np.ndarray) -> np.ndarray:
        flips = ("flip_left_right", prepared.flips[block].tolist())
        steps = [("round",), flips, *bytes_] if form.is_random else floats
        contents, regions = prepared.contents[block], prepared.regions[block]
        failed = fused_images(contents, out[: len(contents)], regions=regions, size=(SIDE, SIDE), steps=steps)
        assert not failed, failed
        return out[: len(contents)]

    return _on_all_cores(prepared, work, np.dtype(form.dtype))


def regions(form: Form) -> Batches:
    from penstock.kernels.fused import fused_images

    prepared = Prepared(form)

    def work(block: slice, out: np.ndarray) -> np.ndarray:
        contents, regions = prepared.contents[block], prepared.regions[block]
        pixel = out[: len(contents), :1, :1].copy()
        failed = fused_images(contents, pixel, regions=regions, size=(1, 1), reference=True)
        assert not failed, failed
        return pixel

    return _on_all_cores(prepared, work, np.dtype(np.float32))


def _on_all_cores(prepared: Prepared, work: Callable[[slice, np.ndarray], np.ndarray], dtype: np.dtype) -> Batches:
    """A thread takes the next block when it is done with one; a buffer is free again when its block was delivered."""
    pool, ahead = ThreadPoolExecutor(CORES), 2 * CORES
    buffers = [np.zeros((BLOCK, SIDE, SIDE, 3), dtype) for _ in range(ahead + 1)]

    def batches() -> Iterator[tuple[Any, Any]]:
        started: collections.deque[tuple[Future[np.ndarray], slice]] = collections.deque()
        for number, block in enumerate(prepared.blocks):
            started.append((pool.submit(work, block, buffers[number % len(buffers)]), block))
            if len(started) > ahead:
                done, delivered = started.popleft()
                yield done.result(), prepared.labels[delivered]
        for done, delivered in started:
            yield done.result(), prepared.labels[delivered]

    return batches
