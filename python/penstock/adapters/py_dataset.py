"""The body of the `PyDataset` that a feed becomes for a Keras that takes no DataAdapter.

Keras asks a PyDataset for batches by number: by default in random order, one or two beforehand to learn shapes, some
again where it left an epoch early. A feed gives them in its own order, shuffled if the user wished so. Law: a number
that is new in an epoch gets the next batch; one that was asked for before gets the same batch again.
"""

from __future__ import annotations

from typing import Any

from penstock.adapters.feed import Batches, Feed

_KEPT = 2  # as many as are asked for beforehand; others that are asked for again are read again


class InOrder:
    """`feed`, opened once per epoch; without its base class, which is known only once Keras is imported.

    An epoch is over when Keras says so after each number was asked for: it says so after looking at shapes, too.
    """

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.feed = feed
        self.epoch = 0
        self._is_over = False
        self._positions: dict[int, int] = {}  # of each number asked for in this epoch
        self._kept: list[Any] = []
        self._batches: Batches | None = None
        self._next = 0

    @property
    def num_batches(self) -> int:
        return self.feed.cardinality

    def __len__(self) -> int:
        return self.feed.cardinality

    def __getitem__(self, index: int) -> Any:
        if self._is_over:
            self._is_over = False
            self.epoch += 1
            self._positions, self._kept = {}, []
        position = self._positions.setdefault(index, len(self._positions))
        if position < len(self._kept):
            return self._kept[position]
        batch = self._read(position)
        if position < _KEPT:
            self._kept.append(batch)
        return batch

    def on_epoch_end(self) -> None:
        self._is_over = len(self._positions) == self.feed.cardinality

    def _read(self, position: int) -> Any:
        if self._batches is None or position != self._next:
            self.close()
            self._batches = self.feed.open(self.epoch, start=position)
        batch = next(self._batches)
        self._next = position + 1
        if self._next == self.feed.cardinality:
            self.close()
        return batch

    def close(self) -> None:
        batches, self._batches = self._batches, None
        if batches is not None:
            batches.close()

    def __del__(self) -> None:
        self.close()
