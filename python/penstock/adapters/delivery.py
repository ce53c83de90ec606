"""A feed for a loop of the trainer's own: one epoch per `iter()`, batches on their way ahead of time, a state.

The state counts what the loop received, not what was fetched ahead for it: a batch that waits has a bookmark beside it.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator
from types import TracebackType
from typing import Any, NoReturn, Protocol, Self, cast, runtime_checkable

from penstock.adapters.feed import AroundFeed, Batches, Feed
from penstock.adapters.passes import Passes
from penstock.errors import NotResumableError, StateMismatchError, UnknownLengthError

_VERSION = 1
State = dict[str, Any]


class Mover(Protocol):
    """How batches get to where the trainer wants them."""

    @property
    def ahead(self) -> int:
        """How many batches to send before they are asked for."""

    def send(self, batch: Any) -> Any:
        """Start moving a batch."""

    def receive(self, sent: Any) -> Any:
        """The moved batch, for the trainer."""

    def close(self) -> None:
        """Give back what moving took. It may be used again."""


@runtime_checkable
class Resumable(Protocol):
    """A feed whose batches can be gone on with. Methods alone: asking an object whether it is one runs nothing."""

    def bookmark(self, batches: Any) -> Callable[[], State]:
        """A function that gives the state in which `batches` are now, whenever it is called. Cost: a microsecond."""

    def resume(self, state: State) -> Batches:
        """The batches after that state. Raises: StateMismatchError: it is another pipeline's."""


