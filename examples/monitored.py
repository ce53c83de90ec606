"""A training that is watched, on any KERAS_BACKEND: `python examples/monitored.py [FOLDER]`.

Each row of scikit-learn's digits comes from storage that takes its time. The monitor tells for which share of each
epoch the device had nothing to do; FOLDER gets its report, and event files for TensorBoard.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import keras
import numpy as np
from sklearn.datasets import load_digits

import penstock as ps

EPOCHS, BATCH, STORAGE_S = 3, 64, 0.0005

digits = load_digits()


def fetch(number):
    time.sleep(STORAGE_S)
    return digits.data[number].astype(np.float32) / 16, digits.target[number]


def main(folder: str) -> ps.train.Monitor:
    """Train, print what the monitor says, and write it. Rows that are read one at a time make the device starve."""
    dataset = ps.Dataset.range(len(digits.data)).shuffle().map(fetch, num_parallel_calls=1)
    training = dataset.batch(BATCH, drop_remainder=True).prefetch(ps.AUTOTUNE)

    model = keras.Sequential([keras.Input((64,)), keras.layers.Dense(64, activation="relu"), keras.layers.Dense(10)])
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])

    monitor = ps.train.Monitor(tensorboard=folder)  # keras.callbacks.TensorBoard(folder, profile_batch=(10, 20))
    model.fit(training.to_keras(), epochs=EPOCHS, verbose=2, callbacks=[monitor])
    print(monitor)
    monitor.report(Path(folder, "report.html"))
    return monitor


if __name__ == "__main__":
    if len(sys.argv) > 1:
        main(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as scratch:
            main(scratch)
