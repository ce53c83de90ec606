"""An epoch of what is kept: 20,000 uint8 images of 96 x 96 x 3 (553 MB) and labels, batches of 64; one epoch a round.

Each side reads what it has kept itself, in order, from the page cache. Peers by their own best practice: tf.data's
`cache(file)` and `snapshot`, with prefetch; a TensorFlow batch is looked at as NumPy looks at it, without a copy. The
limit: NumPy copying the same batches from the same mapped files into one buffer. `shuffled`: our own, in the order of a
permutation of all, which they do not have. Law: at least 0.8 of the limit.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

COUNT, SIDE, BATCH = 20_000, 96, 64
Repetition = Callable[..., Any]


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"penstock-cached-{COUNT}-{SIDE}"


def _pixels(start: int, stop: int) -> np.ndarray:
    shape = (stop - start, SIDE, SIDE, 3)
    return np.random.default_rng(start).integers(0, 256, shape, dtype=np.uint8)


def _rows() -> Any:
    for start in range(0, COUNT, 1000):
        for number, image in enumerate(_pixels(start, start + 1000), start):
            yield image, np.int64(number)


def _consume(epoch: Callable[[], Iterable[Any]], prove: bool) -> Any:
    """Bytes delivered in an epoch; to prove it, rows, the sum of labels, and of the first and last pixel of each."""
    if not prove:
        return sum(images.nbytes + labels.nbytes for images, labels in epoch())
    rows, sums, pixels = 0, 0, 0
    for images, labels in epoch():
        rows, sums = rows + len(images), sums + int(np.asarray(labels).sum())
        ends = np.asarray(images).reshape(len(images), -1)[:, [0, -1]].astype(np.int64)
        pixels += int((ends * (np.asarray(labels)[:, None] + 1)).sum())
    return [rows, sums, pixels]


def _kept() -> Any:
    import penstock as ps

    spec = (ps.Spec((SIDE, SIDE, 3), np.uint8), ps.Spec((), np.int64))
    dataset = ps.Dataset.from_generator(_rows, output_signature=spec)
    return dataset.cache(_folder() / "penstock", version="1")


def penstock() -> Repetition:
    for _ in _kept():
        pass
    batches = _kept().batch(BATCH)
    return lambda prove: _consume(lambda: batches, prove)


def penstock_shuffled() -> Repetition:
    batches = _kept().shuffle().batch(BATCH)
    return lambda prove: _consume(lambda: batches, prove)


def _tf(keep: Callable[[Any, Any], Any]) -> Repetition:
    import tensorflow as tf

    spec = (tf.TensorSpec((SIDE, SIDE, 3), tf.uint8), tf.TensorSpec((), tf.int64))
    kept = keep(tf, tf.data.Dataset.from_generator(_rows, output_signature=spec))
    for _ in kept:
        pass
    batches = kept.batch(BATCH, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)
    return lambda prove: _consume(lambda: (tuple(map(np.asarray, batch)) for batch in batches), prove)


def tf_cache() -> Repetition:
    return _tf(lambda tf, dataset: dataset.cache(str(_folder() / "tf-cache")))


def tf_snapshot() -> Repetition:
    return _tf(lambda tf, dataset: dataset.snapshot(str(_folder() / "tf-snapshot"), compression=None))


def limit() -> Repetition:
    from penstock.formats.stored.data import open_stored
    from penstock.formats.stored.leaves import FixedLeaf

    for _ in _kept():
        pass
    images, labels = (leaf.values for leaf in open_stored(_folder() / "penstock").leaves if isinstance(leaf, FixedLeaf))
    outs = [np.empty((BATCH, *leaf.shape[1:]), leaf.dtype) for leaf in (images, labels)]

    def batches() -> Any:
        for start in range(0, COUNT, BATCH):
            stop = min(start + BATCH, COUNT)
            for out, leaf in zip(outs, (images, labels), strict=True):
                np.copyto(out[: stop - start], leaf[start:stop])
            yield tuple(out[: stop - start] for out in outs)

    return lambda prove: _consume(batches, prove)


CONTENDERS = [
    Contender("penstock", "benchmarks.compare.cached:penstock"),
    Contender("penstock, shuffled", "benchmarks.compare.cached:penstock_shuffled"),
    Contender("tf.data cache(file)", "benchmarks.compare.cached:tf_cache"),
    Contender("tf.data snapshot", "benchmarks.compare.cached:tf_snapshot"),
    Contender("limit: NumPy copies", "benchmarks.compare.cached:limit"),
]


def run(rounds: int) -> Result:
    what = f"{COUNT} images of {SIDE}x{SIDE}x3 uint8, kept, batch {BATCH}, one epoch a round, {rounds} rounds"
    return compare("cached", what, interleave(CONTENDERS, rounds), "bytes/s")
