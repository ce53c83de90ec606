"""What a step of training costs because of how it is fed: ready batches, a model that computes next to nothing.

Batches of 64x224x224x3 float32 (38.5 MB) and 64x32, made beforehand and 64-byte aligned, through Keras' `fit` on each
backend: `to_keras`; adapters for Keras' private interface as short as they can be, by hand, which are the cheapest ways
known; and what Keras takes otherwise. A backend is one process, its ways interleaved; a repetition makes as many steps
as take 0.1 to 0.4 s, `fit`'s own start included. The learning rate is 0: the losses prove that all fed the same. Law:
ours at most 1.2 times the cheapest other.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, Result

SIZES = {"64x224x224x3": (64, 224, 224, 3), "64x32": (64, 32)}
BACKENDS = ("tensorflow", "jax", "torch")
OURS = "to_keras"
READY, REPETITION_S, FEWEST, MOST = 4, 0.4, 20, 1000
Batch = tuple[np.ndarray, np.ndarray]
Way = Callable[[int], Callable[[], float]]
"""From a number of steps to a repetition that makes them and returns the mean loss."""


def ready_batches(shape: tuple[int, ...]) -> list[Batch]:
    """Aligned, writable and different from each other."""
    from penstock.engine.buffers import BufferPool

    pool, batches = BufferPool(), []
    for number in range(READY):
        inputs, targets = (pool.array(each, np.dtype(np.float32)) for each in (shape, shape[:1]))
        inputs[...] = number / READY
        targets[...] = number
        batches.append((inputs, targets))
    return batches


@dataclass
class Ready:
    """A feed of `steps` batches that are there already."""

    batches: list[Batch]
    cardinality: int
    has_partial_batch = False
    partial_batch_size = None

    @property
    def element_spec(self) -> Any:
        from penstock.block.spec import Spec

        return tuple(Spec((None, *array.shape[1:]), array.dtype) for array in self.batches[0])

    @property
    def batch_size(self) -> int:
        return len(self.batches[0][0])

    def open(self, epoch: int | None = None, start: int = 0) -> ReadyBatches:
        return ReadyBatches(self.batches, self.cardinality)


class ReadyBatches:
    """One epoch of them."""

    def __init__(self, batches: list[Batch], count: int) -> None:
        self._given, self._count, self._batches = 0, count, batches

    def __iter__(self) -> ReadyBatches:
        return self

    def __next__(self) -> Batch:
        if self._given == self._count:
            raise StopIteration
        self._given += 1
        return self._batches[self._given % READY]

    def close(self) -> None:
        self._given = self._count


def model_of_next_to_nothing() -> Any:
    import keras

    class First(keras.layers.Layer):
        def build(self, shape: Any) -> None:
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

        def call(self, inputs: Any) -> Any:
            return keras.ops.reshape(inputs, (keras.ops.shape(inputs)[0], -1))[:, :1] * self.scale

    model = keras.Sequential([First()])
    model.compile(keras.optimizers.SGD(0.0), "mse")
    return model


def native_of(backend: str) -> Callable[[Any], Any]:
    """An array as the backend's own tensor, by the shortest way known, without a copy."""
    if backend == "tensorflow":
        import tensorflow as tf

        return lambda array: tf.experimental.dlpack.from_dlpack(array.__dlpack__())
    if backend == "jax":
        import jax

        return jax.device_put
    import torch

    return torch.from_dlpack


def ways_of(backend: str, batches: list[Batch]) -> dict[str, Way]:
    import keras
    from keras.src.trainers.data_adapters.data_adapter import DataAdapter

    from penstock.adapters.keras import to_keras

    model = model_of_next_to_nothing()
    native = native_of(backend)

    def fit(data: Any, **arguments: Any) -> float:
        return float(model.fit(data, verbose=0, shuffle=False, **arguments).history["loss"][-1])

    def cycle(steps: int) -> Iterator[Batch]:
        for number in range(1, steps + 1):
            yield batches[number % READY]

    class ByHand(DataAdapter):
        """The least that Keras' private interface takes."""

        def __init__(self, steps: int, convert: Callable[[Any], Any]) -> None:
            self.num_batches, self._convert = steps, convert  # type: ignore[misc]  # a property there

        num_batches, batch_size, has_partial_batch, partial_batch_size = 0, 64, False, None

        def __iter__(self) -> Iterator[Any]:
            convert = self._convert
            for inputs, targets in cycle(self.num_batches):
                yield convert(inputs), convert(targets)

        def get_tf_dataset(self) -> Any:
            return self

        get_jax_iterator = get_torch_dataloader = get_numpy_iterator = get_tf_dataset

    class Sequence(keras.utils.PyDataset):
        def __init__(self, steps: int) -> None:
            super().__init__()
            self.steps = steps

        def __len__(self) -> int:
            return self.steps

        def __getitem__(self, index: int) -> Batch:
            return batches[(index + 1) % READY]

    def on_batches(steps: int) -> float:
        losses = [model.train_on_batch(*map(native, batch)) for batch in cycle(steps)]
        return float(np.mean([float(np.ravel(loss)[0]) for loss in losses]))

    ways: dict[str, Way] = {
        OURS: lambda steps: partial(fit, to_keras(Ready(batches, steps))),
        "adapter by hand, native": lambda steps: lambda: fit(ByHand(steps, native)),
        "adapter by hand, NumPy": lambda steps: lambda: fit(ByHand(steps, lambda array: array)),
        "generator": lambda steps: lambda: fit(cycle(steps + 2), steps_per_epoch=steps),
        "PyDataset": lambda steps: lambda: fit(Sequence(steps)),
        "train_on_batch, native": lambda steps: partial(on_batches, steps),
    }
    if backend == "tensorflow":
        ways["tf.data from_generator"] = lambda steps: partial(fit, tf_data(cycle, batches, steps))
    if backend == "torch":
        ways["DataLoader"] = lambda steps: partial(fit, data_loader(cycle, steps))
    return ways


