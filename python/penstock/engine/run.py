"""One run of a plan: the scheduler, the threads that work for it, and the consumer's side. Owned by one iterator.

Shutdown: `close()` may be called at any time from any thread, twice, after a fork, from a destructor or at interpreter
exit; it wakes everything, ends sources, and joins the workers. A worker inside a user's function is left to finish it.
Waits are interruptible: Ctrl-C reaches the consumer at once.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from penstock.engine.marks import Marked
from penstock.engine.scheduler import Scheduler
from penstock.engine.stages import Outcome, RunningStage, Task
from penstock.errors import ClosedError, ForkedError

_JOIN_SECONDS = 5.0
_HURRY_SECONDS = 0.01
_HURRY_AWAY_SECONDS = 0.0005
_START_SECONDS = 0.5
_live: weakref.WeakSet[Run] = weakref.WeakSet()


@dataclass(frozen=True, slots=True)
class RunLimits:
    """workers: threads at most; 0 runs every task in the consumer's own thread, nothing ahead."""

    workers: int
    ram_budget_bytes: int
    max_error_ratio: float | None = None


@dataclass(slots=True)
class Asked:
    """The consumer's side since somebody last looked.

    requests: for a block; ready: those that found one waiting. wait_s: seconds it waited for the others.
    """

    requests: int = 0
    ready: int = 0
    wait_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Ticker:
    """Whom to call about every `interval_s` seconds, with the run and the time, where something happens.

    Called under the run's lock, it may change settings of stages, and `Run.more_threads`.
    """

    interval_s: float
    call: Callable[[Run, float], None]


