"""(60000, 28, 28) uint8 and labels, full shuffle, batches of 128, iterated as NumPy, five whole epochs a round.

Peers by their own best practice: tf.data `from_tensor_slices().shuffle(60000).batch(128).prefetch()`, and PyTorch's
DataLoader with `num_workers=0` over a dataset with `__getitems__`. The limit: `numpy.take` of a permutation into one
buffer. Expected on two quiet cores: tf.data 0.2 M elements/s, DataLoader 1.5 M, numpy.take 11.7 M.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

ROWS, BATCH, EPOCHS = 60000, 128, 5
Repetition = Callable[..., Any]


def data() -> tuple[np.ndarray, np.ndarray]:
    """The same arrays in every process."""
    generator = np.random.default_rng(0)
    return generator.integers(0, 256, (ROWS, 28, 28), dtype=np.uint8), generator.integers(0, 10, ROWS)


def _consume(epoch: Callable[[], Any], prove: bool) -> Any:
    """Elements delivered in `EPOCHS` epochs; to prove it, how many of each label and the sum of all pixels of one."""
    if not prove:
        return sum(len(labels) for _ in range(EPOCHS) for _, labels in epoch())
    counts, pixels = np.zeros(10, dtype=np.int64), 0
    for images, labels in epoch():
        counts += np.bincount(np.asarray(labels), minlength=10)
        pixels += int(np.asarray(images).sum(dtype=np.int64))
    return [counts.tolist(), pixels]


def penstock() -> Repetition:
    import penstock as ps

    dataset = ps.Dataset.from_tensor_slices(data()).shuffle().batch(BATCH)
    return lambda prove: _consume(lambda: dataset, prove)


def tf_data() -> Repetition:
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices(data()).shuffle(ROWS).batch(BATCH).prefetch(tf.data.AUTOTUNE)
    return lambda prove: _consume(dataset.as_numpy_iterator, prove)


def torch_loader() -> Repetition:
    import torch
    from torch.utils.data import DataLoader, Dataset

    images, labels = (torch.from_numpy(array) for array in data())

    class Rows(Dataset):
        def __len__(self) -> int:
            return ROWS

        def __getitems__(self, indices: list[int]) -> tuple[torch.Tensor, torch.Tensor]:
            return images[indices], labels[indices]

    loader = DataLoader(Rows(), batch_size=BATCH, shuffle=True, num_workers=0, collate_fn=lambda batch: batch)
    return lambda prove: _consume(lambda: loader, prove)


def numpy_take() -> Repetition:
    images, labels = data()
    out_images, out_labels = np.empty((BATCH, 28, 28), np.uint8), np.empty(BATCH, labels.dtype)
    generator = np.random.default_rng(1)

    def batches() -> Any:
        order = generator.permutation(ROWS)
        for start in range(0, ROWS, BATCH):
            rows = order[start : start + BATCH]
            n = len(rows)
            np.take(images, rows, axis=0, out=out_images[:n], mode="clip")
            np.take(labels, rows, axis=0, out=out_labels[:n], mode="clip")
            yield out_images[:n], out_labels[:n]

    return lambda prove: _consume(batches, prove)


CONTENDERS = [
    Contender("penstock", "benchmarks.compare.in_memory:penstock"),
    Contender("tf.data", "benchmarks.compare.in_memory:tf_data"),
    Contender("torch DataLoader", "benchmarks.compare.in_memory:torch_loader"),
    Contender("limit: numpy.take", "benchmarks.compare.in_memory:numpy_take"),
]


def run(rounds: int) -> Result:
    what = f"({ROWS}, 28, 28) uint8 + labels, full shuffle, batch {BATCH}, {EPOCHS} epochs a round, {rounds} rounds"
    return compare("in_memory", what, interleave(CONTENDERS, rounds), "elements/s")
