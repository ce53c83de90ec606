"""What several requests give, as they end: a failure stays with its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from penstock.errors import ClosedError, ReadError

_LOOK_SECONDS = 0.05

T = TypeVar("T")


class Gathering(Generic[T]):
    """Results by place, set by the threads that make the requests.

    jobs: how many of these have to end. closed: set when none of them will.
    """

    def __init__(self, results: list[T | Exception | None], jobs: int, closed: threading.Event) -> None:
        self.results = results
        self.afterwards: Callable[[], None] | None = None  # done by whoever waits, once all is there
        self._closed = closed
        self.cancelled = threading.Event()
        self._left = jobs
        self._lock = threading.Lock()
        self._done = threading.Event()
        if not jobs:
            self._done.set()

    def ended(self) -> None:
        """One more job has ended."""
        with self._lock:
            self._left -= 1
            if not self._left:
                self._done.set()

    @property
    def is_done(self) -> bool:
        return self._done.is_set()

    def cancel(self) -> None:
        """What has not begun never does; what waits to be tried again gives up."""
        self.cancelled.set()

    def wait(self, closing: threading.Event | None) -> list[T | Exception]:
        """All results, in the order of the requests. A wait that is interrupted gives the rest up.

        Raises: ClosedError: `closing` was set meanwhile, or the process ends.
        """
        try:
            while not self._done.wait(_LOOK_SECONDS):
                if closing is not None and closing.is_set():
                    raise ClosedError("the iterator is closed", remedy="open a new one with iter(dataset)")
                if self._closed.is_set():
                    raise ClosedError("nothing is read any longer: the process ends")
        except BaseException:
            self.cancel()
            raise
        afterwards, self.afterwards = self.afterwards, None
        if afterwards is not None:
            afterwards()
        return [ReadError("the request gave nothing") if result is None else result for result in self.results]