class Run:
    """Blocks of one epoch, in order, computed ahead of the consumer by worker threads."""

    def __init__(self, root: RunningStage, limits: RunLimits, ticker: Ticker | None = None) -> None:
        self.scheduler = Scheduler(root, limits.ram_budget_bytes, limits.max_error_ratio)
        self.limits = limits
        # Re-entrant: a destructor may close the run from inside a locked region of the same thread.
        self._lock = threading.RLock()
        self._work = threading.Condition(self._lock)
        self._result = threading.Condition(self._lock)
        self._threads: list[tuple[threading.Thread, threading.Event]] = []  # and whether it has begun
        self._idle = 0
        self._away = 0  # tasks that wait for storage
        self._closed = False
        self._pid = os.getpid()
        self._crash: BaseException | None = None
        self._closing = root.scope.services.closing
        self._now = root.scope.services.clock.now
        self._left_at = self._now()  # when the consumer took its last block
        self._waits_since: float | None = None  # it waits for one
        self.asked = Asked()
        self.more_threads = 0  # for tasks that wait in user code, beyond the cores
        self._ticker = ticker
        self._tick_at = self._left_at if ticker is None else self._left_at + ticker.interval_s
        if not _live:
            _register_exit()
        _live.add(self)

    # -- the consumer's side --------------------------------------------------------------------------------------

    def next_block(self) -> tuple[Marked | None, bool]:
        """The next block with its mark (None at the end), and whether it was waiting already. Waits for it."""
        self.check_process()
        entered = self._now()
        hurries = entered - self._left_at < _HURRY_AWAY_SECONDS
        with self._lock:
            was_ready = bool(self.scheduler.root.ready)
            self._waits_since = entered
            while True:
                if self._crash is not None:
                    raise self._crash
                if self._closed:
                    raise ClosedError("the iterator is closed", remedy="open a new one with iter(dataset)")
                marked = self.scheduler.next_block()
                if marked is not None:
                    if not hurries:
                        self._wake_worker()
                    self._left_at = self._now()
                    self._count(was_ready)
                    return marked, was_ready
                if self.scheduler.ended:
                    return None, was_ready
                if self.limits.workers == 0:
                    self._run_one()
                    continue
                # A thread that would wait may as well work, where the work is shorter than being woken up twice. One
                # that comes back at once does so alone: a worker beside it would only take turns with it for the GIL.
                if not hurries:
                    self._wake_worker()
                task = self.scheduler.claim(only_short=True)
                if task is None:
                    self._wake_worker()
                    if not self._result.wait(_HURRY_SECONDS if self.scheduler.has_source() else None):
                        self.scheduler.hurry()
                else:
                    self._commit(task, self._execute_unlocked(task))

    def _count(self, was_ready: bool) -> None:
        """The consumer leaves with a block."""
        asked = self.asked
        asked.requests += 1
        asked.ready += was_ready
        if not was_ready:
            asked.wait_s += self._left_at - (self._left_at if self._waits_since is None else self._waits_since)
        self._waits_since = None
        self._tick(self._left_at)

    def take_asked(self, now: float) -> Asked:
        """What the consumer asked since this was last called; a wait that goes on counts up to now."""
        asked, self.asked = self.asked, Asked()
        if self._waits_since is not None and not self.scheduler.root.ready:
            asked.wait_s += now - self._waits_since
            self._waits_since = now
        return asked

    def _commit(self, task: Task, outcome: Outcome) -> None:
        self.scheduler.commit(task, outcome)
        if self._ticker is not None:
            self._tick(self._now())

    def _tick(self, now: float) -> None:
        if self._ticker is not None and now >= self._tick_at and not self._closed:
            self._tick_at = now + self._ticker.interval_s
            self._ticker.call(self, now)

    def check_process(self) -> None:
        """Raises: ForkedError in a forked child."""
        if os.getpid() != self._pid:
            raise ForkedError(
                "this iterator was opened before a fork; its threads are in the parent",
                got=f"process {os.getpid()}, opened in {self._pid}",
                remedy="open the iterator in the child, or start the child with the spawn method",
            )

    def _run_one(self) -> None:
        task = self.scheduler.claim()
        if task is not None:
            self._commit(task, task.execute())
        else:
            self._check_progress()

    def _check_progress(self) -> None:
        if self.scheduler.is_stuck():
            raise AssertionError("no stage can start, none runs and nothing waits")

    # -- workers --------------------------------------------------------------------------------------------------

    def _wake_worker(self) -> None:
        """Let one more worker look for a task; start it if all are busy. It wakes the next when it finds one."""
        if self._idle:
            self._work.notify()
        elif len(self._threads) < self.limits.workers + self.more_threads + self._away:
            name = f"penstock-worker-{len(self._threads)}"
            began = threading.Event()
            thread = threading.Thread(target=self._work_until_closed, args=(began,), name=name, daemon=True)
            self._threads.append((thread, began))
            thread.start()

    def _work_until_closed(self, began: threading.Event) -> None:
        began.set()
        with self._lock:
            while not self._closed:
                try:
                    task = self.scheduler.claim()
                    if task is None:
                        self._check_progress()
                        if self.scheduler.root.ready or self.scheduler.ended:
                            self._result.notify()
                        self._idle += 1
                        self._work.wait()
                        self._idle -= 1
                        continue
                    self._wake_worker()
                    outcome = self._execute_unlocked(task)
                    self._commit(task, outcome)
                except BaseException as error:  # noqa: BLE001  # an engine fault: the consumer must hear of it, not wait for ever
                    self._crash = error
                    self._result.notify_all()
                    return
                del task, outcome
                if self.scheduler.root.ready or self.scheduler.ended:
                    self._result.notify()

    def _execute_unlocked(self, task: Task) -> Outcome:
        self._lock.release()
        try:
            return task.execute(self._waits)
        finally:
            self._lock.acquire()

    @contextmanager
    def _waits(self, stage: RunningStage, requests: int) -> Iterator[None]:
        """While open, the task that this thread runs waits for storage: another thread may take its core."""
        with self._lock:
            stage.away.add(1, requests)
            self._away += 1
            self._wake_worker()
        try:
            yield
        finally:
            with self._lock:
                stage.away.add(-1, -requests)
                self._away -= 1

    # -- the end --------------------------------------------------------------------------------------------------

    def close(self) -> None:
        """Stop and leave nothing behind. Idempotent."""
        if os.getpid() != self._pid:
            return
        self._closing.set()  # before the lock: whoever waits in a task may hold it
        with self._lock:
            first, self._closed = not self._closed, True
            threads = [pair for pair in self._threads if pair[0] is not threading.current_thread()]
            try:
                if first:
                    self.scheduler.close()
            finally:  # whatever a generator raises when it is ended, no thread may stay
                self._work.notify_all()
                self._result.notify_all()
        deadline = time.monotonic() + _JOIN_SECONDS
        for thread, began in threads:
            if began.wait(_START_SECONDS):  # False: Ctrl-C fell into its start, before there was a thread
                thread.join(max(0.0, deadline - time.monotonic()))


def _register_exit() -> None:
    atexit.unregister(_close_all)
    atexit.register(_close_all)


def _close_all() -> None:
    for run in list(_live):
        run.close()
