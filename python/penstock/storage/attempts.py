"""How often a request is made, and how long is waited in between: exponential back-off, with jitter.

Source: the "equal jitter" of https://aws.amazon.com/blogs/architecture/exponential-backoff-and-jitter/: half of the
wait is fixed, so that a server that is busy gets some rest, and half is drawn, so that not all come back at once.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from penstock.errors import ClosedError
from penstock.storage.fault import Fault, error_of

LONGEST_S = 20.0

T = TypeVar("T")


def _wait(event: threading.Event, seconds: float) -> bool:
    return event.wait(seconds)


@dataclass(frozen=True, slots=True)
class Attempts:
    """most: attempts of a request. backoff_s: the longest wait after the first; it doubles, up to LONGEST_S.

    wait: until so many seconds have passed or an event is set; whether it is. draw: a number from 0 to 1. Both as a
    test may put others in their place.
    """

    most: int
    backoff_s: float
    wait: Callable[[threading.Event, float], bool] = _wait
    draw: Callable[[], float] = random.random

    def wait_s(self, number: int) -> float:
        """Seconds to wait after attempt `number`, counted from 1."""
        longest = min(LONGEST_S, self.backoff_s * 2.0 ** min(number - 1, 30))
        return longest * (1.0 + self.draw()) / 2.0

    def run(self, ask: Callable[[], T], url: str, cancelled: threading.Event) -> T:
        """What `ask` gives, asked again after faults that may pass.

        Raises: ReadError: the last fault. ClosedError: `cancelled` was set meanwhile.
        """
        number = 1
        while True:
            if cancelled.is_set():
                raise ClosedError("the request was given up: nobody waits for it")
            try:
                return ask()
            except Fault as fault:
                last = fault
            if not last.may_pass or number >= self.most:
                raise error_of(last, url, number)
            self.wait(cancelled, self.wait_s(number))
            number += 1
