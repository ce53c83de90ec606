"""Time as an argument: what the engine reads, and what a test may put in its place."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Clock:
    """`now`: monotonic seconds. `cpu`: CPU seconds of the calling thread."""

    now: Callable[[], float] = time.perf_counter
    cpu: Callable[[], float] = time.thread_time
