"""The devices of this process: as the framework names them, with what NVML says of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock.machine.cards import Card, CardUser
from penstock.machine.nvml import read_cards
from penstock.train.backend import Backend, resolve_backend
from penstock.train.device.on_jax import is_initialised
from penstock.units import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """One device now; None: not known, because nothing tells it.

    name: the framework's ("GPU:0", "cuda:0", "TFRT_CPU_0"). kind: what it is ("NVIDIA H200", "cpu"). memory: of the
    whole device, whoever holds it. users: processes that compute on it.
    """

    name: str
    kind: str
    uuid: str = ""
    memory_used_bytes: int | None = None
    memory_total_bytes: int | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    capability: tuple[int, int] | None = None
    users: tuple[CardUser, ...] | None = None

    @property
    def memory_free_bytes(self) -> int | None:
        if self.memory_used_bytes is None or self.memory_total_bytes is None:
            return None
        return self.memory_total_bytes - self.memory_used_bytes

    @property
    def other_users(self) -> tuple[CardUser, ...]:
        """Who uses it besides this process."""
        return tuple(user for user in self.users or () if not user.is_this_process)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceList:
    """The devices that `backend` trains on, in its order. notes: what is not known of them and why, each once."""

    backend: Backend
    devices: tuple[Device, ...]
    notes: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Device]:
        return iter(self.devices)

    def __len__(self) -> int:
        return len(self.devices)

    def __getitem__(self, place: int) -> Device:
        return self.devices[place]

    def __str__(self) -> str:
        head = ("device", "kind", "memory used", "free", "total", "temperature", "power", "used by")
        rows = [head, *(_row(device) for device in self.devices)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        return "\n".join([*lines, *self.notes])


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A device as a framework tells it; uuid "", capability None where it does not say.

    place: its number among the cards that CUDA lets this process see, which outlives `visible`; None: not said.
    """

    name: str
    kind: str
    is_gpu: bool
    uuid: str = ""
    capability: tuple[int, int] | None = None
    place: int | None = None


def devices(
    backend: str = "auto",
    *,
    cards: Callable[[], tuple[tuple[Card, ...], str]] = read_cards,
    modules: Mapping[str, Any] = sys.modules,
) -> DeviceList:
    """The devices that `backend` trains on, with memory, temperature, power and who uses them.

    Initialises nothing: of a framework that has not started, or is not imported, the GPUs are listed as NVML has them,
    under the names it will give them. cards, modules: what NVML tells and what is imported, for tests.

    Raises: InvalidArgumentError, MissingDependencyError: as `setup`. Cost: asks NVML, some 80 ms the first time.
    """
    chosen = resolve_backend(backend)
    found, why_none = cards()
    named = _NAMED[chosen](modules.get(chosen)) if chosen in modules else None
    return arrange(chosen, named, found, why_none)


def arrange(
    backend: Backend, named: tuple[Named, ...] | None, cards: tuple[Card, ...], why_none: str = ""
) -> DeviceList:
    """The framework's devices with the cards that they are; named: None: the framework has not started."""
    notes = [why_none] if why_none else []
    if named is None:
        notes.append(f"{backend} has not started: these are the names it will give")
        kinds = [Named(name=_PREFIX[backend].format(n), kind="", is_gpu=True) for n in range(len(cards))]
        named = tuple(kinds) or (Named(name="cpu", kind="cpu", is_gpu=False),)
    gpus = [each for each in named if each.is_gpu]
    by_uuid = {_bare(card.uuid): card for card in cards if card.uuid}
    of: dict[str, Card] = {each.name: by_uuid[_bare(each.uuid)] for each in gpus if _bare(each.uuid) in by_uuid}
    places = [each.place for each in gpus if each.place is not None and each.place < len(cards)]
    if not of and gpus and len(gpus) in (len(cards), len(places)):
        numbers = places if len(places) == len(gpus) else range(len(cards))
        of = {each.name: cards[number] for each, number in zip(gpus, numbers, strict=True)}
        if len({card.reading.name for card in cards}) > 1:
            notes.append(
                f"{backend} does not say which card is which: CUDA_DEVICE_ORDER=PCI_BUS_ID makes the order NVML's"
            )
    elif len(of) < len(gpus) and cards:
        notes.append(f"{backend} has {len(gpus)} GPUs and NVML {len(cards)}: those that do not match tell nothing")
    elif cards and not gpus:
        notes.append(f"{backend} uses none of the {len(cards)} GPUs that NVML sees")
    if not of:
        notes.append("the memory of these devices is not known: " + ("no GPU" if not gpus else "no telemetry"))
    return DeviceList(
        backend=backend, devices=tuple(_joined(each, of.get(each.name)) for each in named), notes=tuple(notes)
    )


