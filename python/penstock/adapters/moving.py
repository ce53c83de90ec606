"""Movers that need no framework: a conversion when a batch is asked for, and one in a thread, ahead of that."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any


class Convert:
    """Moves nothing ahead: a batch is converted when it is asked for."""

    ahead = 0

    def __init__(self, convert: Callable[[Any], Any] = lambda batch: batch) -> None:
        self.send = convert

    def receive(self, sent: Any) -> Any:
        """What was converted."""
        return sent

    def close(self) -> None:
        """Nothing was taken."""


class PlaceInThread:
    """Batches through `place`, one after the other, in a thread of its own, `ahead` of when they are asked for.

    For copies that hold the calling thread until they are over: so they overlap with the consumer's work.
    """

    def __init__(self, place: Callable[[Any], Any], ahead: int) -> None:
        self.ahead = ahead
        self._place = place
        self._thread: ThreadPoolExecutor | None = None

    def send(self, batch: Any) -> Future[Any]:
        """Queue the batch."""
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, thread_name_prefix="penstock-place")
        return self._thread.submit(self._place, batch)

    def receive(self, sent: Future[Any]) -> Any:
        """The placed batch, as soon as it is; or the error of placing it."""
        return sent.result()

    def close(self) -> None:
        """End the thread; what is queued is not placed. It may be used again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            thread.shutdown(cancel_futures=True)
