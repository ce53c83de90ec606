"""A record of bounded length over a run of any length."""

from __future__ import annotations

from typing import Generic, TypeVar

Item = TypeVar("Item")


class Thinned(Generic[Item]):
    """Every 2^k-th of what was added, evenly over all of it; k grows so that fewer than `most` are kept.

    Cost: 0.1 us an item that is not kept.
    """

    __slots__ = ("_most", "kept", "mask", "seen")

    def __init__(self, most: int = 2048) -> None:
        self.kept: list[Item] = []
        self.mask = 0  # an item whose number has none of these bits is kept
        self.seen = 0
        self._most = most

    def add(self, item: Item) -> None:
        """The next item."""
        if not self.seen & self.mask:
            self.keep(item)
        self.seen += 1

    def keep(self, item: Item) -> None:
        """An item that `mask` lets through; whoever counts by himself asks it first."""
        self.kept.append(item)
        if len(self.kept) >= self._most:
            del self.kept[1::2]
            self.mask = 2 * self.mask + 1
