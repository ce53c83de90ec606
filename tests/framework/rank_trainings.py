"""Small trainings for test_ranks.py: `rank_trainings.py KIND ROWS [--pad] [--kill]` prints its losses as JSON.

Global batches are of 16 rows, so ROWS % 16 says how uneven the last is. --kill: rank 1 dies in its second step.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from typing import Any

import numpy as np
import pytest

import penstock as ps
import penstock.train
from penstock.errors import InvalidArgumentError
from penstock.train.seed import seeding_keras

KIND, ROWS = sys.argv[1], int(sys.argv[2])
PADS, KILLS = "--pad" in sys.argv, "--kill" in sys.argv
EPOCHS = 2


def dataset(rows: int = ROWS, *, pads: bool = PADS) -> ps.Dataset:
    random = np.random.default_rng(0)
    inputs = random.normal(size=(rows, 6)).astype("float32")
    targets = np.tanh(inputs @ random.normal(size=(6, 1))).astype("float32")
    whole = ps.Dataset.from_tensor_slices((inputs, targets)).shuffle(rows)
    return whole.batch(16, remainder="pad" if pads else None).with_options(ps.Options(seed=0)).distribute()


def torch_losses(runtime: penstock.train.Runtime) -> list[float]:
    import torch

    from penstock.train import loss_weight, wrap

    torch.manual_seed(runtime.strategy.rank)  # so that equal weights come from rank 0, not from the seed
    model = torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    model = wrap(model, runtime)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for epoch in range(EPOCHS):
        for step, batch in enumerate(dataset()):
            if KILLS and runtime.strategy.rank == 1 and (epoch, step) == (0, 1):
                os.kill(os.getpid(), signal.SIGKILL)
            inputs, targets, weights = (*map(torch.from_numpy, batch), torch.ones(len(batch[0])))[:3]
            squares = ((model(inputs) - targets) ** 2).mean(1)
            loss = (squares * weights).sum() / weights.sum().clamp(min=1) * loss_weight(weights)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            mean = loss.detach().clone()
            if runtime.strategy.world > 1:
                torch.distributed.all_reduce(mean)
            losses.append(float(mean) / runtime.strategy.world)
    return losses


def keras_model(optimizer: Any) -> Any:
    import keras

    with seeding_keras():
        keras.utils.set_random_seed(0)
    layers = [keras.Input((6,)), keras.layers.Dense(8, "tanh", name="hidden"), keras.layers.Dense(1)]
    model = keras.Sequential(layers)
    model.compile(optimizer, keras.losses.MeanSquaredError(reduction="mean_with_sample_weight"))
    return model


class PerBatch:
    """A callback that keeps what `fit` says of each batch; its loss is the mean of the epoch so far."""

    @staticmethod
    def of(losses: list[float]) -> Any:
        import keras

        return keras.callbacks.LambdaCallback(on_train_batch_end=lambda _, logs: losses.append(float(logs["loss"])))


def keras_losses(runtime: penstock.train.Runtime) -> list[float]:
    import keras

    losses: list[float] = []
    optimizer: Any = keras.optimizers.SGD(0.1)
    if runtime.backend == "torch":
        from penstock.train import averaged

        kept = keras.saving.serialize_keras_object(optimizer)
        optimizer = averaged(optimizer)
        assert keras.saving.serialize_keras_object(optimizer) == kept
    model = keras_model(optimizer)
    if runtime.backend == "torch":
        for weight in model.trainable_variables:
            weight.assign(weight + float(runtime.strategy.rank))  # what rank 0 has is taken
    model.fit(dataset().to_keras(), epochs=EPOCHS, verbose=0, callbacks=[PerBatch.of(losses)])
    if runtime.backend == "torch" and runtime.strategy.world > 1:
        check_refusals()
    if runtime.backend == "torch" and runtime.strategy.world > 1:  # each rank logs its own
        import torch

        means = torch.tensor(losses, dtype=torch.float64)
        torch.distributed.all_reduce(means)
        losses = (means / runtime.strategy.world).tolist()
    return losses


def check_refusals() -> None:
    """Under several processes of PyTorch: an optimizer of one, and unequal rows in `fit`; `evaluate` takes them."""
    import keras

    model = keras_model("sgd")
    for optimizer, rows, said in (
        ("sgd", 42, r"averaged\(optimizer\)"),
        (penstock.train.averaged("sgd"), 41, "9 rows"),
    ):
        model.compile(optimizer, "mse")
        with pytest.raises(InvalidArgumentError, match=said):
            model.fit(dataset(rows).to_keras(), verbose=0)
    assert keras.ops.isfinite(model.evaluate(dataset(41).to_keras(), verbose=0))


def two_devices() -> dict[str, Any]:
    """One device, then two of the same process, by Keras on JAX, and by JAX alone."""
    import keras

    found: dict[str, Any] = {}
    for name, rows, pads in (("even", 48, False), ("uneven", 42, False), ("padded", 41, True)):
        pair = []
        for strategy in ("one_device", "data_parallel"):
            runtime = penstock.train.setup(backend="jax", strategy=strategy, seed=0, verbose=False)
            losses: list[float] = []
            data = dataset(rows, pads=pads and strategy != "one_device").to_keras()
            keras_model(keras.optimizers.SGD(0.1)).fit(data, epochs=EPOCHS, verbose=0, callbacks=[PerBatch.of(losses)])
            runtime.undo()
            pair.append(losses)
        found[name] = pair
    found["distribution after undo"] = keras.distribution.distribution() is None
    runtime = penstock.train.setup(backend="jax", strategy="data_parallel", seed=0, verbose=False)
    with pytest.raises(InvalidArgumentError) as refused:
        keras_model("sgd").fit(dataset(41, pads=False).to_keras(), verbose=0)
    found["refused"] = str(refused.value)
    runtime.undo()
    found["raw"] = []
    for strategy in ("one_device", "data_parallel"):
        runtime = penstock.train.setup(backend="jax", strategy=strategy, seed=0, verbose=False)
        found["raw"].append(raw_jax_losses(runtime, dataset(42, pads=False)))
        runtime.undo()
    found["model parallel"], found["unmatched"] = model_parallel()
    return found


def model_parallel() -> tuple[list[float], tuple[str, ...]]:
    import keras

    from penstock.train import unmatched_layouts

    mesh = keras.distribution.DeviceMesh((1, 2), ["batch", "model"], keras.distribution.list_devices())
    layout = keras.distribution.LayoutMap(mesh)
    layout[".*hidden.*kernel"] = keras.distribution.TensorLayout([None, "model"])
    layout["hidden.*bias"] = keras.distribution.TensorLayout(["model"])
    runtime = penstock.train.setup(backend="jax", strategy="model_parallel", layout=layout, seed=0, verbose=False)
    losses: list[float] = []
    model = keras_model(keras.optimizers.SGD(0.1))
    model.fit(dataset(48, pads=False).to_keras(), epochs=EPOCHS, verbose=0, callbacks=[PerBatch.of(losses)])
    assert runtime.strategy.replicas == 1
    missed = unmatched_layouts(model)
    runtime.undo()
    return losses, missed


def raw_jax_losses(runtime: penstock.train.Runtime, data: ps.Dataset) -> list[float]:
    import jax
    import jax.numpy as jnp

    from penstock.train import batch_sharding

    sharding = batch_sharding(runtime)
    weights = np.random.default_rng(1).normal(size=(6, 1)).astype("float32")

    @jax.jit
    def step(weights: Any, inputs: Any, targets: Any) -> Any:
        loss, gradient = jax.value_and_grad(lambda w: jnp.mean((jnp.tanh(inputs @ w) - targets) ** 2))(weights)
        return loss, weights - 0.1 * gradient

    losses = []
    for step_number, (inputs, targets) in enumerate(data.repeat(EPOCHS).to_jax(sharding=sharding)):
        if KILLS and runtime.strategy.rank == 1 and step_number == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        loss, weights = step(weights, inputs, targets)
        losses.append(float(loss))
    return losses


def main() -> None:
    if KIND == "two-devices":
        result: Any = two_devices()
    else:
        backend = "torch" if "torch" in KIND else "jax"
        runtime = penstock.train.setup(
            backend=backend, strategy="data_parallel" if backend == "jax" else "auto", seed=0, verbose=False
        )
        if KIND == "jax":
            result = raw_jax_losses(runtime, dataset())
        else:
            result = torch_losses(runtime) if KIND == "torch" else keras_losses(runtime)
    sys.stdout.write(f"LOSSES {json.dumps(result)}\n")


if __name__ == "__main__":
    main()
