"""Photographs are decoded on one core, and a model that two could feed waits. `python no_parallelism_tf_data.py`."""

from __future__ import annotations

import tensorflow as tf
from accelerator import Accelerator
from photographs import photographs


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


def main() -> None:
    paths = photographs(400, 1200, 1600)
    dataset = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths), seed=0)
    dataset = dataset.map(load)  # the fault
    accelerator = Accelerator(step_s=0.03)
    for batch in dataset.batch(8).prefetch(tf.data.AUTOTUNE):
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
