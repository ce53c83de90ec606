"""The cache is after the augmentation, so all epochs see the same. `python cache_after_random_tf_data.py`."""

from __future__ import annotations

import tensorflow as tf
from accelerator import Accelerator
from photographs import photographs


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (64, 64))


def augment(image):
    return tf.image.random_flip_left_right(image)


def main() -> None:
    dataset = tf.data.Dataset.from_tensor_slices(photographs(1000, 96, 128))
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE).map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.cache()  # the fault
    dataset = dataset.shuffle(1000).batch(16).prefetch(tf.data.AUTOTUNE)
    accelerator = Accelerator(step_s=0.02)
    for _ in range(4):
        for batch in dataset:
            accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
