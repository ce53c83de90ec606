"""A Python generator, read once and cached for all epochs: `python examples/cached_generator.py`.

It parses scikit-learn's 569 measured tumours from text. Any KERAS_BACKEND. Beside each line that is more than a changed
import stands what it was. `cache("a-folder")` would keep the rows for the next run, and say when they are stale.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

import keras
import numpy as np
import sklearn.datasets

import penstock as ps

TABLE = Path(sklearn.datasets.__file__).parent / "data" / "breast_cancer.csv"
ROWS, COLUMNS, HELD_OUT = 569, 30, 128


class Patients:
    """Rows of the table as (measurements, benign), parsed anew whenever it is called; `parsed` counts them."""

    parsed = 0

    def __call__(self) -> Iterator[tuple[np.ndarray, int]]:
        """Parse the file row by row."""
        with TABLE.open(newline="", encoding="utf-8") as file:
            for *values, benign in list(csv.reader(file))[1:]:
                self.parsed += 1
                yield np.array(values, np.float32), int(benign)


def main() -> tuple[dict[str, list[float]], int]:
    """Train; return what `fit` noted of each epoch, and how many rows were parsed."""
    patients = Patients()
    signature = ps.TensorSpec((COLUMNS,), np.float32), ps.TensorSpec((), np.int64)
    dataset = (
        ps.Dataset.from_generator(patients, output_signature=signature)
        .map(lambda values, benign: (np.log1p(values), benign))  # tf.math.log1p
        .assert_cardinality(ROWS)  # .apply(tf.data.experimental.assert_cardinality(ROWS))
        .cache()
        .shuffle(ROWS, reshuffle_each_iteration=False)
    )
    validation = dataset.take(HELD_OUT).batch(32).prefetch(ps.AUTOTUNE)
    training = dataset.skip(HELD_OUT).shuffle(1000).batch(32, drop_remainder=True).prefetch(ps.AUTOTUNE)

    model = keras.Sequential(
        [keras.Input((COLUMNS,)), keras.layers.BatchNormalization(momentum=0.5), keras.layers.Dense(1)]
    )
    model.compile(
        keras.optimizers.Adam(0.01),
        keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[keras.metrics.BinaryAccuracy("accuracy", threshold=0.0)],
    )
    history = model.fit(training.to_keras(), validation_data=validation.to_keras(), epochs=5, verbose=2).history
    # history = model.fit(training, validation_data=validation, epochs=5, verbose=2).history
    print(
        f"validation accuracy {history['val_accuracy'][-1]:.0%}; {patients.parsed} rows parsed for 5 epochs of {ROWS}"
    )
    return history, patients.parsed


if __name__ == "__main__":
    main()
