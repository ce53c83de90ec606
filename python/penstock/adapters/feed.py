"""What an adapter needs to know of a dataset, and nothing more: its spec, how many batches, and how to open them.

An adapter takes a `Feed`, not a Dataset, so that it can be tested with a list, and so that a feed can be wrapped
(timed, recorded) on its way to the framework.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


@dataclass(frozen=True, slots=True)
class Shared:
    """How a dataset is shared out among processes that train together.

    policy: "data", "file" or "off", for `world_size` ranks. steps: batches per epoch of each; None where they are
    endless or unknown.
    is_whole: whether every batch of every rank is a full one.
    """

    policy: str
    world_size: int
    steps: tuple[int, ...] | None
    is_whole: bool


class Batches(Protocol):
    """The batches of one epoch, in order. `close()` may be called at any time, twice, and leaves no thread behind."""

    def __iter__(self) -> Iterator[Any]: ...

    def __next__(self) -> Any: ...

    def close(self) -> None: ...


@runtime_checkable
class Feed(Protocol):
    """Batches for a framework. A batch is an array, or a nested tuple or dict of arrays, each owning its buffer."""

    @property
    def element_spec(self) -> Any:
        """A nested tuple or dict of `Spec`, one batch's; None where it is unknown."""

    @property
    def cardinality(self) -> int:
        """Batches per epoch; -1 for an endless feed, -2 where it is unknown."""

    @property
    def batch_size(self) -> int | None:
        """Rows of a full batch; None where it is unknown."""

    @property
    def has_partial_batch(self) -> bool | None:
        """Whether the last batch is smaller; None where it is unknown."""

    @property
    def partial_batch_size(self) -> int | None:
        """Rows of that last batch; None where there is none, or it is unknown."""

    def open(self, epoch: int | None = None, start: int = 0) -> Batches:
        """The batches of that epoch, from batch `start` on; None takes the next epoch of the feed's own counter."""


class AroundFeed:
    """What stands around `feed` and is asked in its place says of itself what the feed says."""

    feed: Feed

    @property
    def element_spec(self) -> Any:
        return self.feed.element_spec

    @property
    def cardinality(self) -> int:
        return self.feed.cardinality

    @property
    def batch_size(self) -> int | None:
        return self.feed.batch_size

    @property
    def has_partial_batch(self) -> bool | None:
        return self.feed.has_partial_batch

    @property
    def partial_batch_size(self) -> int | None:
        return self.feed.partial_batch_size


def shared_of(feed: Feed) -> Shared | None:
    """How the feed is shared out, if it says so; None: it is not, or it does not know."""
    shared: Shared | None = getattr(feed, "shared", None)
    return shared
