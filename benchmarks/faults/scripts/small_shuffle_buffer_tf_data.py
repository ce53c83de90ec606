"""Rows sorted by class pass through a buffer no larger than a batch. `python small_shuffle_buffer_tf_data.py`."""

from __future__ import annotations

import numpy as np
import tensorflow as tf
from accelerator import Accelerator

ROWS, CLASSES = 20_000, 10


def main() -> None:
    rows = np.arange(ROWS, dtype=np.float32)[:, None] * np.ones((1, 64), np.float32)
    labels = np.arange(ROWS) * CLASSES // ROWS  # one class after the other
    dataset = tf.data.Dataset.from_tensor_slices((rows, labels))
    dataset = dataset.shuffle(64)  # the fault
    accelerator = Accelerator(step_s=0.02)
    for batch in dataset.batch(64).prefetch(tf.data.AUTOTUNE):
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
