"""Weights of a Keras model on JAX, cut over devices.

That is `keras.distribution.ModelParallel`, by names of layers, not by regular expressions, of which one that misses
would copy its weights to each device in silence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.errors import InvalidArgumentError, user_location
from penstock.train.placement.plan import Plan, Weight, plan_shards

_AXIS = "model"


def place_variables(
    model: Any, rules: Mapping[str, Any], devices: Sequence[str] | None
) -> tuple[Plan, Callable[[], None]]:
    """Cut the variables of a built model, and train it so from now on: the distribution is set for the process.

    What is returned takes it back. Raises: InvalidArgumentError: as `plan_shards`; the model is not built, or its
    optimizer is; another distribution is set.
    """
    import jax
    import keras
    from keras import distribution

    _require_ready(model, distribution.distribution())
    names = list(devices) if devices is not None else distribution.list_devices()
    prefix = f"{model.name}/"
    weights = []
    for variable in model.variables:
        layer, _, _ = variable.path.removeprefix(prefix).rpartition("/")
        size = keras.backend.standardize_dtype(variable.dtype)
        weights.append(Weight(layer, variable.path, tuple(variable.shape), jax.numpy.dtype(size).itemsize))
    plan = plan_shards(weights, rules, names, "/")
    mesh = distribution.DeviceMesh((1, len(names)), ("batch", _AXIS), devices=names)
    layouts = distribution.LayoutMap(mesh)
    for variable, held in zip(model.variables, plan.held, strict=True):
        axes = [_AXIS if axis == held.axis else None for axis in range(len(held.weight.shape))]
        variable._layout = layouts[variable.path] = distribution.TensorLayout(axes, mesh)
        variable._direct_assign(variable.value)
    distribution.set_distribution(
        distribution.ModelParallel(layout_map=layouts, batch_dim_name="batch", auto_shard_dataset=False)
    )

    def undo() -> None:
        distribution.set_distribution(None)
        for variable in model.variables:
            variable._layout = None
            variable._direct_assign(jax.device_put(variable.value, jax.local_devices()[0]))

    return plan, undo


def _require_ready(model: Any, current: Any) -> None:
    where = user_location()
    if not model.built or not model.variables:
        raise InvalidArgumentError(
            "place: the model has no weights yet", where=where, remedy="give it an Input, or call model.build(shape)"
        )
    if getattr(getattr(model, "optimizer", None), "built", False):
        raise InvalidArgumentError(
            "place: the optimizer's variables lie on one device already", where=where,
            remedy="place the model before its first fit, and compile it again",
        )  # fmt: skip
    if current is not None:
        raise InvalidArgumentError(
            "place: the process has a distribution already", got=type(current).__name__, where=where,
            remedy='set up with strategy="one_device", or keras.distribution.set_distribution(None)',
        )  # fmt: skip
    if not all(hasattr(variable, "_direct_assign") for variable in model.variables):
        raise InvalidArgumentError(
            "place: this release of Keras moves variables otherwise", where=where,
            remedy="build the model under keras.distribution.ModelParallel yourself",
        )  # fmt: skip
