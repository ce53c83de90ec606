"""`place`: a model over devices by the names of its layers, where its framework can do that."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InvalidArgumentError, user_location
from penstock.train.placement.keras_jax import place_variables
from penstock.train.placement.plan import Plan
from penstock.train.placement.torch_modules import place_modules


@dataclass(frozen=True, slots=True)
class Placement:
    """What lies where (`plan`, which `print` shows); `undo()` takes it back to the first device."""

    plan: Plan
    undo: Callable[[], None] = field(compare=False, repr=False)

    def __str__(self) -> str:
        return str(self.plan)


def place(
    model: Any, rules: Mapping[str, Any], *, devices: Sequence[str] | None = None, verbose: bool = True
) -> Placement:
    """Lay the layers of `model` on several devices, and print parameters and bytes of each.

        penstock.train.place(model, {"embedding*": 0, "block_*": "split"})

    rules: patterns (as of `fnmatch`) of names of layers, or of what they lie in, each with a target. Each must name a
    layer, and each layer may be named once. devices: as the framework names them; None: all accelerators.

    - A PyTorch module: a target is a device's place in the list, or "split": the layers it names in their order, a run
      of them for each device, by bytes. Inputs of a layer move to its device, outputs of the model to the first;
      devices take turns, so this gains room, not speed. What the forward function of a model itself adds up across
      layers must be on one device; keep that inside of one layer.
    - A Keras model on JAX, built and not yet fitted: "split" cuts each weight along an axis over all devices, which
      compute together; "copy" has it on each, as what is not named. A layer to one device alone is not possible.
    - TensorFlow, and Keras on PyTorch: not possible, and said.

    Raises: InvalidArgumentError: a pattern that names nothing, a layer named twice, a target that is none, a framework
        that cannot.
    """
    where = user_location()
    if not rules:
        raise InvalidArgumentError("place: rules", got="none", expected="patterns with targets", where=where)
    keras: Any = sys.modules.get("keras")
    if keras is not None and isinstance(model, keras.Model):
        backend = keras.config.backend()
        if backend != "jax":
            raise _not_possible(backend)
        placed = Placement(*place_variables(model, rules, devices))
    elif "torch" in sys.modules and isinstance(model, sys.modules["torch"].nn.Module):
        placed = Placement(*place_modules(model, rules, _torch_devices() if devices is None else devices))
    else:
        raise InvalidArgumentError(
            "place: not a model", got=type(model).__name__, expected="a torch.nn.Module, or a Keras model on JAX",
            where=where,
        )  # fmt: skip
    if verbose:
        sys.stdout.write(f"{placed}\n")
    return placed


def _torch_devices() -> list[str]:
    cuda = sys.modules["torch"].cuda
    return [f"cuda:{n}" for n in range(cuda.device_count())] or ["cpu"]


def _not_possible(backend: str) -> InvalidArgumentError:
    why = {
        "tensorflow": "a variable of TensorFlow stays on the device where it was made",
        "torch": "Keras on PyTorch moves all tensors to one device before each layer",
    }
    return InvalidArgumentError(
        f"place: not possible with Keras on {backend}: {why.get(backend, 'it has no way to')}", where=user_location(),
        remedy='use KERAS_BACKEND=jax, or a module of PyTorch; to spread batches instead, setup(strategy="auto")',
    )  # fmt: skip
