"""One photograph in fifty is two hundred times larger than the rest. `python heavy_tail_tf_data.py`."""

from __future__ import annotations

import tensorflow as tf
from accelerator import Accelerator
from photographs import photographs


def load(path):
    image = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    return tf.image.resize(image, (128, 128))


def main() -> None:
    paths = photographs(3000, 128, 192)
    paths[25::50] = photographs(60, 2000, 3000)
    dataset = tf.data.Dataset.from_tensor_slices(paths)
    dataset = dataset.map(load, num_parallel_calls=tf.data.AUTOTUNE)  # the fault
    accelerator = Accelerator(step_s=0.005)
    for batch in dataset.batch(16).prefetch(tf.data.AUTOTUNE):
        accelerator.step(batch)
    print(accelerator)


if __name__ == "__main__":
    main()
