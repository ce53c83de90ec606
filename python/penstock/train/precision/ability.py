"""Which precision a device can compute in, and which is best: tables over what the device says of itself.

Sources: CUDA C++ programming guide, compute capabilities: float16 arithmetic from 5.3, tensor cores for float16 from
7.0 and for bfloat16 from 8.0; Intel AMX, flag amx_bf16; Keras' guide on mixed precision for TPUs.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from penstock.errors import InvalidArgumentError

Precision = Literal["float32", "mixed_float16", "mixed_bfloat16", "bfloat16"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

_HALF_ARITHMETIC = (5, 3)
_HALF_CORES = (7, 0)
_BRAIN_CORES = (8, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ability:
    """What the devices that train can do: of several, the least.

    kind: "gpu", "tpu" or "cpu". name: as people know it. capability: of an NVIDIA GPU; None: not known. cpu_flags: as
    /proc/cpuinfo has them.
    """

    kind: Literal["gpu", "tpu", "cpu"]
    name: str = ""
    capability: tuple[int, int] | None = None
    cpu_flags: frozenset[str] = frozenset()

    def __str__(self) -> str:
        named = self.name or self.kind
        return (
            named
            if self.capability is None
            else f"{named}, compute capability {self.capability[0]}.{self.capability[1]}"
        )


def parse_precision(precision: str) -> Precision | Literal["auto"]:
    """`precision`, if it exists. Raises: InvalidArgumentError."""
    known: dict[str, Precision | Literal["auto"]] = {"auto": "auto", **{name: name for name in PRECISIONS}}
    if precision not in known:
        raise InvalidArgumentError(
            "setup: precision", got=repr(precision), expected=f'"auto" or one of {", ".join(map(repr, PRECISIONS))}'
        )
    return known[precision]


def best_precision(ability: Ability) -> tuple[Precision, str]:
    """The fastest precision that trains as float32 does, and why it is that."""
    if ability.kind == "tpu":
        return "mixed_bfloat16", "a TPU multiplies in bfloat16"
    if ability.kind == "cpu":
        if "amx_bf16" in ability.cpu_flags:
            return "mixed_bfloat16", "the CPU multiplies tiles of bfloat16 (AMX)"
        return "float32", "the CPU has no AMX, and computes in half precision more slowly"
    if ability.capability is None:
        return "float32", f"what {ability} can do is not known"
    if ability.capability >= _BRAIN_CORES:
        return "mixed_bfloat16", f"tensor cores for bfloat16, which needs no loss scaling ({ability})"
    if ability.capability >= _HALF_CORES:
        return "mixed_float16", f"tensor cores for float16 ({ability})"
    return "float32", f"no tensor cores ({ability})"


def check_ability(precision: Precision, ability: Ability) -> str:
    """What to know of `precision` on the device, "" for nothing.

    Raises: InvalidArgumentError: the device cannot compute in it.
    """
    if precision == "float32":
        return ""
    half = precision == "mixed_float16"
    if ability.kind == "tpu" and half:
        raise _cannot(precision, ability, "mixed_bfloat16")
    if ability.kind == "gpu" and ability.capability is not None:
        if half and ability.capability < _HALF_ARITHMETIC:
            raise _cannot(precision, ability, "float32")
        if not half and ability.capability < _BRAIN_CORES:
            raise _cannot(precision, ability, "mixed_float16" if ability.capability >= _HALF_CORES else "float32")
        return "no tensor cores: not faster than float32" if ability.capability < _HALF_CORES else ""
    if ability.kind == "cpu" and (half or "amx_bf16" not in ability.cpu_flags):
        return "on this CPU not faster than float32, often slower"
    return ""


def _cannot(precision: Precision, ability: Ability, instead: Precision) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"setup: this device cannot compute in {precision!r}", got=str(ability),
        expected={"mixed_float16": "compute capability 5.3 or more, or a CPU"}.get(
            precision, "compute capability 8.0 or more, a TPU or a CPU"
        ),
        remedy=f'say precision="{instead}", or "auto"',
    )  # fmt: skip
