"""Compiling, schedules and placement on the backend named by KERAS_BACKEND; run by test_compile.py, once for each."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest

import penstock as ps
from penstock.errors import InvalidArgumentError
from penstock.train import (
    Runtime,
    Strategy,
    compile_step,
    jax_warm_up,
    keras_warm_up,
    scale,
    set_jit,
    torch_warm_up,
    watch_retraces,
)

BACKEND: Any = os.environ["KERAS_BACKEND"]
LENGTHS = (8, 8, 12, 8, 16)
ONE = Strategy(name="one_device", backend=BACKEND, devices=("cpu:0",))
TWO = Strategy(name="data_parallel", backend=BACKEND, devices=("cpu:0", "cpu:1"))


def only(*backends: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(BACKEND not in backends, reason=f"of {' and '.join(backends)}")


def changing() -> ps.Dataset:
    """Five batches, of which two bring a new length."""
    spec = (ps.TensorSpec((None, 4), "float32"), ps.TensorSpec((None, 1), "float32"))
    return ps.Dataset.from_generator(
        lambda: ((np.ones((n, 4), np.float32), np.ones((n, 1), np.float32)) for n in LENGTHS), output_signature=spec
    )


def native(array: np.ndarray) -> Any:
    return keras.ops.convert_to_tensor(array)


def step(x: Any, y: Any) -> Any:
    return keras.ops.mean((keras.ops.sum(x, 1, keepdims=True) - y) ** 2)


def test_a_raw_step_that_compiles_anew_is_seen_with_its_cost() -> None:
    options = {"backend": "eager", "dynamic": False} if BACKEND == "torch" else {}
    compiled = compile_step(step, Runtime(backend=BACKEND, strategy=ONE, jit=True), **options)
    with watch_retraces() as watch:
        results = [float(compiled(native(x), native(y))) for x, y in changing()]
    assert results == [9.0] * 5
    assert [(one.step, one.leaf, one.after) for one in watch.retraces] == [
        (2, "[0]", "float32[12, 4]"),
        (4, "[0]", "float32[16, 4]"),
    ]
    assert watch.retraces[0].cost_s  # of the last, TensorFlow's XLA tells nothing, and no step follows
    assert watch.compilations >= 2
    compilations = watch.compilations
    compiled(native(np.ones((9, 4), np.float32)), native(np.ones((9, 1), np.float32)))
    assert watch.compilations == compilations  # it no longer listens


@only("tensorflow", "jax")
@pytest.mark.filterwarnings("ignore:Your input ran out of data")
def test_retraces_of_fit_are_seen_and_are_a_finding() -> None:
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    same = ps.Dataset.from_tensor_slices((np.ones((16, 4), np.float32), np.ones((16, 1), np.float32))).batch(4)
    with watch_retraces() as watch:
        model.fit(changing().to_keras(), validation_data=same.to_keras(), epochs=2, verbose=0)
    assert [one.step for one in watch.retraces] == [2, 4]
    assert watch.retraces[0].cost_s
    finding = watch.finding()
    assert finding is not None
    assert (finding.kind, finding.confidence) == ("retrace", "high")


def test_jit_is_set_and_taken_back() -> None:
    def is_eager() -> bool:
        """Whether the body runs at each call."""
        calls: list[int] = []

        def body(x: Any) -> Any:
            calls.append(1)
            return x + 1

        if BACKEND == "jax":
            import jax

            compiled = jax.jit(body)
        else:
            import torch

            compiled = torch.compile(body, backend="eager")
        for _ in range(3):
            compiled(native(np.ones(2, np.float32)))
        return len(calls) == 3

    if BACKEND == "tensorflow":
        import tensorflow as tf

        jit, (change,) = set_jit("tensorflow", True)
        assert (jit, tf.config.optimizer.get_jit()) == (True, "autoclustering")
        assert change.undo is not None
        change.undo()
        assert tf.config.optimizer.get_jit() == ""
        return
    jit, (change,) = set_jit(BACKEND, False)
    assert (jit, change.outcome) == (False, "done")
    assert is_eager()
    assert change.undo is not None
    change.undo()
    if BACKEND == "jax":  # the backend "eager" of PyTorch runs the body as it is, too
        assert not is_eager()


def test_a_keras_schedule_warms_up_then_follows_the_users() -> None:
    decay = keras.optimizers.schedules.PiecewiseConstantDecay([2], [1.0, 0.5])
    schedule = keras_warm_up(decay, 4, start=0.5)
    again = keras.optimizers.schedules.deserialize(keras.optimizers.schedules.serialize(schedule))
    for one in (schedule, again):
        at = [float(one(n)) for n in range(8)]
        assert at == pytest.approx([0.5, 0.625, 0.75, 0.875, 1.0, 1.0, 1.0, 0.5])


def test_a_keras_optimizer_is_scaled_once_also_after_it_was_saved(tmp_path: Path) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, kernel_initializer="zeros")])
    optimizer = keras.optimizers.SGD(0.1)
    scaled = scale(optimizer, Runtime(backend=BACKEND, strategy=TWO), base_batch=8, warmup_steps=2)
    assert (scaled.batch, scaled.factor) == (16, 2.0)
    model.compile(optimizer, "mse")
    rates = []
    for _ in range(4):
        rates.append(float(optimizer.learning_rate))
        model.train_on_batch(np.ones((4, 2), np.float32), np.ones((4, 1), np.float32))
    assert rates == pytest.approx([0.1, 0.15, 0.2, 0.2])
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras").optimizer
    assert float(loaded.learning_rate) == pytest.approx(0.2)
    for one in (optimizer, loaded):
        with pytest.raises(InvalidArgumentError, match="scaled already, by 2"):
            scale(one, Runtime(backend=BACKEND, strategy=TWO), base_batch=8)


def test_a_rate_without_warm_up_stays_a_number() -> None:
    optimizer = keras.optimizers.Adam(0.1)
    scale(optimizer, Runtime(backend=BACKEND, strategy=TWO), "sqrt", base_batch=8, batch=32)
    assert float(optimizer.learning_rate) == pytest.approx(0.2)
    optimizer.learning_rate = 0.3


@only("jax")
def test_a_schedule_for_optax_may_be_traced() -> None:
    import jax

    schedule = jax.jit(jax_warm_up(jax_warm_up(2.0, 0), 4, start=0.5))
    assert [float(schedule(n)) for n in (0, 2, 4, 9)] == [1.0, 1.5, 2.0, 2.0]


@only("torch")
def test_a_torch_scheduler_warms_up_then_follows_the_users() -> None:
    import torch

    def rates(optimizer: Any, scheduler: Any, count: int) -> list[float]:
        seen = []
        for _ in range(count):
            seen.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            scheduler.step()
        return seen

    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.1)
    scaled = scale(optimizer, Runtime(backend="torch", strategy=TWO), base_batch=8, warmup_steps=2)
    assert rates(optimizer, scaled.scheduler, 4) == pytest.approx([0.1, 0.15, 0.2, 0.2])
    again = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    again.load_state_dict(optimizer.state_dict())
    with pytest.raises(InvalidArgumentError, match="scaled already"):
        scale(again, Runtime(backend="torch", strategy=TWO), base_batch=8)
    other = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    scheduler = torch_warm_up(other, 2, then=torch.optim.lr_scheduler.StepLR(other, 2, gamma=0.5))
    assert rates(other, scheduler, 6) == pytest.approx([0.0, 0.5, 1.0, 1.0, 0.5, 0.5])
