"""Four shards are read in turns, and one of them lies on a slow disk. `python straggler_tf_data.py`."""

from __future__ import annotations

import time

import numpy as np
import tensorflow as tf
from accelerator import Accelerator

SHARDS, ROWS = 4, 240


def rows(shard):  # the fault
    for number in range(ROWS):
        time.sleep(0.02 if shard == 2 else 0.001)  # how long the disk takes
        yield np.full(1024, number, np.float32)


def shard_rows(shard):
    signature = tf.TensorSpec((1024,), tf.float32)
    return tf.data.Dataset.from_generator(rows, args=(shard,), output_signature=signature)  # the fault


def main() -> None:
    dataset = tf.data.Dataset.range(SHARDS)
    dataset = dataset.interleave(shard_rows, cycle_length=SHARDS, num_parallel_calls=SHARDS)  # the fault
    accelerator = Accelerator(step_s=0.02)
    for batch in dataset.batch(16).prefetch(tf.data.AUTOTUNE):
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
