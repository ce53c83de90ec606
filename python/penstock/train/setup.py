"""`penstock.train.setup`: every lever in one call, in the order in which frameworks take them."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from penstock.train.backend import resolve_backend
from penstock.train.compile.jit import Jit, set_jit
from penstock.train.device.configure import configure
from penstock.train.device.request import Memory
from penstock.train.precision.ability import parse_precision
from penstock.train.precision.lever import set_precision
from penstock.train.runtime import Runtime
from penstock.train.seed import set_seed
from penstock.train.strategy.choose import choose


def setup(
    *,
    backend: str = "auto",
    memory: Memory | None = None,
    visible: Iterable[int] | None = None,
    logical: int | None = None,
    strategy: str = "auto",
    cross_device_ops: str | None = None,
    layout: Any = None,
    precision: str | None = None,
    jit: Jit = "auto",
    seed: int | None = None,
    verbose: bool = True,
) -> Runtime:
    """Set this process up to train, before the first operation of its framework; prints what was done, and returns it.

    backend: "tensorflow", "jax", "torch", or "auto": Keras' own, else the one imported, else the one installed.
    memory: "growth", a limit on each device ("4 GiB", or bytes), or a tuple of both. visible: the devices to use, by
    number; []: the CPU. logical: as how many devices each device, or the CPU, is to show.
    strategy: over which devices and processes; "auto": all there are. cross_device_ops: how gradients are added up
    ("nccl", "hierarchical", "ring", "one_device"). layout: of "model_parallel", which variable is split over what.
    precision: "mixed_bfloat16", "mixed_float16", "bfloat16", "float32", "auto" (by what the devices have), None: as is.
    jit: whether steps are compiled; "auto": where it pays, see `penstock.train.set_jit`.
    seed: of Python, NumPy and the framework. verbose=False prints nothing.

    Raises: InvalidArgumentError: a value that does not exist, with those that do. MissingDependencyError.
        TooLateError: the framework is initialised, and something was asked that it takes only before.
    """
    chosen = resolve_backend(backend)
    if precision is not None:
        parse_precision(precision)  # before anything is set
    memory_changes = configure(chosen, memory=memory, visible=visible, logical=logical)
    spread, strategy_changes = choose(chosen, strategy, cross_device_ops, layout=layout)
    computes, precision_changes = set_precision(chosen, precision)
    compiles, jit_changes = set_jit(chosen, jit, spread)
    changes = (*memory_changes, *strategy_changes, *precision_changes, *jit_changes, *set_seed(chosen, seed))
    runtime = Runtime(backend=chosen, precision=computes, strategy=spread, jit=compiles, seed=seed, changes=changes)
    if verbose:
        sys.stdout.write(f"{runtime}\n")
    return runtime
