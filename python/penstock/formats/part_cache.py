"""Pieces of files in memory, within a bound of bytes: read once by whoever comes first, let go when long not used."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Piece = TypeVar("Piece")


class PartCache(Generic[Key, Piece]):
    """Least recently used pieces go first. Threads that want the same pieces share the work of reading them.

    The bound is of what is kept here; who has been given a piece holds it as long as it likes.
    """

    def __init__(self, limit_bytes: int, load: Callable[[Key], tuple[Piece, int]]) -> None:
        """`load` gives a piece and its size in bytes; it is called outside any lock, for one key by one thread."""
        self._limit = limit_bytes
        self._load = load
        self._lock = threading.Condition()
        self._kept: OrderedDict[Key, tuple[Piece, int]] = OrderedDict()
        self._bytes = 0
        self._loading: set[Key] = set()
        self.loads = 0

    def get(self, keys: Sequence[Key]) -> list[Piece]:
        """The pieces. What another thread is reading is waited for last. Raises: what `load` does."""
        found: dict[Key, Piece] = {}
        while len(found) < len(keys):
            key = self._claim([key for key in keys if key not in found], found)
            if key is not None:
                found[key] = self._loaded(key)
        return [found[key] for key in keys]

    @property
    def kept(self) -> int:
        """How many pieces are held."""
        return len(self._kept)

    def let_go(self, keys: Sequence[Key]) -> None:
        """Keep these no longer."""
        with self._lock:
            for key in keys:
                self._bytes -= self._kept.pop(key, (None, 0))[1]

    def _claim(self, missing: Sequence[Key], found: dict[Key, Piece]) -> Key | None:
        """A key to read here; None where all that is missing has been found, or may have been by now."""
        with self._lock:
            for key in missing:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    found[key] = self._kept[key][0]
            rest = [key for key in missing if key not in found]
            free = next((key for key in rest if key not in self._loading), None)
            if free is not None:
                self._loading.add(free)
            elif rest:
                self._lock.wait()
            return free

    def _loaded(self, key: Key) -> Piece:
        try:
            piece, size = self._load(key)
        except BaseException:
            with self._lock:
                self._loading.discard(key)
                self._lock.notify_all()
            raise
        with self._lock:
            self._loading.discard(key)
            self.loads += 1
            self._kept[key] = piece, size
            self._bytes += size
            while self._bytes > self._limit and len(self._kept) > 1:
                _, (_, gone) = self._kept.popitem(last=False)
                self._bytes -= gone
            self._lock.notify_all()
        return piece
