"""Texts become counts in pure Python, called from threads that take turns at the GIL. `python gil_bound_tf_data.py`."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import tensorflow as tf
from accelerator import Accelerator


def count_pairs(text):  # the fault
    counts = [0] * 1024
    for one, other in pairwise(text):
        counts[(one * 31 + other) % 1024] += 1
    return np.array(counts, dtype=np.float32)


def load(text):
    return tf.numpy_function(count_pairs, [text], tf.float32)  # the fault


def main() -> None:
    texts = [bytes(np.random.default_rng(seed).integers(97, 123, 10_000, dtype=np.uint8)) for seed in range(800)]
    dataset = tf.data.Dataset.from_tensor_slices(texts)
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)  # the fault
    accelerator = Accelerator(step_s=0.004)
    for batch in dataset.batch(16).prefetch(tf.data.AUTOTUNE):
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
