"""Each batch is as long as its longest text, and JAX compiles for each length. `python retrace_penstock.py`."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import penstock as ps


@jax.jit
def step(weights, tokens):  # the fault
    loss, gradient = jax.value_and_grad(lambda w: jnp.mean(jnp.tanh(w[tokens] @ w[:64]) ** 2))(weights)
    return weights - 0.1 * gradient, loss


def texts():
    rng = np.random.default_rng(0)
    for _ in range(640):
        yield rng.integers(1, 256, rng.integers(8, 200), dtype=np.int32)


def main() -> None:
    dataset = ps.Dataset.from_generator(texts, output_signature=ps.Spec((None,), np.int32))
    dataset = dataset.padded_batch(8).prefetch()  # the fault
    weights = jnp.ones((256, 64))
    for tokens in dataset:
        weights, loss = step(weights, tokens)  # the fault
    print(float(loss))


if __name__ == "__main__":
    main()