class Delivery:
    """What `to_torch`, `to_jax`, `to_tf`, `to_numpy` return: an iterable; each `iter()` reads its next epoch.

    Dropping an iterator half-way closes it. `close()`, or leaving it as a context manager, closes all of them, which
    then end, and gives back what moving took. It may be used again.
    """

    def __init__(self, feed: Feed, mover: Mover) -> None:
        super().__init__()
        self._feed = _Resumed(feed)
        self._passes = Passes(self._feed)
        self._mover = mover
        self._received: Callable[[], State] | None = None  # the state after the last batch that was received
        self._open: weakref.WeakSet[Generator[Any]] = weakref.WeakSet()

    @property
    def feed(self) -> Feed:
        """Where the batches come from; may be replaced by another around it, to record what passes."""
        return self._feed.feed

    @feed.setter
    def feed(self, feed: Feed) -> None:
        self._feed.feed = feed

    @property
    def epoch(self) -> int:
        """The epoch that the next `iter()` reads."""
        return self._passes.epoch

    def set_epoch(self, epoch: int) -> None:
        """Make the next `iter()` read that epoch; what `load_state_dict` set stays if it is of that epoch."""
        if epoch != self._passes.epoch:
            self._feed.forget()
            self._received = None
        self._passes.epoch = epoch

    @property
    def element_spec(self) -> Any:
        """Shape and dtype of each leaf of a batch, nested as batches are."""
        return self.feed.element_spec

    def __len__(self) -> int:
        """Batches per epoch. Raises: UnknownLengthError, a TypeError: it is endless or unknown."""
        count = self.feed.cardinality
        if count < 0:
            raise UnknownLengthError(f"the number of batches is {'infinite' if count == -1 else 'unknown'}")
        return count

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Any]:
        return self._passes(self._mover.send, through=self._through)

    def _through(self, batches: Generator[Any]) -> Iterator[Any]:
        given = self._look_ahead(batches) if self._mover.ahead else self._one_by_one(batches)
        self._open.add(given)
        return given

    def _one_by_one(self, batches: Generator[Any]) -> Generator[Any]:
        receive = self._mover.receive
        now: Callable[[], State] | None = None
        try:
            for moved in batches:
                if now is None:
                    bookmark = self._feed.opened()
                    now = lambda bookmark=bookmark: bookmark()()  # noqa: E731 - of the batch that was given last
                self._received = now
                handed_over = [receive(moved)]
                del moved  # a suspended generator keeps its variables, and a batch kept is a buffer kept
                yield handed_over.pop()
        finally:
            batches.close()
        self._received = None

    def _look_ahead(self, batches: Generator[Any]) -> Generator[Any]:
        bookmark: Callable[[], Callable[[], State]] | None = None

        def mark() -> Callable[[], State]:
            nonlocal bookmark
            bookmark = bookmark or self._feed.opened()
            return bookmark()

        def reach(state: Callable[[], State]) -> None:
            self._received = state

        yield from look_ahead(batches, self._mover, mark, reach)
        self._received = None

    def state_dict(self) -> State:
        """Where the loop is, as a few JSON values; of the iterator that was read last.

        Raises: NotResumableError: naming what cannot be resumed.
        """
        batches = None if self._received is None else self._received()
        epoch = self._passes.epoch if batches is None else batches["epoch"]
        return {"version": _VERSION, "epoch": epoch, "batches": batches}

    def load_state_dict(self, state_dict: State) -> None:
        """Make the next `iter()` go on after the batch that was the last received when the state was taken.

        Raises: StateMismatchError: it is no such state, or another pipeline's.
        """
        try:
            version, epoch, batches = state_dict["version"], state_dict["epoch"], state_dict["batches"]
        except (KeyError, TypeError):
            version = epoch = batches = None
        if version != _VERSION:
            raise StateMismatchError("load_state_dict", got=repr(state_dict)[:80], expected="what state_dict() gave")
        self._feed.forget()
        self._received = None
        if batches is not None:
            self._feed.resume(batches)
            self._received = lambda: batches
        self._passes.epoch = epoch

    def close(self) -> None:
        """Close what is open, and what `load_state_dict` opened and nobody read; give back what moving took."""
        for batches in list(self._open):
            batches.close()
        self._feed.forget()
        self._passes.close()
        self._mover.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def look_ahead(
    batches: Generator[Any],
    mover: Mover,
    mark: Callable[[], Any] = lambda: None,
    reach: Callable[[Any], None] = lambda mark: None,
) -> Generator[Any]:
    """What `mover` received, having sent `mover.ahead` more of what it sends; `batches` are what it sent.

    `mark()` is asked when a batch was sent, and `reach` told its answer when that batch is received.
    """
    ahead, receive = mover.ahead, mover.receive
    sent: deque[tuple[Any, Any]] = deque()
    failure: Exception | None = None
    ended = False
    try:
        while True:
            while not ended and len(sent) <= ahead:
                try:
                    moved = [next(batches)]
                except StopIteration:
                    ended = True
                except Exception as error:  # noqa: BLE001 - raised below, after the batches that came before it
                    ended, failure = True, error
                else:
                    sent.append((moved.pop(), mark()))
            if not sent:
                break
            oldest, place = sent.popleft()
            reach(place)
            handed_over = [receive(oldest)]
            del oldest  # a suspended generator keeps its variables, and a batch kept is a buffer kept
            yield handed_over.pop()
    finally:
        batches.close()
    if failure is not None:
        raise failure


class _Resumed(AroundFeed):
    """`feed`, whose next `open` may go on after a state, and that says which batches it opened last."""

    def __init__(self, feed: Feed) -> None:
        self.feed = feed
        self._resumed: Batches | None = None
        self._opened = threading.local()  # two threads may open passes at once

    def open(self, epoch: int | None = None, start: int = 0) -> Batches:
        batches, self._resumed = self._resumed, None
        self._opened.batches = self.feed.open(epoch, start) if batches is None else batches
        return cast("Batches", self._opened.batches)

    def opened(self) -> Callable[[], Callable[[], State]]:
        """Of the batches that this thread opened last: a function that bookmarks where they are."""
        feed, batches = self.feed, self._opened.batches
        del self._opened.batches
        if isinstance(feed, Resumable):
            return lambda: feed.bookmark(batches)
        return lambda: lambda: _no_state(feed)

    def resume(self, state: State) -> None:
        """Make the next `open` go on after `state`."""
        if not isinstance(self.feed, Resumable):
            _no_state(self.feed)
        self._resumed = self.feed.resume(state)

    def forget(self) -> None:
        """Take `resume` back."""
        batches, self._resumed = self._resumed, None
        if batches is not None:
            batches.close()


def _no_state(feed: Feed) -> NoReturn:
    raise NotResumableError(f"{type(feed).__name__} keeps no state of its batches")
