"""Where each weight is to lie, from names, shapes and dtypes alone.

Two ways, for frameworks differ. *Whole layers*: a layer lies on one device, and "split" deals the layers that a pattern
names out in their order, each device a run of them, such that the fullest device has as little as can be. *Shards*:
"split" cuts each weight along one axis over all devices, and what is not named, or cannot be cut, is copied to each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError, user_location
from penstock.train.placement.patterns import Named, listed, match
from penstock.units import format_bytes


@dataclass(frozen=True, slots=True)
class Weight:
    """A variable or parameter: its layer's name, its own, and its size."""

    layer: str
    name: str
    shape: tuple[int, ...]
    itemsize: int

    @property
    def count(self) -> int:
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True)
class Held:
    """Where a weight lies: on one device (its place in the list), cut along an axis over all, or on each (neither)."""

    weight: Weight
    unit: str
    device: int | None = None
    axis: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where all weights lie; prints parameters and bytes of each device.

    unnamed: layers that no pattern names. uncut: weights that were to be split and have no axis that divides.
    """

    devices: tuple[str, ...]
    held: tuple[Held, ...]
    unnamed: tuple[str, ...] = ()
    uncut: tuple[str, ...] = ()

    def load(self, device: int) -> tuple[int, int]:
        """Parameters and bytes on a device."""
        counts = [(_share(one, device, len(self.devices)), one.weight.itemsize) for one in self.held]
        return sum(count for count, _ in counts), sum(count * size for count, size in counts)

    def __str__(self) -> str:
        width = max(len(name) for name in self.devices)
        lines = [f"placement over {len(self.devices)} device{'s' if len(self.devices) != 1 else ''}"]
        for number, name in enumerate(self.devices):
            count, size = self.load(number)
            lines.append(f"  {name:<{width}}  {count:>13,} parameters  {format_bytes(size):>10}")
        is_sharded = any(one.device is None for one in self.held)
        if self.unnamed:
            rest = "copied to each device" if is_sharded else f"on {self.devices[0]}"
            lines.append(f"  no pattern names {listed(self.unnamed)}: {rest}")
        if self.uncut:
            lines.append(f"  no axis divides by {len(self.devices)} in {listed(self.uncut)}: copied to each device")
        return "\n".join(lines)


def _share(one: Held, device: int, devices: int) -> int:
    if one.device is not None:
        return one.weight.count if one.device == device else 0
    return one.weight.count if one.axis is None else one.weight.count // devices


def plan_layers(weights: Sequence[Weight], rules: Mapping[str, Any], devices: Sequence[str], separator: str) -> Plan:
    """Whole layers on devices: a target is a place in `devices`, or "split"; what is not named is on the first.

    Raises: InvalidArgumentError: another target, a pattern that names nothing, or a layer that two name.
    """
    for pattern, target in rules.items():
        is_number = type(target) is int and 0 <= target < len(devices)
        if not is_number and target != "split":
            raise InvalidArgumentError(
                f"place: the target of {pattern!r}", got=repr(target), where=user_location(),
                expected=f'a device from 0 to {len(devices) - 1} ({", ".join(devices)}), or "split"',
            )  # fmt: skip
    layers = list(dict.fromkeys(weight.layer for weight in weights))
    named = match(layers, rules, separator)
    bytes_of: dict[str, int] = {}
    for weight in weights:
        unit = named[weight.layer].unit if weight.layer in named else weight.layer
        bytes_of[unit] = bytes_of.get(unit, 0) + weight.count * weight.itemsize
    fixed = {unit.unit: unit.target for unit in named.values() if unit.target != "split"}
    fixed |= {layer: 0 for layer in layers if layer not in named}
    dealt = list(dict.fromkeys(named[layer].unit for layer in layers if layer in named and _is_split(named[layer])))
    loads = [sum(bytes_of[unit] for unit, device in fixed.items() if device == n) for n in range(len(devices))]
    runs = dict(zip(dealt, contiguous_runs([bytes_of[unit] for unit in dealt], loads), strict=True))
    held = []
    for weight in weights:
        unit = named[weight.layer].unit if weight.layer in named else weight.layer
        held.append(Held(weight, unit, device=runs[unit] if unit in runs else fixed[unit]))
    unnamed = tuple(layer for layer in layers if layer not in named)
    return Plan(devices=tuple(devices), held=tuple(held), unnamed=unnamed)


def _is_split(one: Named) -> bool:
    return bool(one.target == "split")


def plan_shards(weights: Sequence[Weight], rules: Mapping[str, Any], devices: Sequence[str], separator: str) -> Plan:
    """Each weight cut over all devices ("split") or copied to each ("copy", and what is not named).

    Raises: InvalidArgumentError: another target, a pattern that names nothing, or a layer that two name.
    """
    for pattern, target in rules.items():
        if target not in ("split", "copy"):
            raise InvalidArgumentError(
                f"place: the target of {pattern!r}", got=repr(target), expected='"split" or "copy"',
                where=user_location(),
                remedy="one program runs on all devices here, so none has a layer to itself; a layer that is small is "
                'copied to each: "copy"',
            )  # fmt: skip
    layers = list(dict.fromkeys(weight.layer for weight in weights))
    named = match(layers, rules, separator)
    held, uncut = [], []
    for weight in weights:
        is_cut = weight.layer in named and _is_split(named[weight.layer])
        axis = axis_to_cut(weight.shape, len(devices)) if is_cut else None
        if is_cut and axis is None:
            uncut.append(weight.name)
        held.append(Held(weight, weight.layer, axis=axis))
    unnamed = tuple(layer for layer in layers if layer not in named)
    return Plan(devices=tuple(devices), held=tuple(held), unnamed=unnamed, uncut=tuple(uncut))


def axis_to_cut(shape: Sequence[int], parts: int) -> int | None:
    """The last axis that divides into `parts` (of a kernel, its outputs); None: none does."""
    return next((axis for axis in reversed(range(len(shape))) if shape[axis] and shape[axis] % parts == 0), None)


def contiguous_runs(sizes: Sequence[int], loads: Sequence[int]) -> list[int]:
    """For each size a device, never before that of the size before, so that the largest load is as small as can be.

    loads: what devices hold already. Cost: some sixty passes over `sizes`.
    """
    low, high = 0, sum(sizes) + max(loads)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if _filled(sizes, loads, middle) is not None else (middle + 1, high)
    runs = _filled(sizes, loads, low)
    return runs if runs is not None else [0] * len(sizes)


def _filled(sizes: Sequence[int], loads: Sequence[int], most: int) -> list[int] | None:
    device, room, runs = 0, most - loads[0], []
    for size in sizes:
        while size > room:
            device += 1
            if device == len(loads):
                return None
            room = most - loads[device]
        room -= size
        runs.append(device)
    return runs
