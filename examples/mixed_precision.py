"""TensorFlow's "Mixed precision", on any KERAS_BACKEND: `python examples/mixed_precision.py [mixed_float16|auto|...]`.

Half precision computes the layers of a net on scikit-learn's digits, float32 holds its weights and gives its results. A
model that forgets the latter is found before it trains.
"""

from __future__ import annotations

import sys

import keras
import numpy as np
from sklearn.datasets import load_digits

import penstock as ps

TRAINING, BATCH = 1536, 64


def build_model(last_dtype: str | None = "float32") -> keras.Model:
    """The last layer's dtype: None is the policy's, so that losses and metrics would be computed in half precision."""
    model = keras.Sequential(
        [
            keras.Input((64,)),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(10, activation="softmax", dtype=last_dtype),
        ]
    )
    model.compile(keras.optimizers.Adam(0.01), "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def main(precision: str = "mixed_bfloat16") -> tuple[dict[str, list[float]], list[str]]:
    """Train; return what `fit` noted of each epoch, and the kinds of what was found in a model that forgets."""
    runtime = ps.train.setup(precision=precision)  # keras.mixed_precision.set_global_policy(precision)
    findings = ps.train.check_precision(build_model(last_dtype=None))
    for finding in findings:
        print(f"{finding.level}: {finding.claim}; {' '.join(finding.advice)}")
    model = build_model()
    assert not ps.train.check_precision(model)

    digits = load_digits()
    dataset = ps.Dataset.from_tensor_slices((digits.data.astype(np.float32) / 16, digits.target))
    training = dataset.take(TRAINING).shuffle().batch(BATCH, drop_remainder=True).prefetch(ps.AUTOTUNE)
    validation = dataset.skip(TRAINING).batch(BATCH, drop_remainder=True)
    history = model.fit(training.to_keras(), validation_data=validation.to_keras(), epochs=3, verbose=2).history
    print(f"{runtime.precision}: accuracy {history['val_accuracy'][-1]:.0%}; weights are {model.weights[0].dtype}")
    runtime.undo()
    return history, [finding.kind for finding in findings]


if __name__ == "__main__":
    main(*sys.argv[1:])
