"""A small convolutional net: a few milliseconds a step, and good after two epochs over a few thousand photographs."""

from __future__ import annotations

from typing import Any

from penstock.cli.demo.job import Job

FILTERS = (16, 32, 64)
LEARNING_RATE = 0.01


def build_model(job: Job) -> Any:
    """The compiled model, with the same first weights every time."""
    import keras

    def first_weights(layer: int) -> Any:
        # Not keras.utils.set_random_seed: it imports TensorFlow, if that is installed, on every backend.
        return keras.initializers.GlorotUniform(seed=job.seed * 10 + layer)

    inputs = keras.Input((job.image_size, job.image_size, 3))
    x = inputs
    for index, filters in enumerate(FILTERS):
        size, stride = (5, 4) if index == 0 else (3, 2)
        convolution = keras.layers.Conv2D(
            filters, size, strides=stride, padding="same", use_bias=False, kernel_initializer=first_weights(index)
        )
        x = convolution(x)
        x = keras.layers.BatchNormalization(momentum=0.9)(x)  # short runs: forget the first batches soon
        x = keras.layers.Activation("relu")(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    classify = keras.layers.Dense(len(job.photos.class_names), kernel_initializer=first_weights(len(FILTERS)))
    model = keras.Model(inputs, classify(x))
    model.compile(
        keras.optimizers.Adam(keras.optimizers.schedules.CosineDecay(LEARNING_RATE, job.steps)),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model
