"""Ranges of one object that lie close together become one request: a gap costs less than a round trip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from penstock.storage.client import ObjectFacts

MOST_BYTES = 8 * 2**20  # of a joined request: longer ones are faster side by side


@dataclass(frozen=True, slots=True)
class Request:
    """Bytes from `start` to `stop` (None: to the end) of the object at `url`, if it is still what was `pinned`."""

    url: str
    start: int = 0
    stop: int | None = None
    pinned: ObjectFacts | None = None


@dataclass(frozen=True, slots=True)
class Joined:
    """One request, and the places in a list of requests of those it answers."""

    request: Request
    places: tuple[int, ...]


def coalesced(requests: Sequence[Request], places: Sequence[int], gap_bytes: int) -> list[Joined]:
    """The requests at `places`, each in exactly one that covers it; in the order of the first place of each.

    Two are joined if they overlap, touch, or are `gap_bytes` or less apart, and both end before the end of the object;
    none becomes longer than MOST_BYTES by it, so at most `gap_bytes` are read for nothing at each join.
    """
    alone: list[Joined] = []
    by_object: dict[tuple[str, ObjectFacts | None], list[int]] = {}
    for place in places:
        request = requests[place]
        if request.stop is None:
            alone.append(Joined(request, (place,)))
        else:
            by_object.setdefault((request.url, request.pinned), []).append(place)
    for (url, pinned), ours in by_object.items():
        ours.sort(key=lambda place: (requests[place].start, place))
        start, stop, taken = 0, 0, list[int]()
        for place in ours:
            first, last = requests[place].start, requests[place].stop or 0
            if taken and first - stop <= gap_bytes and max(stop, last) - start <= MOST_BYTES:
                stop = max(stop, last)
            else:
                if taken:
                    alone.append(Joined(Request(url, start, stop, pinned), tuple(taken)))
                start, stop, taken = first, last, []
            taken.append(place)
        alone.append(Joined(Request(url, start, stop, pinned), tuple(taken)))
    return sorted(alone, key=lambda joined: min(joined.places))
