"""Monitor: what it reads beside what was planted, on each framework, and what it costs a step.

In a process per backend, Keras' `fit` trains a model whose step takes some 20 ms, on a feed that sleeps before it gives
a batch, so long that the device should starve 0, 20, 50 and 80 % of the time, if its pace were steady. What is true is
known apart from the monitor. TensorFlow and PyTorch wait for the CPU, so the device starves while the feed sleeps:
those seconds, which the feed itself measures. JAX runs ahead: there the device is idle from when a callback of the
benchmark's own heard that a step was done until the feed gave the next batch. The cost: a loop over a list, and `fit`
of a tiny model with and without a monitor, in turn; medians.

    python -m benchmarks train.monitor
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import ROOT, Result
from penstock.train import Monitor

BACKENDS = ("tensorflow", "jax", "torch")
SHARES = (0.0, 0.2, 0.5, 0.8)
STEPS = 30
WIDTH, ROWS, DEPTH = 512, 256, 4
LOOP_STEPS = 50_000


class PlantedFeed:
    """The same batch, after `delay_s`; what it slept and when it gave the first one is its own to know."""

    element_spec = None
    batch_size: int | None = ROWS
    has_partial_batch: bool | None = False
    partial_batch_size: int | None = None

    def __init__(self, batch: Any, delay_s: float, steps: int) -> None:
        self.batch, self.delay_s, self.cardinality = batch, delay_s, steps
        self.slept_s = self.first_at = 0.0
        self.gave: list[float] = []

    def open(self, epoch: int | None = None, start: int = 0) -> Planted:
        return Planted(self)


class Planted:
    """One epoch of it."""

    def __init__(self, feed: PlantedFeed) -> None:
        self.feed, self.given = feed, 0

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        feed = self.feed
        if self.given == feed.cardinality:
            raise StopIteration
        began = time.perf_counter()
        if feed.delay_s:
            time.sleep(feed.delay_s)
        now = time.perf_counter()
        if self.given == 0:
            feed.first_at, feed.slept_s = now, 0.0
        else:
            feed.slept_s += now - began
        self.given += 1
        feed.gave.append(now)
        return feed.batch

    def close(self) -> None:
        """Nothing is open."""


def aligned(rows: int, width: int) -> Any:
    """Zeros that every framework takes as they are, so that nothing but the sleep takes time."""
    flat = np.zeros(rows * width + 16, np.float32)
    first = -flat.__array_interface__["data"][0] % 64 // 4
    return flat[first : first + rows * width].reshape(rows, width)


def build(width: int, depth: int) -> Any:
    """A model of square layers."""
    import keras

    model = keras.Sequential([keras.Input((width,)), *(keras.layers.Dense(width, "relu") for _ in range(depth))])
    model.compile("sgd", "mse")
    return model


def fitted(model: Any, batch: Any, delay_s: float, steps: int, callbacks: list[Any]) -> tuple[PlantedFeed, float]:
    """One epoch: its feed, and seconds from the first batch to the end."""
    import keras

    from penstock.adapters.keras import to_keras

    ended: list[float] = []
    feed = PlantedFeed(batch, delay_s, steps)
    end = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: ended.append(time.perf_counter()))
    model.fit(to_keras(feed), verbose=0, callbacks=[end, *callbacks])
    return feed, ended[0] - feed.first_at


def truths(backend: str) -> dict[str, Any]:
    """Planted, true and read shares of one backend, in this process."""
    batch = (aligned(ROWS, WIDTH), aligned(ROWS, WIDTH))
    model = build(WIDTH, DEPTH)
    fitted(model, batch, 0.0, 8, [])
    pace = fitted(model, batch, 0.0, STEPS, [])[1] / STEPS
    rows = []
    for share in SHARES:
        delay_s = planted_s(backend, share, pace)
        monitor, done = Monitor(tell=None), done_times()
        feed, seconds = fitted(model, batch, delay_s, STEPS, [monitor, done] if backend == "jax" else [monitor])
        true = (idle_s(feed, done.at) if backend == "jax" else feed.slept_s) / seconds
        epoch, trace = monitor.epochs[0], monitor.trace()
        host = (epoch.wait_s - epoch.first_s) / (epoch.seconds - epoch.first_s)
        rows.append(
            {"planted": share, "true": true, "read": epoch.starved_share, "host_wait": host,
             "method": trace.consumer.method, "step_ms": 1e3 * seconds / STEPS}
        )  # fmt: skip
    return {"rows": rows, "pace_ms": 1e3 * pace}


def done_times() -> Any:
    """A callback that notes when each step was done, in a thread of Keras' own where it has one."""
    import keras

    class Done(keras.callbacks.Callback):  # type: ignore[misc] # of a framework without types
        async_safe = True

        def __init__(self) -> None:
            super().__init__()
            self.at: dict[int, float] = {}

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            self.at[batch] = time.perf_counter()

    return Done()


