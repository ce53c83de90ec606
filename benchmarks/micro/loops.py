"""What `to_torch()` and `to_jax()` add to a step: ready batches, fed by them and by the cheapest loop one could write.

The cheapest: `torch.from_numpy`, `jax.device_put`, on each array of each batch. A step is nearly no model: one weight a
column, its gradient and an update, on every batch of 64x32 and on one corner of each 64x224x224x3. Bare: no step, which
says what feeding alone costs. All batches are aligned, made before, and fed again in each repetition.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Result, compare, interleave
from penstock.engine.buffers import BufferPool

SHAPES = {"64x32": (64, 32), "64x224x224x3": (64, 224, 224, 3)}
STEPS = {"64x32": 3000, "64x224x224x3": 1000}
READY = 4  # batches, given out in turn: nobody writes to them


class Ready:
    """A feed of batches that are there."""

    has_partial_batch = False
    partial_batch_size = None
    element_spec = None

    def __init__(self, shape: tuple[int, ...], steps: int) -> None:
        pool = BufferPool()
        self.batches = []
        for number in range(READY):
            inputs, targets = pool.array(shape, np.dtype(np.float32)), pool.array(shape[:1], np.dtype(np.float32))
            inputs[...], targets[...] = number, number
            self.batches.append((inputs, targets))
        self.cardinality, self.batch_size = steps, shape[0]

    def open(self, epoch: int | None = None, start: int = 0) -> Ready:
        self.left = iter([self.batches[number % READY] for number in range(start, self.cardinality)])
        return self

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        return next(self.left)

    def close(self) -> None:
        """Nothing is open."""


def torch_step(shape: tuple[int, ...]) -> Callable[[Any, Any], Any]:
    import torch

    torch.set_num_threads(1)
    weights = torch.zeros(32 if len(shape) == 2 else shape[-1], requires_grad=True)

    def step(inputs: Any, targets: Any) -> Any:
        corner = inputs if inputs.ndim == 2 else inputs[:, 0, 0]
        ((corner @ weights - targets) ** 2).mean().backward()
        with torch.no_grad():
            weights.sub_(1e-6 * weights.grad)
        weights.grad = None
        return weights

    return step


def jax_step(shape: tuple[int, ...]) -> Callable[[Any, Any], Any]:
    import jax
    import jax.numpy as jnp

    def loss(weights: Any, inputs: Any, targets: Any) -> Any:
        corner = inputs if inputs.ndim == 2 else inputs[:, 0, 0]
        return jnp.mean((corner @ weights - targets) ** 2)

    update = jax.jit(lambda weights, inputs, targets: weights - 1e-6 * jax.grad(loss)(weights, inputs, targets))
    weights = jnp.zeros(32 if len(shape) == 2 else shape[-1])

    def step(inputs: Any, targets: Any) -> Any:
        nonlocal weights
        weights = update(weights, inputs, targets)
        return weights

    return step


def feeding(framework: str, way: str, size: str, work: str) -> Callable[..., Any]:
    """One repetition: an epoch of ready batches, fed in that way to that work."""
    feed = Ready(SHAPES[size], STEPS[size])
    if framework == "torch":
        import torch

        from penstock.adapters.torch import to_torch

        ours, place, make = to_torch(feed), torch.from_numpy, torch_step
    else:
        import jax

        from penstock.adapters.jax import to_jax

        ours, place, make = to_jax(feed), jax.device_put, jax_step
    step = make(SHAPES[size]) if work == "step" else None

    def repetition(prove: bool) -> Any:
        batches = ours if way == "ours" else ((place(x), place(y)) for x, y in feed.open())
        last, total = None, 0.0
        for inputs, targets in batches:
            if prove:
                total += float(inputs[0, -1].sum()) + float(targets.sum())
            if step is not None:
                last = step(inputs, targets)
        if framework == "jax" and last is not None:
            last.block_until_ready()
        return total if prove else STEPS[size]

    return repetition


def run(rounds: int) -> Result:
    """Microseconds a step, ours and the cheapest loop's, and the ratio: at most 1.2 with a step."""
    lines = [f"{'':28} {'ours us':>9} {'bare us':>9} {'ours / bare':>11} {'quartiles of it':>18}"]
    figures: dict[str, object] = {}
    for framework in ("torch", "jax"):
        for size in SHAPES:
            for work in ("step", "nothing"):
                name = f"{framework} {size} {work}"
                samples = interleave(
                    [
                        Contender(way, "benchmarks.micro.loops:feeding", (framework, way, size, work))
                        for way in ("ours", "bare")
                    ],
                    rounds,
                )
                lines.append(_line(name, samples))
                figures[name] = compare(name, "", samples, "steps/s").figures
    return Result("loops", "ready batches in a loop of one's own, microseconds a step", lines, figures)


def _line(name: str, samples: Any) -> str:
    ours, bare = samples
    if ours.missing is not None:
        return f"{name:28} not measured: {ours.missing}"
    assert ours.proof == bare.proof, (ours.proof, bare.proof)
    ratios = [theirs / own for own, theirs in zip(ours.rates, bare.rates, strict=True)]
    low, middle, high = np.percentile(ratios, [25, 50, 75])
    return f"{name:28} {1e6 / ours.rate:9.1f} {1e6 / bare.rate:9.1f} {middle:11.2f} {low:8.2f} to {high:.2f}"
