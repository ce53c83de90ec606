"""Devices and precision on the backend named by KERAS_BACKEND; run by test_train.py, in order: devices are set once."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

BACKEND: Any = os.environ["KERAS_BACKEND"]
framework = importlib.import_module(BACKEND)
keras: Any = importlib.import_module("keras")


import penstock.train as pt  # noqa: E402  # after the framework, so that its first use is seen
from penstock.errors import TooLateError  # noqa: E402  # likewise


def test_two_logical_devices_are_two_devices() -> None:
    memory = "growth" if BACKEND != "tensorflow" else None
    runtime = pt.setup(backend=BACKEND, logical=2, memory=memory, strategy="one_device", verbose=False)
    lines = [str(change) for change in runtime.changes]
    if BACKEND == "torch":
        assert any("PyTorch has none" in line for line in lines)
        return
    assert any(line.startswith("memory: 2 ") for line in lines)
    if BACKEND == "tensorflow":
        assert len(framework.config.list_logical_devices("CPU")) == 2
    else:
        assert any("memory growth: not needed" in line for line in lines)
        assert len(framework.devices("cpu")) == 2


@pytest.mark.skipif(BACKEND == "torch", reason="nothing of it is fixed without a GPU")
def test_what_comes_too_late_names_the_line_that_was_first() -> None:
    with pytest.raises(TooLateError, match=r"3 (logical CPUs|CPU devices)") as caught:
        pt.setup(backend=BACKEND, logical=3, strategy="one_device", verbose=False)
    assert caught.value.first_call is not None
    assert caught.value.first_call.file == __file__
    pt.setup(backend=BACKEND, logical=2, strategy="one_device", verbose=False)  # as it is already


def test_devices_are_listed_without_a_gpu() -> None:
    listed = pt.devices(BACKEND)
    assert len(listed) >= 1
    assert len({*listed.notes}) == len(listed.notes)
    assert "memory" in str(listed)


def test_release_keeps_the_policy_and_reports() -> None:
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        released = pt.release()
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
        assert "Keras' session" in released.cleared
    finally:
        keras.config.set_dtype_policy("float32")


def policy_of(name: str) -> Any:
    """The policy for the time of a `with`, by the lever that is tested."""
    return undoing(pt.set_precision(BACKEND, name)[1])


@contextmanager
def undoing(changes: tuple[pt.Change, ...]) -> Iterator[None]:
    try:
        yield
    finally:
        for change in changes:
            if change.undo is not None:
                change.undo()


def classifier(**last: Any) -> Any:
    model = keras.Sequential(
        [
            keras.Input((8,)),
            keras.layers.Dense(16, activation="relu", name="body"),
            keras.layers.BatchNormalization(name="norm"),
            keras.layers.Dense(4, activation="softmax", name="head", **last),
        ]
    )
    model.compile("sgd", "sparse_categorical_crossentropy")
    return model


def batches(count: int) -> list[tuple[Any, Any]]:
    rng = np.random.default_rng(0)
    return [(rng.standard_normal((16, 8)).astype("float32"), rng.integers(0, 4, 16)) for _ in range(count)]


def test_a_precision_is_set_for_layers_made_within_and_taken_back() -> None:
    with policy_of("mixed_float16"):
        assert keras.layers.Dense(1).compute_dtype == "float16"
    assert keras.config.dtype_policy().name == "float32"


def test_layers_that_compute_in_float16_are_named() -> None:
    with policy_of("mixed_float16"):
        half, right = classifier(), classifier(dtype="float32")
        right.compile("sgd", "sparse_categorical_crossentropy", auto_scale_loss=False)
    found = {finding.kind: finding for finding in pt.check_precision(half)}
    assert sorted(found) == ["half_output", "half_softmax"]
    assert "head" in found["half_softmax"].claim
    assert [finding.kind for finding in pt.check_precision(right)] == ["no_loss_scaling"]
    assert pt.check_precision(classifier()) == ()


def test_keras_normalisations_compute_in_float32_whatever_their_policy() -> None:
    with policy_of("mixed_float16"):
        norms = [
            keras.layers.BatchNormalization(), keras.layers.LayerNormalization(), keras.layers.GroupNormalization(2),
            keras.layers.RMSNormalization(),
        ]  # fmt: skip
    rows = np.full((4, 8), 60_000.0, "float16") * np.array([1.0, -1.0] * 4, "float16")  # its square is beyond float16
    for norm in norms:
        result = keras.ops.convert_to_numpy(norm(keras.ops.convert_to_tensor(rows), training=True))
        assert np.isfinite(result).all()
        assert np.abs(result).max() < 2
        assert pt.check_precision(keras.Sequential([keras.Input((8,)), norm]))[0].kind == "half_output"


def test_a_subclassed_model_is_looked_at_through_a_sample() -> None:
    class Doubled(keras.Model):
        def __init__(self) -> None:
            super().__init__()
            self.dense = keras.layers.Dense(2, activation="softmax", name="inner")

        def call(self, rows: Any) -> Any:
            return self.dense(rows)

    with policy_of("mixed_float16"):
        model = Doubled()
        (note,) = (finding for finding in pt.check_precision(model) if finding.kind == "half_output")
        assert note.level == "note"
        found = {finding.kind: finding for finding in pt.check_precision(model, np.zeros((2, 3), "float32"))}
    assert found["half_output"].level == "hint"
    assert "inner" in found["half_softmax"].claim


@pytest.mark.skipif(BACKEND == "jax", reason="the same Python as on the others, and seconds of tracing")
def test_a_softmax_within_a_layer_is_named_and_float32_layers_in_a_half_model_are_not() -> None:
    with policy_of("mixed_float16"):
        inputs = keras.Input((4, 8))
        attended = keras.layers.MultiHeadAttention(2, 4, name="attention")(inputs, inputs)
        whole = keras.Model(inputs, keras.layers.Activation("linear", dtype="float32")(attended))
        right = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, dtype="float32")])
    (finding,) = pt.check_precision(whole)
    assert (finding.kind, finding.blame) == ("half_softmax", "attention/softmax")
    right.compile("sgd", "mse", auto_scale_loss=False)
    assert pt.check_precision(right) == ()


def test_skipped_steps_are_counted() -> None:
    with policy_of("mixed_float16"):
        model = classifier(dtype="float32")
        model.optimizer.initial_scale = 2.0**30
        for x, y in batches(20):
            model.train_on_batch(x, y)
    skipped = pt.skipped_steps(model.optimizer)
    assert skipped is not None
    assert 8 <= skipped < 20
    assert skipped == pt.skipped_steps(model.optimizer, steps=20)
    assert pt.skipped_steps(classifier().optimizer) is None


def test_two_precisions_train_alike_from_the_same_weights() -> None:
    both = pt.compare_precision(classifier, batches(4), steps=6)
    assert both.all_agree, str(both)


@pytest.mark.skipif(BACKEND == "tensorflow", reason="it is imported anyway")
def test_a_seed_does_not_bring_in_tensorflow() -> None:
    pt.setup(backend=BACKEND, strategy="one_device", seed=3, verbose=False)
    drawn = keras.ops.convert_to_numpy(keras.random.normal((4,)))
    pt.setup(backend=BACKEND, strategy="one_device", seed=3, verbose=False)
    assert keras.ops.convert_to_numpy(keras.random.normal((4,))).tolist() == drawn.tolist()
    assert "tensorflow" not in sys.modules


@pytest.mark.skipif(BACKEND != "jax", reason="JAX's own")
def test_a_casting_policy_casts_what_is_floating() -> None:
    policy = pt.casting_policy("mixed_bfloat16")
    tree = {"w": framework.numpy.ones(2), "labels": np.arange(2), "name": "n", "key": framework.random.key(0)}
    computed = policy.cast_to_compute(tree)
    assert [str(computed[name].dtype) for name in ("w", "labels")] == ["bfloat16", "int64"]
    assert computed["name"] == "n"
    assert str(policy.cast_to_output(computed)["w"].dtype) == "float32"
    grads = framework.grad(lambda w: policy.cast_to_output(policy.cast_to_compute(w)).sum())(tree["w"])
    assert str(grads.dtype) == "float32"
    assert pt.casting_policy("bfloat16").param_dtype == "bfloat16"


@pytest.mark.skipif(BACKEND != "torch", reason="PyTorch's own")
class TestTorch:
    def net(self) -> Any:
        nn = framework.nn
        return nn.Sequential(nn.Linear(8, 16), nn.LayerNorm(16), nn.Linear(16, 4), nn.Softmax(-1))

    def test_a_half_module_is_named_layer_by_layer(self) -> None:
        found = {finding.kind: finding for finding in pt.check_precision(self.net().half())}
        assert sorted(found) == ["half_normalisation", "half_output", "half_softmax", "no_loss_scaling"]
        assert (found["half_normalisation"].blame, found["half_softmax"].blame) == ("1", "3")
        assert pt.check_precision(self.net()) == ()

    def test_under_autocast_a_sample_tells_what_is_computed_in(self) -> None:
        net, scaler = self.net(), pt.grad_scaler("mixed_float16")
        sample = framework.zeros(2, 8)
        kinds = [each.kind for each in pt.check_precision(net, sample, scaler=scaler, precision="mixed_float16")]
        assert kinds == ([] if framework.cuda.is_available() else ["half_softmax", "half_output"])
        (finding,) = pt.check_precision(net[:3], sample, scaler=scaler, precision="mixed_float16")
        assert finding.kind == "half_output"
        assert net.training
        assert pt.check_precision(net[:3], sample, precision="mixed_float16")[1].kind == "no_loss_scaling"

    def test_a_loop_of_ones_own_trains_and_counts_skips(self) -> None:
        torch = framework
        scaler, skips = pt.grad_scaler("mixed_float16", init_scale=2.0**14), 0
        weight = torch.nn.Parameter(torch.ones(4))
        optimizer = torch.optim.SGD([weight], lr=0.1)
        for _ in range(12):
            optimizer.zero_grad()
            with pt.autocast("mixed_float16"):
                loss = (weight.half() * 100).sum()
            before = weight.detach().clone()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            skips += int(torch.equal(before, weight.detach()))
        assert 0 < skips < 12
        assert pt.skipped_steps(scaler) == skips
        assert pt.skipped_steps(pt.grad_scaler("float32")) is None

    def test_a_training_step_is_compared(self) -> None:
        torch = framework

        def build(precision: str) -> Any:
            net = self.net()[:3]
            optimizer, criterion = torch.optim.SGD(net.parameters(), lr=0.1), torch.nn.CrossEntropyLoss()

            def step(batch: Any) -> Any:
                x, y = (torch.from_numpy(each) for each in batch)
                optimizer.zero_grad()
                with pt.autocast(precision):
                    loss = criterion(net(x), y)
                loss.backward()
                optimizer.step()
                return loss

            return step

        both = pt.compare_precision(build, batches(4), steps=6, backend="torch")
        assert both.all_agree, str(both)
        assert both.runs[0].losses[0] == pytest.approx(both.runs[1].losses[0], rel=0.02)
