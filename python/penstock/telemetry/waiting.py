"""What a thread waits for: a core, or the GIL."""

from __future__ import annotations

import os
import time

_AWAY_S = 1e-3
_HELD_S = 3e-4


def queued_s() -> float:
    """Seconds the calling thread could have run but had no core, since it began; 0 where that is not told.

    Cost: 8 us.
    """
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            return int(file.read().split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def tells_queue() -> bool:
    """Whether this system tells how long a thread waited for a core."""
    return os.path.exists("/proc/thread-self/schedstat")


def is_gil_held() -> bool:
    """Whether this thread has to wait for the GIL when it lets go of it for a millisecond.

    A thread that computes in Python takes it meanwhile, and keeps it for up to 5 ms. Time in which this thread could
    run, but the cores were busy with something else, does not count where the system tells it (Linux).
    Cost: 1 ms, and the wait itself, in which others work.
    """
    began_s, cpu_s = time.perf_counter(), time.thread_time()
    queued = queued_s()  # reading a file lets go of the GIL too
    time.sleep(_AWAY_S)
    queued = queued_s() - queued
    cpu_s = time.thread_time() - cpu_s  # schedstat tells it too, but only up to the last tick
    return time.perf_counter() - began_s - _AWAY_S - cpu_s - queued > _HELD_S
