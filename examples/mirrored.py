"""One model on two devices of this process: `python examples/mirrored.py`.

TensorFlow's "Distributed training with Keras", on KERAS_BACKEND tensorflow (MirroredStrategy) or jax (data parallel).
Where there are no accelerators, the CPU is made to look like two of them, which shows how it is done and gains nothing.
"""

from __future__ import annotations

import keras
import numpy as np
from sklearn.datasets import load_digits

import penstock as ps

GLOBAL_BATCH = 64


def main() -> tuple[dict[str, list[float]], int]:
    """Train; return what `fit` noted of each epoch, and how many replicas there were."""
    runtime = ps.train.setup(logical=2, seed=0)  # strategy = tf.distribute.MirroredStrategy()
    print(f"{runtime.strategy.per_replica(GLOBAL_BATCH)} of the {GLOBAL_BATCH} rows of a batch for each replica")
    digits = load_digits()
    dataset = (
        ps.Dataset.from_tensor_slices((digits.data.astype(np.float32) / 16, digits.target))
        .shuffle()
        .batch(GLOBAL_BATCH, drop_remainder=True)  # the global batch, as in TensorFlow
        .prefetch(ps.AUTOTUNE)
    )
    with runtime.scope():  # with strategy.scope():
        model = keras.Sequential(
            [keras.Input((64,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    history = model.fit(dataset.to_keras(), epochs=3, verbose=2).history
    print(f"accuracy {history['accuracy'][-1]:.0%} on {runtime.strategy.replicas} replicas")
    return history, runtime.strategy.replicas


if __name__ == "__main__":
    main()
