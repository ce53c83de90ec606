"""The next batch is begun when it is asked for, so model and input take turns. `python no_prefetch_tf_data.py`."""

from __future__ import annotations

import tensorflow as tf
from accelerator import Accelerator
from photographs import photographs


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (224, 224))


def main() -> None:
    paths = photographs(1200, 600, 800)
    dataset = tf.data.Dataset.from_tensor_slices(paths).shuffle(len(paths), seed=0)
    dataset = dataset.map(load, num_parallel_calls=2)
    dataset = dataset.batch(16)  # the fault
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False  # else TensorFlow mends it
    dataset = dataset.with_options(options)
    accelerator = Accelerator(step_s=0.015)
    for batch in dataset:  # the fault
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
