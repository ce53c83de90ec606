"""Threads that make requests: as many as there is work for, at most so many at once, gone when there is none.

They wait in obstore, without the GIL. Per object this took 170 to 230 us of CPU, where awaiting obstore in an asyncio
loop took 320 to 390: each awaited result crosses from obstore's threads into Python's loop, twice an object
(256 in flight, objects of 60 KB; docs/decisions/2026-11-21-requests-in-threads.md).
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from queue import Empty, SimpleQueue

IDLE_SECONDS = 0.2
Job = Callable[[], None]  # never raises


class Lane:
    """Runs jobs in threads of its own, oldest first. limit: threads at most. `closed`: it begins no other."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()  # taking one needs no lock of Python's
        self._lock = threading.Lock()
        self._threads: dict[threading.Thread, list[int]] = {}  # and how many jobs each has done
        self._added = self._done_before = 0  # jobs, of all threads and of those that are gone
        self.closed = threading.Event()
        self._started = 0

    def add(self, jobs: Sequence[Job]) -> None:
        """Have `jobs` done; returns at once. After `close`, they are not."""
        with self._lock:
            if self.closed.is_set():
                return
            for job in jobs:
                self._jobs.put(job)
            self._added += len(jobs)
            unfinished = self._added - self._done_before - sum(done for (done,) in self._threads.values())
            fresh = [self._thread() for _ in range(min(unfinished, self._limit) - len(self._threads))]
        for thread in fresh:
            thread.start()

    def _thread(self) -> threading.Thread:
        self._started += 1
        done = [0]
        name = f"penstock-storage-{self._started}"
        thread = threading.Thread(target=self._work, args=(done,), name=name, daemon=True)
        self._threads[thread] = done
        return thread

    def _work(self, done: list[int]) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=IDLE_SECONDS)
            except Empty:
                with self._lock:
                    if not self._jobs.empty():
                        continue
                    self._done_before += self._threads.pop(threading.current_thread(), [0])[0]
                return
            if job is None:
                return
            job()
            del job  # and what it holds
            done[0] += 1

    def close(self, within_s: float) -> None:
        """Begin no other job, and wait so long for those that run."""
        with self._lock:
            self.closed.set()
            while True:
                try:
                    self._jobs.get_nowait()
                except Empty:
                    break
            threads = list(self._threads)
            for _ in threads:
                self._jobs.put(None)
        until = time.monotonic() + within_s
        for thread in threads:
            if thread.ident is not None:
                thread.join(max(0.0, until - time.monotonic()))
