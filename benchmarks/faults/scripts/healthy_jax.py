"""A loop in JAX over rows that Penstock shuffles and batches. `python healthy_jax.py`."""

from __future__ import annotations

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np

import penstock as ps


def loss_of(weights, rows, targets):
    hidden = rows
    for weight in weights[:-1]:
        hidden = jnp.tanh(hidden @ weight)
    return jnp.mean((hidden @ weights[-1] - targets) ** 2)


@jax.jit
def step(weights, rows, targets):
    loss, gradients = jax.value_and_grad(loss_of)(weights, rows, targets)
    return [weight - 0.01 * gradient for weight, gradient in zip(weights, gradients, strict=True)], loss


def main() -> None:
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(8192, 256)).astype(np.float32)
    targets = rows[:, :1] * rows[:, 1:2]
    sizes = [256, 1024, 1024, 1024, 1]
    weights = [jnp.asarray(rng.normal(size=shape, scale=0.03), jnp.float32) for shape in pairwise(sizes)]
    dataset = ps.Dataset.from_tensor_slices((rows, targets)).shuffle(seed=0).batch(128, drop_remainder=True).prefetch()
    for epoch in range(4):
        for batch_rows, batch_targets in dataset:
            weights, loss = step(weights, batch_rows, batch_targets)
        print(epoch, float(loss))


if __name__ == "__main__":
    main()
