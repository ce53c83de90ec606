"""Compiling, schedules and placement on the backend named by KERAS_BACKEND; test_train.py runs it, with two devices."""

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
    place,
    scale,
    set_jit,
    torch_warm_up,
    watch_retraces,
)
from penstock.train.seed import seeding_keras

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


def blocks() -> Any:
    with seeding_keras():
        keras.utils.set_random_seed(0)
    layers = [keras.layers.Dense(8, activation="relu", name=f"block_{n}") for n in range(3)]
    return keras.Sequential([keras.Input((4,)), *layers, keras.layers.Dense(3, name="head")], name="net")


@only("jax")
def test_a_model_cut_over_two_devices_trains_as_on_one(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.random.default_rng(0).normal(size=(32, 4)).astype("float32")

    def losses(model: Any) -> list[float]:
        model.compile("adam", "mse")
        return model.fit(x, x[:, :3], batch_size=8, epochs=3, shuffle=False, verbose=0).history["loss"]

    alone = losses(blocks())
    model = blocks()
    placement = place(model, {"block_*": "split"})
    try:
        assert losses(model) == pytest.approx(alone, abs=1e-6)
        kernel = model.layers[0].kernel.value
        assert {shard.data.shape for shard in kernel.addressable_shards} == {(4, 4)}
        moments = [one.value.sharding for one in model.optimizer.variables if "block_0_kernel" in one.path]
        assert moments == [kernel.sharding] * 2
        told = capsys.readouterr().out.splitlines()
        assert told[0] == "placement over 2 devices"
        assert told[-1] == "  no pattern names head: copied to each device"
        with pytest.raises(InvalidArgumentError, match="optimizer's variables"):
            place(model, {"block_*": "split"})
        with pytest.raises(InvalidArgumentError, match="a distribution already; got ModelParallel"):
            place(blocks(), {"block_*": "split"})
    finally:
        placement.undo()
    assert len(model.layers[0].kernel.value.devices()) == 1
    with pytest.raises(InvalidArgumentError, match='got 0, expected "split" or "copy"'):
        place(blocks(), {"block_*": 0})


@only("tensorflow", "torch")
def test_placing_a_keras_model_is_refused_with_a_way_out() -> None:
    with pytest.raises(InvalidArgumentError, match=r"not possible with Keras on .* use KERAS_BACKEND=jax"):
        place(blocks(), {"block_*": 0})


@only("torch")
def test_modules_lie_where_they_are_placed_and_move_what_they_are_given() -> None:
    import torch

    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = torch.nn.Embedding(10, 8)
            self.blocks = torch.nn.ModuleList(torch.nn.Sequential(torch.nn.Linear(8, 8)) for _ in range(4))
            self.head = torch.nn.Linear(8, 10, bias=False)

        def forward(self, ids: Any) -> Any:
            hidden = self.embedding(ids)
            for block in self.blocks:
                hidden = block(hidden)
            return self.head(hidden)

    model = Net()
    placement = place(model, {"embedding": 0, "blocks.?": "split", "head": 1}, devices=["meta", "meta"], verbose=False)
    assert model(torch.zeros(2, 3, dtype=torch.int64)).shape == (2, 3, 10)  # which came from the CPU
    units = {one.unit: one.device for one in placement.plan.held}
    assert units == {"embedding": 0, "blocks.0": 0, "blocks.1": 0, "blocks.2": 1, "blocks.3": 1, "head": 1}
    placement.undo()
    assert not any(module._forward_pre_hooks or module._forward_hooks for module in model.modules())
    ids, here = torch.arange(6), Net()
    before = here(ids)
    place(here, {"blocks": 1}, devices=["cpu", "cpu"], verbose=False)
    assert torch.equal(here(ids), before)
    tied = Net()
    tied.head.weight = tied.embedding.weight
    with pytest.raises(InvalidArgumentError, match="'embedding' and 'head' share a weight"):
        place(tied, {"embedding": 0, "head": 1}, devices=["cpu", "meta"])
