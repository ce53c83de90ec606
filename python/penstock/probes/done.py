"""A thread that waits for the device in the trainer's place, so that the trainer need not."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

Note = Callable[[int, float], None]


class DoneThread:
    """Calls `note(step, at)` of each step when it is done, in the order they were expected.

    The thread lives while something is expected. It needs the GIL to read the clock: a trainer that computes in Python
    meanwhile delays it by up to 5 ms, and starvation then reads too low by as much.
    """

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._lock = threading.Lock()
        self._expected: SimpleQueue[tuple[int, Callable[[], object], Note]] = SimpleQueue()
        self._open = 0
        self._thread: threading.Thread | None = None

    @property
    def is_waiting(self) -> bool:
        """Whether something is expected."""
        return self._open > 0

    def expect(self, step: int, wait: Callable[[], object], note: Note) -> None:
        """`wait()` returns when step number `step` is done."""
        with self._lock:
            self._expected.put((step, wait, note))
            self._open += 1
            if self._open == 1:
                self._thread = threading.Thread(target=self._run, name="penstock-done", daemon=True)
                self._thread.start()

    def join(self, timeout_s: float) -> None:
        """Wait until nothing is expected any more."""
        thread = self._thread
        if thread is not None:
            thread.join(timeout_s)

    def _run(self) -> None:
        while True:
            step, wait, note = self._expected.get()
            try:
                wait()
                note(step, self._now())
            except Exception:  # noqa: BLE001 - a result that was deleted meanwhile tells nothing; its step stays unknown
                pass
            with self._lock:
                self._open -= 1
                if self._open == 0:
                    return
