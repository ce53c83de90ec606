"""Whole modules of PyTorch on devices, with hooks that move what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from penstock.errors import InvalidArgumentError, user_location
from penstock.train.placement.plan import Plan, Weight, plan_layers

_ROOT = "(the model's own)"


def place_modules(model: Any, rules: Mapping[str, Any], devices: Sequence[str]) -> tuple[Plan, Callable[[], None]]:
    """Move modules, and let each unit move its inputs to its device, and the model its outputs to the first device.

    What is returned takes the hooks away and moves all back to the first device. Raises: InvalidArgumentError: as
    `plan_layers`; two modules on different devices share a weight.
    """
    modules = dict(model.named_modules())
    plan = plan_layers(_weights(modules), rules, devices, ".")
    _require_one_device_each(modules, plan)
    model.to(devices[0])
    on = {one.unit: devices[one.device or 0] for one in plan.held}
    handles = []
    for unit, device in on.items():
        if unit != _ROOT:
            if unit not in plan.unnamed:
                modules[unit].to(device)
            handles.append(modules[unit].register_forward_pre_hook(_to_device(device), with_kwargs=True))
    handles.append(model.register_forward_hook(lambda module, given, result: moved(result, devices[0])))

    def undo() -> None:
        for handle in handles:
            handle.remove()
        model.to(devices[0])

    return plan, undo


def _weights(modules: Mapping[str, Any]) -> list[Weight]:
    """Each parameter and buffer of each module; one that another has, too, takes no room a second time."""
    seen: set[int] = set()
    found = []
    for name, module in modules.items():
        for part, tensor in [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]:
            shape = (0,) if id(tensor) in seen else tuple(tensor.shape)
            seen.add(id(tensor))
            found.append(Weight(name or _ROOT, f"{name}.{part}".lstrip("."), shape, tensor.element_size()))
    return found


def _require_one_device_each(modules: Mapping[str, Any], plan: Plan) -> None:
    devices = {one.weight.layer: one.device or 0 for one in plan.held}
    owners: dict[int, str] = {}
    for name, module in modules.items():
        for tensor in module.parameters(recurse=False):
            first = owners.setdefault(id(tensor), name or _ROOT)
            here, there = devices[name or _ROOT], devices[first]
            if here != there:
                raise InvalidArgumentError(
                    f"place: {first!r} and {name!r} share a weight", where=user_location(),
                    got=f"{plan.devices[there]} and {plan.devices[here]}", expected="one device for both",
                )  # fmt: skip


def _to_device(device: str) -> Callable[[Any, Any, Any], Any]:
    def hook(module: Any, arguments: Any, named: Any) -> Any:
        return moved(arguments, device), moved(named, device)

    return hook


def moved(value: Any, device: str) -> Any:
    """Each tensor in tuples, lists and dicts on `device`; where it is there already, itself."""
    if isinstance(value, dict):
        return type(value)((key, moved(part, device)) for key, part in value.items())
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(moved(part, device) for part in value))
    if isinstance(value, tuple | list):
        return type(value)(moved(part, device) for part in value)
    return value.to(device) if hasattr(value, "to") and hasattr(value, "device") else value
