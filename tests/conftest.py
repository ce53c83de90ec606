"""What holds for every test: Hypothesis profiles, and no thread of the engine outlives its test.

HYPOTHESIS_PROFILE=thorough draws 40 times as many examples; under CI the examples are the same in every run.
"""

from __future__ import annotations

import gc
import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # before anything imports TensorFlow: its notices hide ours

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as whatever a shell starts in its background inherits it
    signal.signal(signal.SIGINT, signal.default_int_handler)  # else no script that a test starts could be interrupted

ENGINE_THREADS = "penstock-"
GRACE_S = 2.0

# No deadlines: these machines are noisy, and no test judges speed.
settings.register_profile(
    "default", max_examples=25, deadline=None, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("ci", parent=settings.get_profile("default"), derandomize=True, database=None)
settings.register_profile("thorough", parent=settings.get_profile("default"), max_examples=1000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "default"))


@pytest.fixture(autouse=True)
def no_leaks() -> Iterator[None]:
    """Fails a test after which a thread of the engine that it started is still alive; ending may take `GRACE_S`."""
    before = set(threading.enumerate())
    yield
    if not _engine_threads(before):
        return
    gc.collect()  # an abandoned iterator may sit in a cycle; collecting after every test would cost more than the tests
    deadline = time.monotonic() + GRACE_S
    for thread in _engine_threads(before):
        thread.join(max(0.0, deadline - time.monotonic()))
    leaked = sorted(thread.name for thread in _engine_threads(before))
    assert not leaked, f"threads left {GRACE_S:g} s after the test: {', '.join(leaked)}"


@pytest.fixture
def warm_pool() -> None:
    """Two workers that have started, so that no block of a pure function runs in this process while they do."""
    from penstock.engine.executors.processes import shared_pool

    pool = shared_pool()
    pool.start(2)
    workers = [pool.acquire(may_wait=True) for _ in range(2)]
    for worker in workers:
        assert worker is not None
        pool.release(worker)


def _engine_threads(before: set[threading.Thread]) -> list[threading.Thread]:
    return [t for t in threading.enumerate() if t.name.startswith(ENGINE_THREADS) and t not in before]
