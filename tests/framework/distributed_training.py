"""A tiny training, run by test_tf_distribute.py in processes of its own: on one device, on two, or as a worker of two.

`python distributed_training.py devices` prints what one device and two logical CPUs came to; `worker` what this worker
did. As JSON: for each case the losses of the epochs, the weights, and what evaluate and predict gave.
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ["KERAS_BACKEND"] = "tensorflow"
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import numpy as np

import penstock as ps
import penstock.train

BATCH, EPOCHS = 16, 2


def data(rows: int, *, weighted: bool = False) -> ps.Dataset:
    random = np.random.default_rng(5)
    inputs = random.normal(size=(rows, 6)).astype(np.float32)
    targets = (inputs @ random.normal(size=(6, 1)) + 0.1).astype(np.float32)
    weights = random.uniform(0.5, 2, rows).astype(np.float32)
    return ps.Dataset.from_tensor_slices((inputs, targets, weights) if weighted else (inputs, targets)).shuffle(rows)


def model(*, normalised: bool = False, loss: Any = "mse") -> Any:
    import keras

    keras.utils.set_random_seed(3)
    layers: list[Any] = [keras.Input((6,)), keras.layers.Dense(5, activation="tanh")]
    if normalised:
        layers.append(keras.layers.BatchNormalization(synchronized=True))
    built = keras.Sequential([*layers, keras.layers.Dense(1)])
    rate = 0.05 if loss == "mse" else 0.002  # of a sum, gradients are that much larger
    built.compile(keras.optimizers.SGD(rate, momentum=0.9), loss, metrics=["mae"])
    return built


def train(runtime: penstock.train.Runtime, dataset: ps.Dataset, **options: Any) -> dict[str, list[float]]:
    """Two epochs: the curves and the weights."""
    with runtime.scope():
        built = model(**options)
    return results(built, built.fit(dataset.to_keras(), epochs=EPOCHS, verbose=0).history)


def checked(runtime: penstock.train.Runtime, dataset: ps.Dataset) -> dict[str, list[float]]:
    """The same, validated, evaluated and predicted on 21 rows: 16 and 5, which two replicas do not share evenly."""
    with runtime.scope():
        built = model()
    check = data(21).batch(BATCH).distribute()
    history = built.fit(dataset.to_keras(), epochs=EPOCHS, verbose=0, validation_data=check.to_keras()).history
    return results(built, history) | {
        "evaluate": built.evaluate(check.to_keras(), verbose=0),
        "predict": built.predict(check.to_keras(), verbose=0)[:, 0].tolist(),
    }


def results(built: Any, history: dict[str, list[float]]) -> dict[str, list[float]]:
    weights = np.concatenate([np.ravel(weight) for weight in built.get_weights()])
    return history | {"weights": weights.tolist()}


def by_files(runtime: penstock.train.Runtime) -> dict[str, list[float]]:
    """Rank 0 reads 18 lines and rank 1 reads 3, two a step: 9 steps, for most of which rank 1 has no rows."""
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, f"{number}.txt") for number in range(3)]
        for number, (file, lines) in enumerate(zip(files, (12, 3, 6), strict=True)):
            file.write_text("".join(f"{number + line / 10}\n" for line in range(lines)))
        dataset = ps.TextLineDataset(files).map(lambda line: (np.full(6, float(line), np.float32), np.float32([1])))
        with runtime.scope():
            built = model()
        mine = dataset.batch(4).distribute("file")
        evaluated = built.evaluate(mine.to_keras(), verbose=0)
        built.fit(mine.to_keras(), verbose=0)
        return {"evaluate": evaluated, "steps": [float(built.optimizer.iterations.numpy())]}


def cases(runtime: penstock.train.Runtime) -> dict[str, Any]:
    import keras

    of = {
        "whole": train(runtime, data(57).batch(BATCH, drop_remainder=True).distribute()),
        "short": checked(runtime, data(57).batch(BATCH).distribute()),
        "weighted": train(runtime, data(45, weighted=True).batch(BATCH).distribute()),
        "sum": train(runtime, data(45).batch(BATCH).distribute(), loss=keras.losses.MeanSquaredError("sum")),
        "normalised": train(runtime, data(48).batch(BATCH).distribute(), normalised=True),
    }
    of["files"] = by_files(runtime)
    if runtime.strategy.world == 1:
        of["one row"] = train(runtime, data(33).batch(BATCH).distribute())
        with runtime.scope():
            fresh = model()  # whose steps are traced for a replica without rows
        of["one row in all"] = {"evaluate": fresh.evaluate(data(1).batch(BATCH).to_keras(), verbose=0)}
    return of


def devices() -> dict[str, Any]:
    import tensorflow as tf

    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    one = cases(penstock.train.setup(backend="tensorflow", strategy="one_device", verbose=False))
    mirrored = penstock.train.setup(backend="tensorflow", verbose=False)
    assert mirrored.strategy.name == "mirrored"
    return {"one_device": one, "mirrored": cases(mirrored)}


def worker(runtime: penstock.train.Runtime) -> dict[str, Any]:
    assert runtime.strategy.name == "multi_worker"
    return cases(runtime)


def be_left_alone(runtime: penstock.train.Runtime) -> None:
    """Train on without end; rank 1 is killed after two steps."""
    import keras

    class Die(keras.callbacks.Callback):
        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            if batch == 1 and runtime.strategy.rank == 1:
                os.kill(os.getpid(), signal.SIGKILL)

    with runtime.scope():
        built = model()
    endless = data(48).repeat().batch(BATCH).distribute()
    built.fit(endless.to_keras(), steps_per_epoch=10**6, verbose=0, callbacks=[Die()])


def say(result: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(result) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    logging.getLogger("tensorflow").setLevel(logging.ERROR)  # each case traces anew
    if sys.argv[1] == "devices":
        say(devices())
    else:
        of_two = penstock.train.setup(backend="tensorflow")
        say(worker(of_two))
        be_left_alone(of_two)
