"""What is asked of the devices, as plain data, checked without looking at any."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError
from penstock.units import format_bytes, parse_bytes

Memory = int | str | tuple[int | str, ...]
"""`"growth"`, a limit in bytes (`4 * 2**30` or `"4 GiB"`), or both where a framework takes both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """grow: take memory as it is needed, not all at once.

    limit_bytes: at most, on each device. visible: the only devices to use, by their number among those of this
    process; (): none, that is, the CPU. logical: how many logical devices each device, or the CPU, is to show as.
    """

    grow: bool = False
    limit_bytes: int | None = None
    visible: tuple[int, ...] | None = None
    logical: int | None = None

    @property
    def memory_text(self) -> str:
        """What was asked of memory, for a person; "" for nothing."""
        parts = ["memory growth"] if self.grow else []
        parts += [f"a limit of {format_bytes(self.limit_bytes)}"] if self.limit_bytes is not None else []
        return " and ".join(parts)


def parse_request(
    memory: Memory | None = None, visible: Iterable[int] | None = None, logical: int | None = None
) -> Request:
    """The request that these arguments of `configure` make. Raises: InvalidArgumentError."""
    grow, limit = False, None
    for word in () if memory is None else memory if isinstance(memory, tuple) else (memory,):
        if word == "growth":
            grow = True
        else:
            limit = _limit(word)
    numbers = None if visible is None else _numbers(visible)
    if logical is not None and (type(logical) is not int or logical < 1):
        raise InvalidArgumentError("devices: logical", got=repr(logical), expected="an integer >= 1, or None")
    return Request(grow=grow, limit_bytes=limit, visible=numbers, logical=logical)


def _limit(word: int | str) -> int:
    try:
        limit = parse_bytes(word)
    except InvalidArgumentError:
        limit = 0
    if limit < 2**20:
        raise InvalidArgumentError(
            "devices: memory", got=repr(word), expected='"growth", or a limit of at least 1 MiB as bytes or "4 GiB"'
        )
    return limit


def _numbers(visible: Any) -> tuple[int, ...]:
    numbers = tuple(visible) if isinstance(visible, Iterable) and not isinstance(visible, str) else None
    if numbers is None or any(type(n) is not int or n < 0 for n in numbers) or len({*numbers}) < len(numbers):
        raise InvalidArgumentError(
            "devices: visible", got=repr(visible), expected="numbers of devices, each once, as [0, 2]; [] for none"
        )
    return numbers
