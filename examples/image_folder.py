"""A folder of photographs, as in TensorFlow's "Load and preprocess images": `python examples/image_folder.py [DIR]`.

DIR holds <class>/*.jpg; without it, photographs that scikit-image carries are cut up. Any KERAS_BACKEND. Beside each
line that is more than a changed import stands what it was. `ps.Dataset.from_folder(DIR)` would do the first half of it.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import keras

import penstock as ps
from penstock.cli.demo.corpus import make_corpus

IMAGE_SIZE = (32, 32)


def pipelines(folder: Path) -> tuple[list[str], ps.Dataset, ps.Dataset]:
    """The names of the classes, batches for training, batches for validation."""
    class_names = sorted(item.name for item in folder.iterdir() if item.is_dir())

    def process_path(path):
        label = ps.text.lookup(ps.text.split(path, os.sep)[-2], class_names)
        # label = tf.argmax(tf.strings.split(path, os.sep)[-2] == class_names)
        image = ps.io.decode_jpeg(ps.io.read_file(path), channels=3)
        return ps.image.resize(image, IMAGE_SIZE), label

    def configure_for_performance(dataset):
        return (
            dataset.cache().shuffle(buffer_size=1000).batch(32, drop_remainder=True).prefetch(buffer_size=ps.AUTOTUNE)
        )

    files = ps.Dataset.list_files(str(folder / "*/*.jpg"), shuffle=False)
    files = files.shuffle(len(files), reshuffle_each_iteration=False)
    held_out = len(files) // 5
    training = files.skip(held_out).map(process_path, num_parallel_calls=ps.AUTOTUNE)
    validation = files.take(held_out).map(process_path, num_parallel_calls=ps.AUTOTUNE)
    return class_names, configure_for_performance(training), configure_for_performance(validation)


def build_model(classes: int) -> keras.Model:
    """The tutorial's, with fewer filters."""
    model = keras.Sequential(
        [
            keras.Input((*IMAGE_SIZE, 3)),
            keras.layers.Rescaling(1.0 / 255),
            keras.layers.Conv2D(16, 3, strides=2, activation="relu"),
            keras.layers.Conv2D(32, 3, strides=2, activation="relu"),
            keras.layers.Flatten(),
            keras.layers.Dense(classes),
        ]
    )
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(keras.optimizers.Adam(0.003), loss, metrics=["accuracy"])
    return model


def main(folder: Path | None = None) -> dict[str, list[float]]:
    """Train, and return what `fit` noted of each epoch."""
    with tempfile.TemporaryDirectory() as scratch:
        class_names, training, validation = pipelines(folder or make_corpus(Path(scratch), 200) / "train")
        model = build_model(len(class_names))
        history = model.fit(training.to_keras(), validation_data=validation.to_keras(), epochs=5, verbose=2)
        # history = model.fit(training, validation_data=validation, epochs=5, verbose=2)
    print(f"{len(class_names)} classes, validation accuracy {history.history['val_accuracy'][-1]:.0%}")
    return history.history


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
