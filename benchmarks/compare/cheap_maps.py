"""Five cheap NumPy maps, a filter and batches of 256 over a million float32 numbers; one epoch a round.

Written per element, as tutorials write it, for Penstock and tf.data alike; and tf.data vectorised by hand: batches of
4096 first, maps of whole batches, a mask, then `rebatch`. The limit: NumPy on blocks of 256 by hand. Expected on two
quiet cores: tf.data 0.013 M and 3.7 M elements/s, NumPy on blocks of 256 37 M. Law: at least 50 times tf.data written
per element, and 3 times tf.data vectorised. The one per element sees a 40th of the numbers: its rate does not hang on
how many there are, its patience does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave

COUNT, BATCH, SLOW_COUNT = 1_000_000, 256, 25_000
Repetition = Callable[..., Any]


def data(count: int = COUNT) -> np.ndarray:
    """The same numbers in every process."""
    return np.random.default_rng(0).normal(0, 10, COUNT).astype(np.float32)[:count]


def _consume(epoch: Callable[[], Any], prove: bool, count: int) -> Any:
    """Numbers that went in; to prove it, of the first `SLOW_COUNT` how many came out, and their sum."""
    if not prove:
        for _ in epoch():
            pass
        return count
    kept = np.concatenate([np.asarray(batch, dtype=np.float64) for batch in epoch()])
    expected = len(by_hand(data(SLOW_COUNT)))
    return [len(kept[:expected]), round(float(kept[:expected].sum()), 2)]


def by_hand(x: np.ndarray) -> np.ndarray:
    """All of it on an array."""
    x = np.minimum(np.sqrt(np.abs(x * np.float32(2) + np.float32(1))), np.float32(5)) - np.float32(2)
    return x[x > 0]


def penstock() -> Repetition:
    import penstock as ps

    dataset = (
        ps.Dataset.from_tensor_slices(data())
        .map(lambda x: x * np.float32(2))
        .map(lambda x: x + np.float32(1))
        .map(lambda x: np.sqrt(np.abs(x)))
        .map(lambda x: np.minimum(x, np.float32(5)))
        .map(lambda x: x - np.float32(2))
        .filter(lambda x: x > 0)
        .batch(BATCH)
    )
    return lambda prove: _consume(lambda: dataset, prove, COUNT)


def tf_per_element() -> Repetition:
    import tensorflow as tf

    dataset = (
        tf.data.Dataset.from_tensor_slices(data(SLOW_COUNT))
        .map(lambda x: x * 2)
        .map(lambda x: x + 1)
        .map(lambda x: tf.sqrt(tf.abs(x)))
        .map(lambda x: tf.minimum(x, 5))
        .map(lambda x: x - 2)
        .filter(lambda x: x > 0)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda prove: _consume(dataset.as_numpy_iterator, prove, SLOW_COUNT)


def tf_vectorised() -> Repetition:
    import tensorflow as tf

    def transform(x: Any) -> Any:
        x = tf.minimum(tf.sqrt(tf.abs(x * 2 + 1)), 5) - 2
        return tf.boolean_mask(x, x > 0)

    dataset = (
        tf.data.Dataset.from_tensor_slices(data())
        .batch(4096)
        .map(transform, num_parallel_calls=tf.data.AUTOTUNE)
        .rebatch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda prove: _consume(dataset.as_numpy_iterator, prove, COUNT)


def numpy_blocks() -> Repetition:
    numbers = data()

    def blocks() -> Iterator[np.ndarray]:
        for start in range(0, COUNT, BATCH):
            yield by_hand(numbers[start : start + BATCH])

    return lambda prove: _consume(blocks, prove, COUNT)


CONTENDERS = [
    Contender("penstock", "benchmarks.compare.cheap_maps:penstock"),
    Contender("tf.data, per element", "benchmarks.compare.cheap_maps:tf_per_element"),
    Contender("tf.data, vectorised", "benchmarks.compare.cheap_maps:tf_vectorised"),
    Contender("limit: NumPy, blocks of 256", "benchmarks.compare.cheap_maps:numpy_blocks"),
]


def run(rounds: int) -> Result:
    what = f"{COUNT} float32 through 5 maps, a filter and batch({BATCH}), one epoch a round, {rounds} rounds"
    return compare("cheap_maps", what, interleave(CONTENDERS, rounds), "elements/s")