def _joined(named: Named, card: Card | None) -> Device:
    device = Device(name=named.name, kind=named.kind, capability=named.capability)
    if card is None:
        return device
    reading = card.reading
    return replace(
        device, kind=reading.name, uuid=card.uuid, memory_used_bytes=reading.memory_used_bytes,
        memory_total_bytes=reading.memory_total_bytes, temperature_c=reading.temperature_c, power_w=reading.power_w,
        capability=card.capability or named.capability, users=card.users,
    )  # fmt: skip


def _bare(uuid: str) -> str:
    return uuid.removeprefix("GPU-")


def _row(device: Device) -> tuple[str, ...]:
    used, free, total = device.memory_used_bytes, device.memory_free_bytes, device.memory_total_bytes
    users = ", ".join(_shown(user) for user in device.users or ())
    return (
        device.name, device.kind, *("-" if each is None else format_bytes(each) for each in (used, free, total)),
        "-" if device.temperature_c is None else f"{device.temperature_c:.0f} C",
        "-" if device.power_w is None else f"{device.power_w:.0f} W",
        users or ("nobody" if device.users is not None else "-"),
    )  # fmt: skip


def _shown(user: CardUser) -> str:
    who = "this process" if user.is_this_process else f"{user.name or 'process'} {user.pid}"
    return who if user.memory_bytes is None else f"{who} ({format_bytes(user.memory_bytes)})"


def _of_tensorflow(tf: Any) -> tuple[Named, ...]:
    physical = tf.config.get_visible_devices()
    gpus = tuple(each for each in physical if each.device_type == "GPU")
    told = {gpu.name: tf.config.experimental.get_device_details(gpu).get("compute_capability") for gpu in gpus}
    return tuple(
        Named(
            name=each.name.removeprefix("/physical_device:"), kind=each.device_type.lower(), is_gpu=each in gpus,
            capability=told.get(each.name), place=int(each.name.rpartition(":")[2]),
        )
        for each in gpus or physical
    )  # fmt: skip


def _of_jax(jax: Any) -> tuple[Named, ...] | None:
    if not is_initialised(jax):
        on_cpu = jax.config.jax_platforms == "cpu"
        return (Named(name="cpu", kind="cpu", is_gpu=False),) if on_cpu else None
    return tuple(
        Named(
            name=str(each), kind=each.device_kind, is_gpu=each.platform in ("gpu", "cuda", "rocm"),
            capability=_capability(getattr(each, "compute_capability", None)),
            place=getattr(each, "local_hardware_id", None),
        )
        for each in jax.local_devices()
    )  # fmt: skip


def _of_torch(torch: Any) -> tuple[Named, ...]:
    cuda = torch.cuda
    if not cuda.is_available():
        return (Named(name="cpu", kind="cpu", is_gpu=False),)
    asked = cuda.is_initialized()  # else asking for properties would initialise it
    return tuple(
        Named(
            name=f"cuda:{n}", kind="cuda", is_gpu=True,
            uuid=str(getattr(cuda.get_device_properties(n), "uuid", "")) if asked else "",
            capability=cuda.get_device_capability(n) if asked else None,
        )
        for n in range(cuda.device_count())
    )  # fmt: skip


def _capability(text: object) -> tuple[int, int] | None:
    """`"9.0"`, as XLA says it; AMD's ("gfx942") is none of CUDA's."""
    major, dot, minor = str(text).partition(".")
    return (int(major), int(minor)) if dot and major.isdecimal() and minor.isdecimal() else None


_NAMED: Mapping[Backend, Callable[[Any], tuple[Named, ...] | None]] = {
    "tensorflow": _of_tensorflow,
    "jax": _of_jax,
    "torch": _of_torch,
}
_PREFIX: Mapping[Backend, str] = {"tensorflow": "GPU:{}", "jax": "cuda:{}", "torch": "cuda:{}"}
