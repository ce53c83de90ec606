"""Photographs come from a bucket that gives out a hundred a second. `python slow_storage_tf_data.py`."""

from __future__ import annotations

from urllib.request import urlopen

import tensorflow as tf
from accelerator import Accelerator
from photographs import photographs
from slow_store import serving


def fetch(url):  # the fault
    with urlopen(url.decode()) as answer:  # the fault
        return answer.read()  # the fault


def load(url):
    data = tf.numpy_function(fetch, [url], tf.string)  # the fault
    image = tf.io.decode_jpeg(data, channels=3)
    return tf.image.resize(image, (64, 64))


def main() -> None:
    with serving(photographs(500, 96, 128), latency_s=0.04, at_once=4) as urls:
        dataset = tf.data.Dataset.from_tensor_slices(urls)
        dataset = dataset.map(load, num_parallel_calls=4)  # the fault
        accelerator = Accelerator(step_s=0.02)
        for batch in dataset.batch(8).prefetch(tf.data.AUTOTUNE):
            accelerator.step(batch)
        print(accelerator)


if __name__ == "__main__":
    main()
