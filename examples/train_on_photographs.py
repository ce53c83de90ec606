"""Train a small Keras model on a folder of photographs: `python examples/train_on_photographs.py [DIR]`.

DIR holds `train/<class>/*.jpg` and `validation/<class>/*.jpg`; without it the photographs of `penstock demo` are made.
Any Keras backend: set KERAS_BACKEND to tensorflow, jax or torch. `--quick` does a little of it.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import keras

import penstock as ps
from penstock.cli.demo.corpus import make_corpus

IMAGE_SIZE = (128, 128)


def load(path, label):
    return ps.io.decode_jpeg(ps.io.read_file(path), channels=3), label


def augment(image, label):
    image = ps.image.random_resized_crop(image, IMAGE_SIZE)
    return ps.image.random_flip_left_right(image) / 255.0, label


def fit_to_size(image, label):
    return ps.image.resize(image, IMAGE_SIZE) / 255.0, label


def build_model(classes, steps):
    model = keras.Sequential([keras.Input((*IMAGE_SIZE, 3))])
    for filters, size, stride in ((16, 5, 4), (32, 3, 2), (64, 3, 2)):
        model.add(keras.layers.Conv2D(filters, size, strides=stride, padding="same", use_bias=False))
        model.add(keras.layers.BatchNormalization(momentum=0.9))
        model.add(keras.layers.Activation("relu"))
    model.add(keras.layers.GlobalAveragePooling2D())
    model.add(keras.layers.Dense(classes))
    model.compile(
        optimizer=keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(0.01, steps)),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def train(directory, epochs, batch_size):
    training = ps.Dataset.from_folder(directory / "train")
    validation = ps.Dataset.from_folder(directory / "validation")
    training_batches = (
        training.shuffle()
        .map(load)
        .map(augment)
        .batch(batch_size, drop_remainder=True)
        .prefetch(ps.AUTOTUNE)
    )  # fmt: skip
    validation_batches = validation.map(load).map(fit_to_size).batch(batch_size).prefetch(ps.AUTOTUNE)

    model = build_model(len(training.class_names), steps=epochs * len(training_batches))
    history = model.fit(
        training_batches.to_keras(),
        validation_data=validation_batches.to_keras(),
        epochs=epochs,
        verbose=2,
    )
    print(f"validation accuracy: {history.history['val_accuracy'][-1]:.0%}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", nargs="?", type=Path, metavar="DIR")
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    samples, epochs, batch_size = (200, 1, 16) if arguments.quick else (3000, 2, 64)
    with tempfile.TemporaryDirectory() as scratch:
        directory = arguments.directory or make_corpus(Path(scratch), samples)
        train(directory, epochs, batch_size)


if __name__ == "__main__":
    main()
