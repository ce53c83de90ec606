"""Time as an argument: what the engine reads, and what a test may put in its place."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from penstock.telemetry.waiting import is_gil_held, queued_s


@dataclass(frozen=True, slots=True)
class Clock:
    """`now`: monotonic seconds. `cpu`, `queued`: seconds of the calling thread on a core, and waiting for one.

    `is_gil_held`: by another thread. `wait`: until so many seconds have passed or an event is set; whether it is.
    `reads`: seconds the calling thread has spent in reading files and objects, and bytes it has read.
    """

    now: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.thread_time
    queued: Callable[[], float] = queued_s
    is_gil_held: Callable[[], bool] = is_gil_held
    wait: Callable[[threading.Event, float], bool] = lambda event, seconds: event.wait(seconds)
    reads: Callable[[], tuple[float, int]] = lambda: (0.0, 0)