def tf_data(cycle: Callable[[int], Iterator[Batch]], batches: list[Batch], steps: int) -> Any:
    import tensorflow as tf

    signature = tuple(tf.TensorSpec((None, *array.shape[1:]), array.dtype) for array in batches[0])
    dataset = tf.data.Dataset.from_generator(lambda: cycle(steps), output_signature=signature).prefetch(2)
    return dataset.apply(tf.data.experimental.assert_cardinality(steps))


def data_loader(cycle: Callable[[int], Iterator[Batch]], steps: int) -> Any:
    import torch

    class Rows(torch.utils.data.IterableDataset):  # type: ignore[misc]  # untyped
        def __iter__(self) -> Iterator[Any]:
            for batch in cycle(steps):
                yield tuple(map(torch.from_numpy, batch))

        def __len__(self) -> int:
            return steps

    return torch.utils.data.DataLoader(Rows(), batch_size=None)


@dataclass
class Timed:
    """A way, how many steps it makes, and microseconds of time and of CPU time per step, of each repetition."""

    repetition: Callable[[], float]
    steps: int
    us: list[float]
    cpu_us: list[float]
    loss: float


def step_s(way: Way) -> float:
    """Seconds of a step, roughly, once what takes long the first time is over."""
    few = way(FEWEST)
    few()
    began = time.perf_counter()
    few()
    return (time.perf_counter() - began) / FEWEST


def prepared(ways: dict[str, Way]) -> dict[str, Timed]:
    """Ways of like cost make the same number of steps, so that `fit`'s own start weighs the same."""
    for _ in range(2):  # the first has warmed what they share
        steps_s = {name: step_s(way) for name, way in ways.items()}
    like_s = 3 * min(steps_s.values())
    timed = {}
    for name, way in ways.items():
        fitting = REPETITION_S / max(steps_s[name], like_s)
        steps = int(min(MOST, max(FEWEST, fitting))) // READY * READY
        repetition = way(steps)
        timed[name] = Timed(repetition, steps, [], [], repetition())
    return timed


def measure(backend: str, rounds: int) -> dict[str, Any]:
    """In this process, whose backend it is."""
    figures: dict[str, Any] = {}
    for size, shape in SIZES.items():
        batches = ready_batches(shape)
        timed = prepared(ways_of(backend, batches))
        names = list(timed)
        for turn in range(rounds):
            for name in names[turn % len(names) :] + names[: turn % len(names)]:
                one = timed[name]
                began, cpu_began = time.perf_counter(), time.process_time()
                one.repetition()
                one.us.append((time.perf_counter() - began) / one.steps * 1e6)
                one.cpu_us.append((time.process_time() - cpu_began) / one.steps * 1e6)
        figures[size] = {
            name: {"steps": one.steps, "us": one.us, "cpu_us": one.cpu_us, "loss": one.loss}
            for name, one in timed.items()
        }
    return figures


def _ask(backend: str, rounds: int) -> dict[str, Any] | str:
    """`measure` in a process of its own; or why there is none."""
    for needed in (backend, "keras"):
        if find_spec(needed) is None:
            return f"{needed} is not installed"
    environment = {
        **os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}", "KERAS_BACKEND": backend,
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }  # fmt: skip
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.feed", backend, str(rounds)]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        return (done.stderr.strip().splitlines() or ["it died"])[-1]
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def table(backend: str, size: str, ways: dict[str, Any]) -> list[str]:
    """One line a way, ours first. Ratios of medians of time and of CPU time, and of the least CPU time of a repetition.

    On a busy machine the last counts: what others do only ever adds.
    """
    medians = {name: statistics.median(one["us"]) for name, one in ways.items()}
    cpu = {name: statistics.median(one["cpu_us"]) for name, one in ways.items()}
    least = {name: min(one["cpu_us"]) for name, one in ways.items()}
    cheapest = min((name for name in ways if name != OURS), key=medians.__getitem__)
    titles = f"{'us/step':>9} {'quartiles':>17} {'CPU us/step':>12} {'ours / it':>10} {'by CPU':>7} {'at least':>9}"
    lines = [f"{f'{backend}, {size}':30} {titles}"]
    for name, one in ways.items():
        low, _, high = statistics.quantiles(one["us"], n=4)
        lines.append(
            f"  {name:28} {medians[name]:9,.0f} {low:8,.0f}-{high:8,.0f} {cpu[name]:12,.0f}"
            f" {medians[OURS] / medians[name]:10.2f} {cpu[OURS] / cpu[name]:7.2f}"
            f" {least[OURS] / least[name]:9.2f}"
            f"{' cheapest' if name == cheapest else ''}"
        )
    losses = [one["loss"] for one in ways.values()]
    if max(losses) - min(losses) > 1e-4 * max(losses):
        lines.append(f"  CONTENT DIFFERS: losses {dict(zip(ways, losses, strict=True))}")
    return lines


def run(rounds: int) -> Result:
    """About 30 s for a backend at 9 rounds on two idle cores."""
    lines: list[str] = []
    figures: dict[str, Any] = {}
    for backend in BACKENDS:
        found = _ask(backend, max(2, rounds))
        if isinstance(found, str):
            lines.append(f"{backend} not measured: {found}")
            continue
        figures[backend] = found
        for size, ways in found.items():
            lines += table(backend, size, ways)
    return Result("feed", f"ready batches through Keras' fit, {rounds} rounds", lines, figures)


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))), flush=True)
    os._exit(0)
