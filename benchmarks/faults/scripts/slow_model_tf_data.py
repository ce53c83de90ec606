"""Small photographs for a model that takes 80 ms: nothing of the input is to blame. `python slow_model_tf_data.py`."""

from __future__ import annotations

import tensorflow as tf
from accelerator import Accelerator
from photographs import photographs


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (64, 64))


def main() -> None:
    paths = photographs(640, 96, 128)
    dataset = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths), seed=0)
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)
    accelerator = Accelerator(step_s=0.08)
    for batch in dataset.batch(8).prefetch(tf.data.AUTOTUNE):
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
