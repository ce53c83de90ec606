"""One seed for Python, NumPy and the framework, as `keras.utils.set_random_seed` has it, with or without Keras."""

from __future__ import annotations

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np

from penstock.errors import InvalidArgumentError
from penstock.train.backend import Backend
from penstock.train.runtime import Change

_HIGHEST = 2**32 - 1


def set_seed(backend: Backend, seed: int | None) -> tuple[Change, ...]:
    """Seed what draws outside Penstock: initial weights, dropout. Penstock's own draws follow `Options.seed`.

    Raises: InvalidArgumentError: a seed that NumPy does not take.
    """
    if seed is None:
        return ()
    if type(seed) is not int or not 0 <= seed <= _HIGHEST:
        raise InvalidArgumentError("setup: seed", got=repr(seed), expected=f"an integer from 0 to {_HIGHEST}, or None")
    random.seed(seed)
    np.random.seed(seed)  # noqa: NPY002 - the global state is what scripts of others draw from
    seeded = ["Python", "NumPy"]
    if "keras" in sys.modules:
        with seeding_keras():
            sys.modules["keras"].utils.set_random_seed(seed)
        seeded.append("Keras")
    if backend == "torch":
        import torch

        torch.manual_seed(seed)
        seeded.append("PyTorch")
    elif backend == "tensorflow":
        import tensorflow as tf

        tf.random.set_seed(seed)
        seeded.append("TensorFlow")
    why = f"in JAX, begin from jax.random.key({seed})" if backend == "jax" else ""
    return (
        Change(lever="seed", text=f"{seed} for {', '.join(seeded)}", why=why, kept="the states before are not kept"),
    )


@contextmanager
def seeding_keras() -> Iterator[None]:
    """Within it, `keras.utils.set_random_seed` does not import TensorFlow, where it is installed, only to seed it.

    That takes seconds and 600 MB of a process that trains on another framework. Source: keras/src/utils/rng_utils.py.
    """
    module: Any = sys.modules.get("keras.src.utils.rng_utils")
    lazy = getattr(module, "tf", None)
    if lazy is None or "tensorflow" in sys.modules:
        yield
        return
    module.tf = SimpleNamespace(available=False)
    try:
        yield
    finally:
        module.tf = lazy
