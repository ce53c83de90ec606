"""TFRecord shards, several read in turns, as in TensorFlow's performance guide: `python examples/tfrecord_shards.py`.

Writes scikit-learn's 1797 handwritten digits into four shards, and trains on them. Any KERAS_BACKEND; TensorFlow is not
needed for the records. Beside each line that is more than a changed import stands what it was.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import keras
import numpy as np
from sklearn.datasets import load_digits

import penstock as ps

SHARDS = 4
FEATURES = {"image": ps.io.FixedLenFeature([], bytes), "label": ps.io.FixedLenFeature([], np.int64)}
# FEATURES = {"image": tf.io.FixedLenFeature([], tf.string), "label": tf.io.FixedLenFeature([], tf.int64)}


def write_shards(folder: Path) -> None:
    """Every fourth digit into each file, as a tf.train.Example with a PNG of 8 x 8 pixels."""
    digits = load_digits()
    for shard in range(SHARDS):
        with ps.io.TFRecordWriter(str(folder / f"digits-{shard}.tfrecord")) as writer:
            for image, label in zip(digits.images[shard::SHARDS], digits.target[shard::SHARDS], strict=True):
                png = ps.io.encode_png(image[:, :, None].astype(np.uint8) * 15)
                writer.write(ps.io.serialize_example({"image": png, "label": label}))
                # writer.write(tf.train.Example(features=tf.train.Features(feature={...})).SerializeToString())


def parse(record):
    """An image in [0, 1] and its digit."""
    example = ps.io.parse_single_example(record, FEATURES)
    image = ps.io.decode_png(example["image"], channels=1)
    return ps.cast(image, np.float32) / 255.0, example["label"]


def pipeline(pattern: str) -> ps.Dataset:
    """Two shards open at a time, a record of each in turn; digits shuffled anew in each epoch."""
    return (
        ps.Dataset.list_files(pattern)
        .interleave(ps.TFRecordDataset, cycle_length=2, num_parallel_calls=ps.AUTOTUNE)
        .shuffle(2048)
        .map(parse, num_parallel_calls=ps.AUTOTUNE)
        .batch(64, drop_remainder=True)
        .prefetch(ps.AUTOTUNE)
    )


def main() -> dict[str, list[float]]:
    """Train on three shards and validate on the fourth; return what `fit` noted of each epoch."""
    with tempfile.TemporaryDirectory() as scratch:
        write_shards(Path(scratch))
        training, validation = pipeline(f"{scratch}/digits-[012].tfrecord"), pipeline(f"{scratch}/digits-3.tfrecord")
        model = keras.Sequential(
            [keras.Input((8, 8, 1)), keras.layers.Flatten(), keras.layers.Dense(64, "relu"), keras.layers.Dense(10)]
        )
        loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
        model.compile(keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
        history = model.fit(training.to_keras(), validation_data=validation.to_keras(), epochs=4, verbose=2).history
        # history = model.fit(training, validation_data=validation, epochs=4, verbose=2).history
    print(f"validation accuracy {history['val_accuracy'][-1]:.0%}")
    return history


if __name__ == "__main__":
    main()
