"""Elements that are dicts, through several stages, into two named inputs: `python examples/dict_elements.py`.

scikit-learn's 178 wines, a column a key, as in TensorFlow's "Classify structured data". Any KERAS_BACKEND. Beside each
line that is more than a changed import stands what it was.
"""

from __future__ import annotations

import keras
import numpy as np
from sklearn.datasets import load_wine

import penstock as ps

HELD_OUT = 48

wine = load_wine()
columns = {name: wine.data[:, i].astype(np.float32) for i, name in enumerate(wine.feature_names)}
means = {name: values.mean() for name, values in columns.items()}
deviations = {name: values.std() for name, values in columns.items()}


def standardize(wine, kind):
    return {name: (value - means[name]) / deviations[name] for name, value in wine.items()}, kind


def add_products(wine, kind):
    return {**wine, "strength": wine["alcohol"] * wine["proline"], "tint": wine["hue"] * wine["color_intensity"]}, kind


def to_inputs(wine, kind):
    measured = np.stack([wine[name] for name in columns])  # tf.stack
    return {"measured": measured, "products": np.stack([wine["strength"], wine["tint"]])}, kind


def pipeline() -> ps.Dataset:
    """Dicts of scalars become dicts of two vectors. Order of keys: as written; tf.data sorts them."""
    dataset = ps.Dataset.from_tensor_slices((columns, wine.target))
    return (
        dataset.shuffle(len(dataset), reshuffle_each_iteration=False)
        .map(standardize, num_parallel_calls=ps.AUTOTUNE)
        .map(add_products, num_parallel_calls=ps.AUTOTUNE)
        .map(to_inputs, num_parallel_calls=ps.AUTOTUNE)
    )


def build_model() -> keras.Model:
    """Its inputs have the names of the keys."""
    sizes = {"measured": len(columns), "products": 2}
    inputs = {name: keras.Input((size,), name=name) for name, size in sizes.items()}
    both = keras.layers.Concatenate()(list(inputs.values()))
    hidden = keras.layers.Dense(16, activation="relu")(both)
    model = keras.Model(inputs, keras.layers.Dense(3)(hidden))
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.03), loss, metrics=["accuracy"])
    return model


def main() -> dict[str, list[float]]:
    """Train, and return what `fit` noted of each epoch."""
    dataset = pipeline()
    validation = dataset.take(HELD_OUT).batch(16)
    training = dataset.skip(HELD_OUT).shuffle(1000).batch(16, drop_remainder=True).prefetch(ps.AUTOTUNE)
    history = build_model().fit(training.to_keras(), validation_data=validation.to_keras(), epochs=5, verbose=2).history
    # history = build_model().fit(training, validation_data=validation, epochs=5, verbose=2).history
    print(f"validation accuracy {history['val_accuracy'][-1]:.0%}")
    return history


if __name__ == "__main__":
    main()
