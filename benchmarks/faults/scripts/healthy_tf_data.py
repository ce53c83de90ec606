"""Photographs, augmented and in good time. `python healthy_tf_data.py`."""

from __future__ import annotations

import tensorflow as tf
from accelerator import Accelerator
from photographs import photographs


def load(path, label):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (128, 128)), label


def augment(image, label):
    return tf.image.random_flip_left_right(image) / 255.0, label


def main() -> None:
    paths = photographs(640, 128, 192)
    labels = [number % 10 for number in range(len(paths))]
    dataset = tf.data.Dataset.from_tensor_slices((paths, labels)).shuffle(len(paths))
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE).map(augment, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(16).prefetch(tf.data.AUTOTUNE)
    accelerator = Accelerator(step_s=0.08)
    for _ in range(2):
        for batch in dataset:
            accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
