"""Each batch is as long as its longest text, and is padded by Python: a trace for each. `python retrace_tf_data.py`."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

weights = tf.Variable(tf.ones((256, 64)))


@tf.function
def step(tokens):  # the fault
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(tf.tanh(tf.gather(weights, tokens) @ weights[:64]) ** 2)
    gradient = tape.gradient(loss, weights)
    weights.assign_sub(0.1 * tf.convert_to_tensor(gradient))
    return loss


def texts():
    rng = np.random.default_rng(0)
    for _ in range(640):
        yield rng.integers(1, 256, rng.integers(8, 200), dtype=np.int32)


def main() -> None:
    dataset = tf.data.Dataset.from_generator(texts, output_signature=tf.TensorSpec((None,), tf.int32))
    dataset = dataset.padded_batch(8).prefetch(tf.data.AUTOTUNE)  # the fault
    for tokens in dataset:
        loss = step(tokens)  # the fault
    print(float(loss))


if __name__ == "__main__":
    main()
