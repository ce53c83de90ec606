"""For whom this thread reads: the options of its pipeline, when it ends, and whom to tell that the thread waits.

Ops are called by the user's functions, which know nothing of options; so they are said around them, by thread.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

from penstock.options import RemoteOptions
from penstock.storage.ranges import Request

Away = Callable[[int, bool], AbstractContextManager[None]]


def _stay(requests: int, together: bool) -> AbstractContextManager[None]:
    return nullcontext()


_DEFAULT = RemoteOptions()
_TRIAL = 64


class Habit:
    """How much of what was read ahead for the blocks of a function it then asked for.

    Threads may count a little off, which decides nothing but time.
    """

    def __init__(self) -> None:
        self.fetched = self.used = 0

    @property
    def is_worth_it(self) -> bool:
        """Whether to go on: of what was read ahead, at least half has been used."""
        return self.fetched < _TRIAL or 2 * self.used >= self.fetched


@dataclass(slots=True)
class Expected:
    """The URLs of a block's rows, all of which a function that asks for one by one may read; what becomes of them."""

    urls: tuple[str, ...]
    habit: Habit
    fetched: int = 0
    used: int = 0


@dataclass(slots=True)
class Surroundings:
    """away(requests, together): entered while the thread waits for so many requests, of a block together or one alone.

    closing: set when nobody waits any longer. read: what requests gave, for the rows of their block if they have to be
    computed one by one; None: nothing is kept. It lives as long as the task. expected: what may be read next.
    """

    options: RemoteOptions = _DEFAULT
    closing: threading.Event | None = None
    away: Away = _stay
    read: dict[Request, bytes | Exception] | None = None
    expected: Expected | None = None


class _Place(threading.local):
    def __init__(self) -> None:
        self.surroundings = Surroundings()


_place = _Place()


def surroundings() -> Surroundings:
    """Those of this thread; outside of a pipeline, the defaults."""
    return _place.surroundings


class reading_for:  # noqa: N801  # it reads as the function it is like; a generator would cost three times as much
    """While open, this thread reads for a task of a pipeline. Cost: 1 us."""

    __slots__ = ("_around", "_previous")

    def __init__(self, options: RemoteOptions | None, closing: threading.Event | None, away: Away | None) -> None:
        self._around = Surroundings(_DEFAULT if options is None else options, closing, away or _stay, {})
        self._previous: Surroundings | None = None

    def __enter__(self) -> None:
        self._previous, _place.surroundings = _place.surroundings, self._around

    def __exit__(self, *raised: object) -> None:
        assert self._previous is not None
        _place.surroundings = self._previous


class expecting:  # noqa: N801  # as above
    """While open, `expected` says what this thread may read next; None: nothing is known.

    What a block may read goes before what some of its rows may.
    """

    __slots__ = ("_expected", "_previous")

    def __init__(self, expected: Expected | None) -> None:
        self._expected = expected
        self._previous: Expected | None = None

    def __enter__(self) -> None:
        around = _place.surroundings
        self._previous, around.expected = around.expected, self._expected
        outer, inner = self._previous, self._expected
        if outer is not None and inner is not None and inner.urls[0] in outer.urls:
            around.expected = outer

    def __exit__(self, *raised: object) -> None:
        _place.surroundings.expected = self._previous
        if self._expected is not None:
            self._expected.habit.fetched += self._expected.fetched
            self._expected.habit.used += self._expected.used