def idle_s(feed: PlantedFeed, done: dict[int, float]) -> float:
    """Seconds from the end of each step to the next batch."""
    return sum(max(0.0, feed.gave[step + 1] - at) for step, at in done.items() if step + 1 < len(feed.gave))


def planted_s(backend: str, share: float, pace_s: float) -> float:
    """Seconds a batch must take so that the device starves for `share` of the time."""
    if backend != "jax":
        return pace_s * share / (1 - share)
    return pace_s / (1 - share) if share else 0.3 * pace_s


def fit_cost(rounds: int) -> dict[str, float]:
    """Microseconds of a step of a tiny model, without and with a monitor, in turn."""
    steps = 500
    batch = (np.zeros((64, 32), np.float32), np.zeros((64, 32), np.float32))
    model = build(32, 1)
    found: dict[str, list[float]] = {"without": [], "with": []}
    fitted(model, batch, 0.0, 200, [])
    for _ in range(rounds):
        for name, each in found.items():
            callbacks = [Monitor(tell=None)] if name == "with" else []
            each.append(1e6 * fitted(model, batch, 0.0, steps, callbacks)[1] / steps)
    return {name: statistics.median(each) for name, each in found.items()}


def loop_cost(rounds: int) -> dict[str, float]:
    """Microseconds that each way to watch adds to a step of a loop."""
    batch = (np.zeros((64, 32), np.float32), np.zeros(64, np.float32))
    batches = [batch] * LOOP_STEPS

    def bare(monitor: Monitor) -> None:
        for _ in batches:
            pass

    def watch(monitor: Monitor) -> None:
        for _ in monitor.watch(batches):
            pass

    def step(monitor: Monitor) -> None:
        for one in batches:
            with monitor.step(one):
                pass

    def watch_and_done(monitor: Monitor) -> None:
        for _ in monitor.watch(batches):
            monitor.done(0.5)

    ways: dict[str, Callable[[Monitor], None]] = {
        "bare": bare, "watch": watch, "step": step, "watch and done": watch_and_done
    }  # fmt: skip
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, way in ways.items():
            with Monitor(tell=None) as monitor:
                began = time.perf_counter()
                way(monitor)
                found[name].append(1e6 * (time.perf_counter() - began) / LOOP_STEPS)
    medians = {name: statistics.median(each) for name, each in found.items()}
    return {name: value - medians["bare"] for name, value in medians.items() if name != "bare"}


def _ask(backend: str, what: str, rounds: int) -> Any:
    environment = {
        **os.environ, "KERAS_BACKEND": backend, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}",
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }  # fmt: skip
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.train.monitor", backend, what, str(rounds)],
        env=environment, cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if run.returncode:
        return {"missing": (run.stderr.strip().splitlines() or ["no word"])[-1]}
    return json.loads(run.stdout.strip().splitlines()[-1])


def run(rounds: int) -> Result:
    """The tables."""
    lines = [f"{'':12} {'planted':>8} {'true':>8} {'read':>8} {'off by':>8} {'host wait':>10} {'a step':>9}  known by"]
    figures: dict[str, Any] = {"truth": {}, "fit_us": {}}
    for backend in BACKENDS:
        told = figures["truth"][backend] = _ask(backend, "truths", rounds)
        if "missing" in told:
            lines.append(f"{backend:12} not measured: {told['missing']}")
            continue
        for row in told["rows"]:
            off = 100 * (row["read"] - row["true"])
            lines.append(
                f"{backend:12} {row['planted']:8.0%} {row['true']:8.1%} {row['read']:8.1%} {off:+6.1f} pt "
                f"{row['host_wait']:10.1%} {row['step_ms']:6.1f} ms  {row['method']}"
            )
    lines += ["", f"{'':12} {'fit, us a step':>16} {'with a monitor':>16} {'more':>8}"]
    for backend in BACKENDS:
        told = figures["fit_us"][backend] = _ask(backend, "fit_cost", rounds)
        if "missing" not in told:
            more = told["with"] - told["without"]
            lines.append(f"{backend:12} {told['without']:16.1f} {told['with']:16.1f} {more:+8.1f}")
    figures["loop_us"] = loop_cost(rounds)
    told = ", ".join(f"{name} {value:.1f}" for name, value in figures["loop_us"].items())
    lines += ["", f"a loop of one's own, us more a step: {told}"]
    return Result("monitor", "starvation as planted and as read; the cost of a step", lines, figures)


if __name__ == "__main__":
    WHAT = {"truths": lambda backend, rounds: truths(backend), "fit_cost": lambda backend, rounds: fit_cost(rounds)}
    print(json.dumps(WHAT[sys.argv[2]](sys.argv[1], int(sys.argv[3]))))
