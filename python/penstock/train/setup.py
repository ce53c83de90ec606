"""`penstock.train.setup`: every lever in one call, in the order in which frameworks take them."""

from __future__ import annotations

import sys

from penstock.train.backend import resolve_backend
from penstock.train.compile.jit import Jit, set_jit
from penstock.train.runtime import Runtime
from penstock.train.seed import set_seed
from penstock.train.strategy.chosen import Strategy


def setup(*, backend: str = "auto", jit: Jit = "auto", seed: int | None = None, verbose: bool = True) -> Runtime:
    """Set this process up to train, before the first operation of its framework; prints what was done, and returns it.

    backend: "tensorflow", "jax", "torch", or "auto": Keras' own, else the one imported, else the one installed.
    jit: whether steps are compiled; "auto": where it pays, see `penstock.train.set_jit`.
    seed: of Python, NumPy and the framework. verbose=False prints nothing.

    Raises: InvalidArgumentError: a value that does not exist, with those that do. MissingDependencyError.
    """
    chosen = resolve_backend(backend)
    strategy = Strategy(name="one_device", backend=chosen, devices=("the default device",))
    compiles, jit_changes = set_jit(chosen, jit, strategy)
    changes = (*jit_changes, *set_seed(chosen, seed))
    runtime = Runtime(backend=chosen, strategy=strategy, jit=compiles, seed=seed, changes=changes)
    if verbose:
        sys.stdout.write(f"{runtime}\n")
    return runtime
