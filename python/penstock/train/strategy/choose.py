"""Which strategy a process trains under: what was said, else what its devices and the processes beside it call for.

The modules of this folder that are named after a framework build them. Each has `local_devices()`, the names of what
this process would train on, found without starting the framework where that can be, and a function for each strategy of
`STRATEGIES`, which takes a `Wish` and returns the `Strategy` and what was changed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from penstock.adapters.world import World, detect_world
from penstock.errors import InvalidArgumentError
from penstock.train.backend import Backend
from penstock.train.runtime import Change
from penstock.train.strategy.chosen import NAMES, Name, Strategy

STRATEGIES: Mapping[Backend, tuple[Name, ...]] = {
    "tensorflow": ("one_device", "mirrored", "multi_worker"),
    "jax": ("one_device", "data_parallel", "model_parallel"),
    "torch": ("one_device", "ddp"),
}
_ONE_PROCESS: frozenset[Name] = frozenset({"one_device", "mirrored"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What was asked of a strategy.

    world: this process among others. cross_device_ops, devices: None: the strategy's own choice. layout: the
    framework's own (a `keras.distribution.LayoutMap`), of "model_parallel" only.
    """

    world: World
    cross_device_ops: str | None = None
    devices: tuple[str, ...] | None = None
    layout: Any = None


def choose(
    backend: Backend,
    strategy: str = "auto",
    cross_device_ops: str | None = None,
    devices: Sequence[str] | None = None,
    layout: Any = None,
) -> tuple[Strategy, tuple[Change, ...]]:
    """Build `strategy` on `backend`; "auto": all devices of this process, and all processes that were started with it.

    Raises: InvalidArgumentError: a name that does not exist, or not on this backend; several processes under a strategy
        of one; `cross_device_ops` or `layout` where nothing would follow from them.
    """
    said = None if devices is None else tuple(devices)
    if said is not None and (not said or len(set(said)) != len(said)):
        raise InvalidArgumentError("setup: devices", got=repr(list(said)), expected="names, none of them twice")
    world = detect_world()
    name = resolve(backend, strategy, lambda: len(_local_devices(backend) if said is None else said), world)
    _check(name, cross_device_ops, layout)
    if name == "one_device":
        names = said or ("the default device",)
        if len(names) > 1:
            raise InvalidArgumentError("setup: devices of 'one_device'", got=repr(list(names)), expected="one")
        return Strategy(name=name, backend=backend, devices=names), ()
    wish = Wish(world=world, cross_device_ops=cross_device_ops, devices=said, layout=layout)
    built: tuple[Strategy, tuple[Change, ...]] = getattr(_module(backend), name)(wish)
    return built


def resolve(backend: Backend, strategy: str, count_devices: Callable[[], int], world: World) -> Name:
    """The strategy's name. `count_devices` is asked only where its answer matters: asking may start the framework.

    Raises: as `choose`.
    """
    exist = STRATEGIES[backend]
    if strategy != "auto":
        if strategy not in exist:
            known = f"exists on {_others(strategy)} only" if strategy in NAMES else "no strategy of this name"
            raise InvalidArgumentError(
                f"setup: strategy on {backend}", got=f"{strategy!r} ({known})",
                expected=f'"auto" or one of {", ".join(map(repr, exist))}',
            )  # fmt: skip
        name: Name = strategy
        if world.size > 1 and name in _ONE_PROCESS:
            raise InvalidArgumentError(
                f"setup: strategy {name!r} is that of a single process",
                got=f"rank {world.rank} of {world.size} ({world.source})",
                expected=f'"auto" or {", ".join(repr(other) for other in exist if other not in _ONE_PROCESS)}',
            )  # fmt: skip
        return name
    if backend == "torch":
        return "ddp" if world.size > 1 else "one_device"
    if backend == "jax":
        return "data_parallel" if world.size > 1 or count_devices() > 1 else "one_device"
    if world.size > 1:
        return "multi_worker"
    return "mirrored" if count_devices() > 1 else "one_device"


def _check(name: Name, cross_device_ops: str | None, layout: Any) -> None:
    if name == "one_device" and cross_device_ops is not None:
        raise InvalidArgumentError(
            "setup: cross_device_ops, and one device has nothing to add up", got=repr(cross_device_ops)
        )
    if (layout is None) == (name == "model_parallel"):
        raise InvalidArgumentError(
            f"setup: layout, under {name!r}", got="none" if layout is None else repr(layout),
            expected="which variable is split over which axis of the devices" if layout is None else "none",
            remedy="" if layout is None else 'strategy="model_parallel" takes it',
        )  # fmt: skip


def _others(strategy: str) -> str:
    return " and ".join(backend for backend, names in STRATEGIES.items() if strategy in names)


def _local_devices(backend: Backend) -> tuple[str, ...]:
    names: tuple[str, ...] = _module(backend).local_devices()
    return names


def _module(backend: Backend) -> Any:
    return import_module(f"penstock.train.strategy.{backend}")
