"""What a thread waits for: a core, or the GIL."""

from __future__ import annotations

import time

_AWAY_S = 1e-4
_HELD_S = 2e-4


def queued_s() -> float:
    """Seconds the calling thread could have run but had no core, since it began; 0 where that is not told.

    Cost: 8 us.
    """
    return _told()[1]


def is_gil_held() -> bool:
    """Whether this thread had to wait for the GIL when it came back from a nap of 0.1 ms.

    A thread that computes in Python takes it meanwhile, and keeps it for up to 5 ms. Time in which this thread could
    run, but the cores were busy with something else, does not count where the system tells it (Linux).
    Cost: 0.1 ms, and the wait itself, in which others work.
    """
    cpu_s, queued_s = _told()
    began = time.perf_counter()
    time.sleep(_AWAY_S)
    away_s = time.perf_counter() - began
    cpu_after_s, queued_after_s = _told()
    waited_s = away_s - _AWAY_S - (cpu_after_s - cpu_s) - (queued_after_s - queued_s)
    return waited_s > _HELD_S


def _told() -> tuple[float, float]:
    """Seconds this thread ran, and seconds it waited for a core."""
    try:
        with open("/proc/thread-self/schedstat", "rb", buffering=0) as file:
            ran, queued, _ = file.read().split()
    except (OSError, ValueError):
        return time.thread_time(), 0.0
    return int(ran) * 1e-9, int(queued) * 1e-9
