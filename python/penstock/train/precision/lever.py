"""The lever "precision" of `setup`: Keras' policy, and the name that raw loops go by."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from penstock.errors import MissingDependencyError
from penstock.machine.cpu import cpu_flags
from penstock.train.backend import Backend
from penstock.train.device.listing import DeviceList, devices
from penstock.train.precision.ability import Ability, Precision, best_precision, check_ability, parse_precision
from penstock.train.runtime import Change

_IN_RAW_LOOPS: Mapping[Backend, str] = {
    "tensorflow": "in raw loops, tf.cast by hand",
    "jax": "in raw loops, penstock.train.casting_policy(runtime)",
    "torch": "in raw loops, penstock.train.autocast(runtime)",
}


def set_precision(
    backend: Backend,
    precision: str | None = None,
    *,
    ability: Ability | None = None,
    modules: Mapping[str, Any] = sys.modules,
    environment: Mapping[str, str] = os.environ,
) -> tuple[str, tuple[Change, ...]]:
    """Compute in `precision`; returns its name, and what was changed. None: as it is; "auto": by what the devices have.

    Keras' policy is set if Keras is imported, or is what `backend` trains through (TensorFlow, or KERAS_BACKEND names
    it); layers made before keep theirs. PyTorch's and JAX' own loops ask for it: `autocast`, `casting_policy`.
    ability: of the devices, looked up if None. modules, environment: for tests.

    Raises: InvalidArgumentError: no such precision, or the device cannot compute in it.
    """
    keras = _keras(backend, modules, environment, is_wanted=precision is not None)
    if precision is None:
        return ("float32" if keras is None else str(keras.config.dtype_policy().name)), ()
    asked = parse_precision(precision)
    can = ability or find_ability(devices(backend))
    if asked == "auto":
        name, why = best_precision(can)
    else:
        name, why = asked, check_ability(asked, can)
    if keras is None:
        told = f"{why}; {_IN_RAW_LOOPS[backend]}" if why else _IN_RAW_LOOPS[backend]
        return name, (Change(lever="precision", text=name, why=told, kept="nothing global was changed"),)
    return name, (_set_policy(keras, name, why),)


def _set_policy(keras: Any, name: Precision, why: str) -> Change:
    before = keras.config.dtype_policy()
    if before.name == name:
        return Change(lever="precision", text=f"Keras' policy {name}", outcome="not needed", why="it is so already")
    keras.config.set_dtype_policy(name)

    def undo() -> None:
        keras.config.set_dtype_policy(before)

    return Change(lever="precision", text=f"Keras' policy {name}", why=why, undo=undo)


def _keras(backend: Backend, modules: Mapping[str, Any], environment: Mapping[str, str], is_wanted: bool) -> Any:
    """Keras if it trains on `backend`; imported only where it is wanted and nothing else could be meant."""
    keras = modules.get("keras")
    if keras is None and is_wanted and (backend == "tensorflow" or environment.get("KERAS_BACKEND") == backend):
        try:
            import keras  # type: ignore[no-redef]  # the one that is imported already stands for it
        except ImportError as error:
            if backend == "tensorflow":  # which has no mixed precision of its own
                raise MissingDependencyError("setup: precision needs Keras", remedy="pip install keras") from error
    if keras is None or not hasattr(keras, "config") or keras.config.backend() != backend:
        return None
    return keras


def find_ability(listed: DeviceList) -> Ability:
    """What the devices of a list can do together."""
    kinds = {_kind(device.name, device.kind) for device in listed}
    if "tpu" in kinds:
        return Ability(kind="tpu")
    gpus = [device for device in listed if _kind(device.name, device.kind) == "gpu"]
    if not gpus:
        return Ability(kind="cpu", cpu_flags=cpu_flags())
    known = [(gpu.capability, gpu.kind) for gpu in gpus if gpu.capability is not None]
    if len(known) < len(gpus):
        return Ability(kind="gpu", name=gpus[0].kind)
    capability, name = min(known)
    return Ability(kind="gpu", name=name, capability=capability)


def _kind(name: str, kind: str) -> str:
    words = f"{name} {kind}".lower()
    return "tpu" if "tpu" in words else "cpu" if "cpu" in words else "gpu"
