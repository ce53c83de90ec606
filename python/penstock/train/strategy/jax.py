"""Data and model parallel training on JAX, through Keras where Keras trains, over one process or several.

On Keras it is a `keras.distribution`, for this process until it is undone, since `fit` asks for it as well. On plain
JAX it is a sharding, and nothing else is changed: what `to_jax(sharding=...)` and `jax.device_put` take for batches.
Either way the program is one over all devices, so a loss that is a mean over the batch is that of a single device.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.train.runtime import Change, Runtime
from penstock.train.seed import seeding_keras
from penstock.train.strategy.choose import Wish
from penstock.train.strategy.chosen import Name, Strategy
from penstock.train.strategy.meeting import jax_coordinator

_GLOBAL = "a dataset's batch is the global one, over all devices, which must divide it"


def local_devices() -> tuple[str, ...]:
    """The devices of this process. Starts JAX."""
    import jax

    return tuple(_name(device) for device in jax.local_devices())


def data_parallel(wish: Wish) -> tuple[Strategy, tuple[Change, ...]]:
    """A copy of the model on each device, of all processes where there are several; waits for those to start.

    Raises: InvalidArgumentError: a device that is not there, JAX has started too early, or nothing says where to meet.
    """
    joined = _prepare(wish, "data_parallel")
    devices = _devices(wish)
    if not _keras_trains():
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        from numpy import array

        native = NamedSharding(Mesh(array(devices, dtype=object), ("batch",)), PartitionSpec("batch"))
        strategy = _strategy("data_parallel", wish, native)
        change = Change(lever="strategy", text=_counted("a sharding", strategy), why=_GLOBAL, kept="it is but a value")
        return strategy, (*joined, change)
    import keras

    native = keras.distribution.DataParallel(devices=[_name(device) for device in devices], auto_shard_dataset=False)
    strategy = _strategy("data_parallel", wish, native, native.scope)
    return strategy, (*joined, _distribute(native, _counted("keras.distribution.DataParallel", strategy)))


def model_parallel(wish: Wish) -> tuple[Strategy, tuple[Change, ...]]:
    """Variables split over devices as `wish.layout`, a `keras.distribution.LayoutMap`, says; the others copied.

    The layout may be a function that makes it: it names devices, and of several processes, those are there once joined.
    Batches are split over the first axis of its mesh. `unmatched_layouts(model)` tells which patterns split nothing.
    Raises: InvalidArgumentError: no LayoutMap, or Keras does not train on JAX; else as `data_parallel`.
    """
    joined = _prepare(wish, "model_parallel")
    if wish.devices is not None:
        raise InvalidArgumentError(
            "setup: devices of 'model_parallel'", got=repr(list(wish.devices)), expected="none: the layout has a mesh"
        )
    if not _keras_trains():
        raise InvalidArgumentError(
            "setup: 'model_parallel' without Keras on JAX", expected="KERAS_BACKEND=jax",
            remedy="in plain JAX, give jax.device_put a NamedSharding for each parameter",
        )  # fmt: skip
    import keras

    layout = wish.layout() if callable(wish.layout) else wish.layout
    if not isinstance(layout, keras.distribution.LayoutMap):
        raise InvalidArgumentError(
            "setup: layout", got=type(layout).__name__, expected="a keras.distribution.LayoutMap, or what makes one"
        )
    native = keras.distribution.ModelParallel(layout_map=layout, auto_shard_dataset=False)
    mesh = layout.device_mesh
    rows = mesh.shape[mesh.axis_names.index(native.batch_dim_name)]
    strategy = replace(_strategy("model_parallel", wish, native, native.scope), copies=rows)
    return strategy, (*joined, _distribute(native, _counted("keras.distribution.ModelParallel", strategy)))


def batch_sharding(runtime: Runtime | Strategy) -> Any:
    """How a batch lies over the strategy's devices: what `to_jax(sharding=...)` takes, under Keras' strategies too.

    None for one device.
    """
    strategy = runtime.strategy if isinstance(runtime, Runtime) else runtime
    native = strategy.native
    return native.get_data_layout((1,)).backend_layout if hasattr(native, "get_data_layout") else native


def unmatched_layouts(model: Any) -> tuple[str, ...]:
    """Patterns of the current ModelParallel's layout that match no variable of a built model, and so split nothing.

    A pattern must match a variable's whole path: "dense.*kernel" splits nothing, ".*dense.*kernel" does.
    """
    import re

    import keras

    distribution = keras.distribution.distribution()
    if not isinstance(distribution, keras.distribution.ModelParallel):
        return ()
    paths = [variable.path for variable in model.variables]
    return tuple(key for key in distribution._layout_map if not any(re.fullmatch(key, path) for path in paths))


def _prepare(wish: Wish, name: str) -> tuple[Change, ...]:
    """Join the other processes, where there are some and nobody has. Raises: InvalidArgumentError."""
    import jax

    said = wish.cross_device_ops
    if said is not None and not (said == "gloo" and wish.world.size > 1):
        raise InvalidArgumentError(
            f"setup: cross_device_ops of {name!r}", got=repr(said), expected="none: XLA decides",
            remedy='"gloo" says what it does between processes on CPUs anyway',
        )  # fmt: skip
    if wish.world.size == 1 or jax.distributed.is_initialized():
        return ()
    address = jax_coordinator(os.environ, wish.world.rank)
    try:
        if _keras_trains():
            import keras

            with seeding_keras():  # by one seed for all
                keras.distribution.initialize(address, wish.world.size, wish.world.rank)
        else:
            jax.distributed.initialize(address, wish.world.size, wish.world.rank)
    except RuntimeError as error:
        raise _not_joined(str(error), address) from error
    text = f"jax.distributed, process {wish.world.rank} of {wish.world.size}, at {address}"
    return (Change(lever="strategy", text=text, kept="JAX joins its processes once"),)


def _not_joined(said: str, address: str) -> InvalidArgumentError:
    line = next(iter(said.splitlines()), "")
    if "before" in said and "initiali" in said:
        return InvalidArgumentError(
            "setup: several processes after JAX has started", got=line,
            remedy="call penstock.train.setup before the first array, and before jax.devices()",
        )  # fmt: skip
    return InvalidArgumentError(
        "setup: JAX could not join the other processes",
        got=line,
        expected=f"process 0 listening at {address}, and all there within 5 minutes",
    )


def _devices(wish: Wish) -> list[Any]:
    """All devices of all processes, or the named ones. Raises: InvalidArgumentError: one is not there."""
    import jax

    there = {_name(device): device for device in jax.devices()}
    if wish.devices is None:
        return list(there.values())
    for name in wish.devices:
        if name not in there:
            raise InvalidArgumentError(
                "setup: devices of 'data_parallel'", got=repr(name), expected=f"some of {', '.join(there)}",
                remedy="XLA_FLAGS=--xla_force_host_platform_device_count=N makes N of a CPU",
            )  # fmt: skip
    return [there[name] for name in wish.devices]


def _strategy(
    name: Name, wish: Wish, native: Any, enter: Callable[[], AbstractContextManager[object]] = nullcontext
) -> Strategy:
    import jax

    mine = {_name(device) for device in jax.local_devices()}
    names = tuple(device for device in (wish.devices or local_devices()) if device in mine)
    on_cpus = wish.world.size > 1 and jax.default_backend() == "cpu"
    return Strategy(
        name=name, backend="jax", devices=names, rank=wish.world.rank, world=wish.world.size,
        cross_device_ops="gloo" if on_cpus else "", native=native, enter=enter,
    )  # fmt: skip


def _distribute(native: Any, text: str) -> Change:
    import keras

    before = keras.distribution.distribution()
    keras.distribution.set_distribution(native)
    return Change(lever="strategy", text=text, why=_GLOBAL, undo=lambda: keras.distribution.set_distribution(before))


def _counted(text: str, strategy: Strategy) -> str:
    count = len(strategy.devices) * strategy.world
    return f"{text} over {count} device{'s' if count != 1 else ''}"


def _keras_trains() -> bool:
    """Whether it is Keras on JAX that trains: it is imported so, or is to be."""
    keras: Any = sys.modules.get("keras")
    if hasattr(keras, "config"):
        return bool(keras.config.backend() == "jax")
    return os.environ.get("KERAS_BACKEND") == "jax"


def _name(device: Any) -> str:
    """As Keras names it: "gpu:0", "cpu:1"."""
    return f"{device.platform}:{device.id}"
