"""Processes that train one model together: `penstock launch --workers 2 examples/two_workers.py`.

TensorFlow's "Multi-worker training with Keras", on any KERAS_BACKEND. Each worker gets its rows of each global batch of
scikit-learn's digits, and ends with the same weights. Alone (`python examples/two_workers.py`) it trains on all rows.
"""

from __future__ import annotations

import keras
import numpy as np
from sklearn.datasets import load_digits

import penstock as ps

GLOBAL_BATCH, EPOCHS = 64, 3


def main() -> tuple[dict[str, list[float]], float]:
    """Train; return what `fit` noted of each epoch in this process, and a sum over all weights."""
    runtime = ps.train.setup(seed=0)  # strategy = tf.distribute.MultiWorkerMirroredStrategy()
    digits = load_digits()
    dataset = (
        ps.Dataset.from_tensor_slices((digits.data.astype(np.float32) / 16, digits.target))
        .shuffle()
        .batch(GLOBAL_BATCH, drop_remainder=True)
        .distribute()  # options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.DATA
    )
    with runtime.scope():  # with strategy.scope():
        model = keras.Sequential(
            [keras.Input((64,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)]
        )
        optimizer = ps.train.averaged(keras.optimizers.Adam(0.01))  # for PyTorch, where Keras has no distribution
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(optimizer, loss, metrics=["accuracy"])
    history = model.fit(dataset.to_keras(), epochs=EPOCHS, verbose=2 if runtime.strategy.rank == 0 else 0).history
    weights = float(sum(np.abs(np.asarray(weight)).sum() for weight in model.get_weights()))
    rank = f"rank {runtime.strategy.rank} of {runtime.strategy.world}"
    print(f"{rank}: accuracy {history['accuracy'][-1]:.0%}, sum of weights {weights:.3f}")
    return history, weights


if __name__ == "__main__":
    main()
