"""Which pattern names which layer: each pattern at least one, each layer one pattern at most."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from penstock.errors import InvalidArgumentError, user_location

_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Named:
    """A layer that a pattern names: itself, or what it lies in (`unit`), which goes as a whole."""

    unit: str
    target: Any


def match(names: Sequence[str], rules: Mapping[str, Any], separator: str) -> dict[str, Named]:
    """The layers that patterns name. A pattern (as of `fnmatch`) is held against a layer's name and all it lies in.

    Raises: InvalidArgumentError: a pattern that names no layer, or a layer that two name.
    """
    where = user_location()
    found: dict[str, Named] = {}
    used: set[str] = set()
    for name in names:
        units = {pattern: unit for pattern in rules if (unit := _unit(name, pattern, separator)) is not None}
        if len(units) > 1:
            one, other = list(units)[:2]
            raise InvalidArgumentError(
                f"place: two patterns name the layer {name!r}", got=f"{one!r} and {other!r}", expected="one at most",
                where=where, remedy="make them narrower",
            )  # fmt: skip
        for pattern, unit in units.items():
            used.add(pattern)
            found[name] = Named(unit, rules[pattern])
    missed = [pattern for pattern in rules if pattern not in used]
    if missed:
        raise InvalidArgumentError(
            f"place: no layer is named by {', '.join(map(repr, missed))}",
            expected=f"one of {listed(names)}",
            where=where,
        )
    return found


def _unit(name: str, pattern: str, separator: str) -> str | None:
    """The outermost of what `name` lies in, or itself, that `pattern` names."""
    parts = name.split(separator)
    whole = (separator.join(parts[: count + 1]) for count in range(len(parts)))
    return next((unit for unit in whole if fnmatchcase(unit, pattern)), None)


def listed(names: Iterable[str]) -> str:
    """Names for a message: some of them, and how many more."""
    every = list(names)
    more = f" and {len(every) - _SHOWN} more" if len(every) > _SHOWN else ""
    return ", ".join(every[:_SHOWN]) + more
