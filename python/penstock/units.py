"""Quantities with their units: bytes as people write them, and as people read them."""

from __future__ import annotations

import re

from penstock.errors import InvalidArgumentError

_SCALE = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}
_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", re.IGNORECASE)


def parse_bytes(quantity: int | str) -> int:
    """Bytes of `4096`, `"4 GiB"`, `"512MB"`, `"1.5g"`. Raises: InvalidArgumentError."""
    if isinstance(quantity, int) and not isinstance(quantity, bool) and quantity >= 0:
        return quantity
    match = _PATTERN.fullmatch(quantity) if isinstance(quantity, str) else None
    if match is None:
        raise InvalidArgumentError(
            "not a number of bytes", got=repr(quantity), expected='an integer >= 0, or text like "4 GiB" or "500 MB"'
        )
    return int(float(match[1]) * _SCALE[(match[2] or "").lower()])


def format_bytes(count: float) -> str:
    """`count` bytes for a person: `format_bytes(1536)` is `"1.5 KiB"`."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(count) < 1024:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} TiB"


def format_seconds(seconds: float) -> str:
    """`seconds` for a person: `"1.2 s"`, `"3.4 ms"`, `"5.6 us"`."""
    for unit, scale in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(seconds) >= scale:
            return f"{seconds / scale:.1f} {unit}"
    return f"{seconds / 1e-9:.0f} ns"
