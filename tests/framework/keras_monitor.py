"""`Monitor` in Keras' `fit`, on the backend named by KERAS_BACKEND; run by test_keras.py, once per backend."""

from __future__ import annotations

import gc
import os
import threading
from typing import Any

os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=2"

import keras
import numpy as np
import pytest

import penstock as ps
from penstock.train import Monitor

BACKEND = keras.backend.backend()
METHOD = {"tensorflow": "synchronous", "jax": "device done", "torch": "synchronous"}[BACKEND]


def build(**options: Any) -> Any:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    model.compile(**{"optimizer": "sgd", "loss": "mse", **options})
    return model


def arrays(rows: int) -> tuple[Any, Any]:
    return np.ones((rows, 4), np.float32), np.ones((rows, 2), np.float32)


def data(rows: int, batch: int = 8) -> Any:
    return ps.Dataset.from_tensor_slices(arrays(rows)).shuffle().batch(batch).to_keras()


def test_a_fit_is_told_epoch_by_epoch() -> None:
    monitor = Monitor(tell=None)
    assert isinstance(monitor, keras.callbacks.Callback)
    build().fit(data(84), epochs=3, validation_data=data(24), callbacks=[monitor], verbose=0)
    assert [(one.number, one.steps, one.rows) for one in monitor.epochs] == [(0, 11, 84), (1, 11, 84), (2, 11, 84)]
    trace = monitor.trace()
    assert (trace.source, trace.framework, trace.consumer.method) == ("penstock", BACKEND, METHOD)
    assert {step.verb for step in trace.steps} >= {"batch"}
    assert all(one.rss_bytes for one in monitor.epochs)
    new_shapes = [] if BACKEND == "torch" else [("float32[8, 4]", "float32[4, 4]")]  # it compiled nothing
    assert [(one.before, one.after) for one in trace.retraces] == new_shapes
    assert str(monitor).startswith(f"33 steps on {BACKEND} in ")


def test_a_second_fit_begins_anew_and_nothing_is_left() -> None:
    monitor, model = Monitor(tell=None), build()
    for epochs in (1, 2):
        model.fit(data(40), epochs=epochs, callbacks=[monitor], verbose=0)
        assert [one.steps for one in monitor.epochs] == [5] * epochs
    assert not [one for one in threading.enumerate() if one.name.startswith("penstock")]


def test_steps_of_an_endless_dataset_are_epochs() -> None:
    monitor = Monitor(tell=None)
    endless = ps.Dataset.from_tensor_slices(arrays(40)).repeat().batch(8).to_keras()
    build().fit(endless, epochs=2, steps_per_epoch=7, callbacks=[monitor], verbose=0)
    assert [(one.steps, one.rows) for one in monitor.epochs] == [(7, 56), (7, 56)]


@pytest.mark.skipif(BACKEND == "torch", reason="Keras refuses it on PyTorch")
def test_steps_of_one_execution_are_told_apart() -> None:
    monitor = Monitor(tell=None)
    build(steps_per_execution=4).fit(data(128), epochs=2, callbacks=[monitor], verbose=0)
    assert [one.steps for one in monitor.epochs] == [16, 16]
    assert monitor.trace().consumer.method == METHOD


def test_data_of_others_is_heard() -> None:
    monitor = Monitor(tell=None)
    build().fit(*arrays(80), batch_size=8, epochs=2, callbacks=[monitor], verbose=0)
    trace = monitor.trace()
    assert (trace.source, [one.steps for one in monitor.epochs]) == ("keras", [10, 10])
    assert "arrays in fit" in trace.loader
    assert trace.consumer.rows == 160
    assert trace.consumer.method in {METHOD, "profile", "host wait"}


def test_data_of_others_validated_by_ours() -> None:
    monitor = Monitor(tell=None)
    build().fit(*arrays(80), batch_size=8, epochs=2, validation_data=data(24), callbacks=[monitor], verbose=0)
    assert [one.steps for one in monitor.epochs] == [10, 10]


def test_steps_that_the_loss_scaler_skips_are_counted() -> None:
    inputs, targets = arrays(80)
    inputs[[3, 27]] = np.inf
    monitor, optimizer = Monitor(tell=None), keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD())
    ordered = ps.Dataset.from_tensor_slices((inputs, targets)).batch(8).to_keras()
    build(optimizer=optimizer).fit(ordered, epochs=2, callbacks=[monitor], verbose=0)
    assert [one.skipped for one in monitor.epochs] == [2, 2]


def test_an_interrupted_fit_leaves_no_thread() -> None:
    class Interrupt(keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            if batch == 3:
                raise KeyboardInterrupt

    monitor = Monitor(tell=None)
    with pytest.raises(KeyboardInterrupt):
        build().fit(data(80), callbacks=[monitor, Interrupt()], verbose=0)
    gc.collect()  # the error, with its frames and what they held
    assert monitor._run is not None
    sampler = monitor._run._sampler
    assert sampler is not None
    assert sampler._thread is not None
    sampler._thread.join(10)
    assert not sampler.is_running
    assert monitor.trace().consumer.steps >= 3
    build().fit(data(40), callbacks=[monitor], verbose=0)
    assert [one.steps for one in monitor.epochs] == [5]
