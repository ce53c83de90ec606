"""An object read from its start to its end, with the next pieces under way while one is worked on."""

from __future__ import annotations

from collections import deque

from penstock.storage.client import ObjectFacts
from penstock.storage.gathering import Gathering
from penstock.storage.objects import awaited, given
from penstock.storage.process import reader_for
from penstock.storage.ranges import Request
from penstock.storage.surroundings import surroundings

FIRST_BYTES = 256 * 1024
MOST_BYTES = 4 * 2**20
AHEAD = 4


class ObjectStream:
    """The `read` and `close` of a file, over an object that must stay what it was.

    Pieces begin small, so that the first bytes come soon, and double up to MOST_BYTES; AHEAD of them are under way or
    wait, so a stream holds 16 MiB at most. Not for several threads at once.
    """

    def __init__(self, url: str, facts: ObjectFacts, start: int = 0) -> None:
        self._url = url
        self._facts = facts
        self._asked = start  # bytes, from the start of the object
        self._piece_bytes = FIRST_BYTES
        self._coming: deque[Gathering[bytes]] = deque()
        self._data = memoryview(b"")

    def read(self, size: int = -1) -> bytes:
        """Up to `size` bytes, of one piece at most (all of it for -1); none at the end. Raises: ReadError."""
        while not self._data:
            self._ask()
            if not self._coming:
                return b""
            self._data = memoryview(given(awaited(self._coming[0], surroundings(), together=True)[0]))
            self._coming.popleft()
        taken = len(self._data) if size < 0 else size
        data, self._data = bytes(self._data[:taken]), self._data[taken:]
        return data

    def _ask(self) -> None:
        reader = reader_for(surroundings().options)
        while len(self._coming) < AHEAD and self._asked < self._facts.size:
            stop = min(self._facts.size, self._asked + self._piece_bytes)
            self._coming.append(reader.start([Request(self._url, self._asked, stop, self._facts)]))
            self._asked = stop
            self._piece_bytes = min(2 * self._piece_bytes, MOST_BYTES)

    def close(self) -> None:
        """Give up what is under way."""
        for gathering in self._coming:
            gathering.cancel()
        self._coming.clear()
        self._data = memoryview(b"")
        self._asked = self._facts.size
