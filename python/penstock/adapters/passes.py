"""One pass over a feed per epoch, for a framework that opens more iterators than it reads.

The law: each batch of each epoch reaches the framework exactly once. Against it stand three habits of frameworks, met
here and not in the adapters: iterators that are made and never read (so nothing is opened before the first batch is
asked for); iterators that are dropped half-way (so dropping one closes it); and a peek, one batch read to learn shapes
before training begins (so what a peek took is kept, with the open feed behind it, and the next pass starts with it).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, Protocol

from penstock.adapters.feed import Batches, Feed


class Listener(Protocol):
    """Hears what a framework asks of a feed, in the framework's own thread."""

    def passing(self, batches: Iterator[Any], owner: Any) -> Iterator[Any]:
        """What stands in the place of `batches`, one pass over the data of `owner`: each of them, at the same time."""
        ...

    def opened(self, batches: Batches) -> None:
        """The feed's own batches of the pass whose first one was asked for just now."""
        ...


LISTENERS: ContextVar[tuple[Listener, ...]] = ContextVar("penstock_listeners", default=())
"""Who hears the passes that begin here. Costs nothing a batch where nobody does."""


@dataclass(slots=True)
class _Peeked:
    batches: Batches
    taken: list[Any] = field(default_factory=list)


class Passes:
    """Opens `feed` once per epoch, counting epochs itself: a framework's hooks do not come in pairs.

    `is_peek()` is asked when the first batch of a pass is asked for, and says whether that is only to learn shapes.
    """

    def __init__(self, feed: Feed, is_peek: Callable[[], bool] = lambda: False) -> None:
        self.feed = feed
        self.epoch = 0
        self._is_peek = is_peek
        self._peeked: _Peeked | None = None

    def __call__(
        self,
        convert: Callable[[Any], Any] = lambda batch: batch,
        end: Callable[[], BaseException] | None = None,
        through: Callable[[Generator[Any]], Iterator[Any]] = iter,
    ) -> Iterator[Any]:
        """The next epoch's batches, each through `convert`; nothing is opened before the first is asked for.

        `end()` is raised, instead of StopIteration, where the framework could not know that there is no batch left.
        `through`: what stands between the pass and the framework, as a look-ahead does; listeners hear the framework.
        The feed is closed as soon as the last batch of a known number is taken, however long the iterator is then kept.
        """
        listeners = LISTENERS.get()
        batches = through(self._pass(convert, end, listeners))
        for listener in listeners:
            batches = listener.passing(batches, self)
        return batches

    def _pass(
        self, convert: Callable[[Any], Any], end: Callable[[], BaseException] | None, listeners: tuple[Listener, ...]
    ) -> Generator[Any]:
        known = self.feed.cardinality if self.feed.cardinality >= 0 else None
        delivered = 0
        peeked, self._peeked = self._peeked, None
        peek = self._is_peek()
        if peeked is None:
            peeked = _Peeked(self.feed.open(epoch=self.epoch))
            self.epoch += 1
        if peek:
            yield from self._peek(peeked, convert)
            return
        for listener in listeners:
            listener.opened(peeked.batches)
        try:
            for batch in self._all(peeked):
                delivered += 1
                if delivered == known:
                    peeked.batches.close()
                handed_over = [convert(batch)]
                del batch  # a suspended generator keeps its variables, and a batch kept is a buffer kept
                yield handed_over.pop()
        finally:
            peeked.batches.close()
        if end is not None and delivered != known:
            raise end()

    def close(self) -> None:
        """Close what a peek left open."""
        peeked, self._peeked = self._peeked, None
        if peeked is not None:
            peeked.batches.close()

    def __del__(self) -> None:
        self.close()

    def _peek(self, peeked: _Peeked, convert: Callable[[Any], Any]) -> Iterator[Any]:
        self._peeked = peeked
        yield from map(convert, list(peeked.taken))
        while self._peeked is peeked:
            try:
                batch = next(peeked.batches)
            except StopIteration:
                return
            peeked.taken.append(batch)
            yield convert(batch)

    @staticmethod
    def _all(peeked: _Peeked) -> Iterator[Any]:
        taken = peeked.taken
        taken.reverse()
        while taken:
            yield taken.pop()
        yield from peeked.batches
