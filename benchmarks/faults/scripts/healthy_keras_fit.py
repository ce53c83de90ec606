"""Keras fits a small network to rows in memory, given by tf.data. `python healthy_keras_fit.py`."""

from __future__ import annotations

import keras
import numpy as np
import tensorflow as tf


def main() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(8000, 256)).astype(np.float32)
    labels = (rows[:, :10].argmax(axis=1)).astype(np.int64)
    dataset = tf.data.Dataset.from_tensor_slices((rows, labels)).shuffle(len(rows)).batch(64)
    dataset = dataset.prefetch(tf.data.AUTOTUNE)
    model = keras.Sequential([
        keras.Input((256,)),
        *(keras.layers.Dense(1024, activation="relu") for _ in range(4)),
        keras.layers.Dense(10),
    ])  # fmt: skip
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer="adam", loss=loss)
    model.fit(dataset, epochs=2, verbose=2)


if __name__ == "__main__":
    main()
