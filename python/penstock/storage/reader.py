"""Many requests at once, each tried as often as it may be: what all of `penstock` that reads URLs goes through."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from penstock.errors import ReadError, may_pass
from penstock.storage.attempts import Attempts
from penstock.storage.client import Client, Listed, ObjectFacts
from penstock.storage.gathering import Gathering
from penstock.storage.lane import Lane
from penstock.storage.ranges import Joined, Request, coalesced
from penstock.storage.url import shown

if TYPE_CHECKING:
    from penstock.storage.cache import DiskCache

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class _Asked:
    """What was asked for at once, what it gives, and by place what describes the objects that were read for it."""

    requests: Sequence[Request]
    gathering: Gathering[bytes]
    facts: dict[int, ObjectFacts] = field(default_factory=dict)

    def keep(self, cache: DiskCache) -> None:
        """Keep what was read. Few threads wait, and many make requests: those would queue up for the cache's lock."""
        for place, facts in self.facts.items():
            data = self.gathering.results[place]
            if isinstance(data, bytes):
                cache.keep(self.requests[place], data, facts)


class Reader:
    """Reads for all pipelines of a process that say the same options. Safe to call from several threads.

    gap_bytes: ranges of one object at most so far apart are one request. cache: where bytes are kept, None: nowhere.
    """

    def __init__(
        self, client: Client, lane: Lane, attempts: Attempts, *, gap_bytes: int, cache: DiskCache | None = None
    ) -> None:
        self._client = client
        self._lane = lane
        self._attempts = attempts
        self._gap_bytes = gap_bytes
        self._cache = cache

    def start(self, requests: Sequence[Request]) -> Gathering[bytes]:
        """Have `requests` made, those first that come first; returns at once. What is in the cache is there then."""
        results: list[bytes | Exception | None] = [None] * len(requests)
        missing: list[int] = []
        joined: list[Joined] = []
        for place, request in enumerate(requests):
            if self._cache is None:
                missing.append(place)
            elif (kept := self._cache.trusted(request)) is not None:
                results[place] = kept
            elif self._cache.has(request):
                joined.append(Joined(request, (place,)))  # if it is still as it was, nothing is read
            else:
                missing.append(place)
        joined += coalesced(requests, missing, self._gap_bytes)
        asked = _Asked(requests, Gathering(results, len(joined), self._lane.closed))
        self._lane.add([partial(self._run, asked, each) for each in joined])
        if self._cache is not None and joined:
            asked.gathering.afterwards = partial(asked.keep, self._cache)
        return asked.gathering

    def facts(self, urls: Sequence[str]) -> Gathering[ObjectFacts]:
        """What describes each object; returns at once."""
        gathering: Gathering[ObjectFacts] = Gathering([None] * len(urls), len(urls), self._lane.closed)

        def run(place: int, url: str) -> None:
            try:
                gathering.results[place] = self._try(partial(self._client.head, url), url, gathering.cancelled)
            except BaseException as error:  # noqa: BLE001  # raised where the result is asked for
                gathering.results[place] = _as_exception(error, url)
            finally:
                gathering.ended()

        self._lane.add([partial(run, place, url) for place, url in enumerate(urls)])
        return gathering

    def names(self, root: str, prefix: str, *, deep: bool, cancelled: threading.Event) -> list[Listed]:
        """The objects in folder `prefix` of the store at `root`; in the calling thread.

        Raises: ReadError.
        """
        return self._try(lambda: list(self._client.names(root, prefix, deep=deep)), f"{root}/{prefix}", cancelled)

    def _run(self, asked: _Asked, joined: Joined) -> None:
        try:
            self._fetch(asked, joined)
        finally:
            asked.gathering.ended()

    def _fetch(self, asked: _Asked, joined: Joined) -> None:
        request, results = joined.request, asked.gathering.results
        try:
            data, facts = self._get(request, asked.gathering.cancelled)
        except BaseException as error:  # noqa: BLE001  # raised where the result is asked for; a panic of Rust's too
            if isinstance(error, ReadError) and len(joined.places) > 1 and not may_pass(error):
                for place in joined.places:  # one of them may be past the end: then that one fails alone
                    self._fetch(asked, Joined(asked.requests[place], (place,)))
                return
            for place in joined.places:
                results[place] = _as_exception(error, request.url)
            return
        for place in joined.places:
            wanted = asked.requests[place]
            first, last = wanted.start - request.start, (wanted.stop or 0) - request.start
            results[place] = data if len(joined.places) == 1 else data[first:last]
            if facts is not None:
                asked.facts[place] = facts

    def _get(self, request: Request, cancelled: threading.Event) -> tuple[bytes, ObjectFacts | None]:
        """The bytes, and what describes the object if they have just been read."""
        url = request.url
        if self._cache is not None:
            kept = self._cache.checked(request, lambda: self._try(partial(self._client.head, url), url, cancelled))
            if kept is not None:
                return kept, None
        tells = request.pinned is not None or self._cache is not None

        def ask() -> tuple[bytes, ObjectFacts | None]:
            return self._client.get(url, request.start, request.stop, request.pinned, tells=tells)

        return self._try(ask, url, cancelled)

    def _try(self, ask: Callable[[], T], url: str, cancelled: threading.Event) -> T:
        return self._attempts.run(ask, url, cancelled)


def _as_exception(error: BaseException, url: str) -> Exception:
    if isinstance(error, Exception):
        return error
    return ReadError("reading the object broke off", got=f"{type(error).__name__}: {error}", where=shown(url))
