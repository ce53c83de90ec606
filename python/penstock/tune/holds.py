"""Hysteresis: what was tried in vain is not tried again soon, and what was taken away wrongly stays a while."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.tune.values import Knob

Place = tuple[str, Knob]

_FIRST_GROWTH_S = 5.0
_FIRST_SHRINKING_S = 30.0
_MOST_S = 600.0
REGRET_S = 10.0


@dataclass(slots=True)
class _Hold:
    until_s: float = float("-inf")
    times: int = 0

    def again(self, at_s: float, first_s: float) -> None:
        self.until_s = at_s + min(_MOST_S, first_s * 2.0**self.times)
        self.times += 1


@dataclass(frozen=True, slots=True)
class Shrunk:
    """A knob was turned down from `before` at that moment."""

    before: int
    at_s: float


class Holds:
    """Until when each knob is left alone, each time twice as long as before."""

    def __init__(self) -> None:
        self._grows: dict[Place, _Hold] = {}
        self._shrinks: dict[Place, _Hold] = {}
        self._shrunk: dict[Place, Shrunk] = {}

    def failed(self, place: Place, at_s: float) -> None:
        """Turning it up did not help."""
        self._grows.setdefault(place, _Hold()).again(at_s, _FIRST_GROWTH_S)

    def may_grow(self, place: Place, at_s: float) -> bool:
        return place not in self._grows or at_s >= self._grows[place].until_s

    def shrank(self, place: Place, before: int, at_s: float) -> None:
        """It was turned down."""
        self._shrunk[place] = Shrunk(before, at_s)

    def may_shrink(self, place: Place, at_s: float) -> bool:
        return place not in self._shrinks or at_s >= self._shrinks[place].until_s

    def regretted(self, at_s: float) -> list[tuple[Place, int]]:
        """The consumer starves: what was turned down just before, and from where; it stays up for a while then."""
        found = [(place, shrunk.before) for place, shrunk in self._shrunk.items() if at_s - shrunk.at_s <= REGRET_S]
        self._shrunk.clear()
        for place, _ in found:
            self._shrinks.setdefault(place, _Hold()).again(at_s, _FIRST_SHRINKING_S)
        return found
