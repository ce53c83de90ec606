"""Worker processes: fresh interpreters that run functions on blocks, one pool a trainer, shared by all its iterators.

Laws. A worker is started with its interpreter's own command line, never forked, and never runs the user's main script.
One thread at a time talks to a worker, and waits for it without the GIL. A worker ends when its trainer does, however
that ends: the socket and the lifeline close with it. A worker that dies is replaced. The pool starts when first needed,
and stops at exit, after a fork (in the child, where it was never its own), and when nothing used it for a while.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from penstock.block.columns import Array
from penstock.engine.executors.link import Link
from penstock.engine.executors.wire import Answer, Task
from penstock.errors import WorkerError
from penstock.machine.process import WORKER_MARK

IDLE_SECONDS = 120.0
_KNOWN_FUNCTIONS = 16
_END_SECONDS = 1.0
_FAILED_STARTS = 3

_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[3]); "
    "from penstock.engine.executors.child import main; main(int(sys.argv[1]), int(sys.argv[2]))"
)


class DiedError(Exception):
    """A worker ended in the middle of a task; `status` as subprocess gives it."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status

    def __str__(self) -> str:
        if self.status >= 0:
            return f"exit status {self.status}"
        try:
            return f"killed by {signal.Signals(-self.status).name}"
        except ValueError:
            return f"killed by signal {-self.status}"


class Worker:
    """One worker process, seen from the trainer."""

    def __init__(self) -> None:
        ours, theirs = socket.socketpair()
        lifeline, self._lifeline = os.pipe()
        files = (theirs.fileno(), lifeline)
        flags: list[str] = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]  # as multiprocessing does
        command = [sys.executable, *flags, "-c", _PROGRAM, *map(str, files), json.dumps(list(map(str, sys.path)))]
        environment = {**os.environ, WORKER_MARK: "1"}
        try:
            with _interrupts_held():  # inherited: Ctrl-C cannot reach it before it has said that it ignores it
                self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=files, env=environment)
        except BaseException:
            ours.close()
            os.close(self._lifeline)
            raise
        finally:
            theirs.close()
            os.close(lifeline)
        self.link = Link(ours)
        self._folder = os.getcwd()
        self.is_ready = False
        self._known: OrderedDict[bytes, None] = OrderedDict()

    def has_started(self) -> bool:
        """Whether it can take a task at once. Raises: DiedError."""
        if not self.is_ready and select.select([self.link], [], [], 0)[0]:
            self.wait_started()
        return self.is_ready

    def wait_started(self) -> None:
        """Wait until it can take tasks. Raises: DiedError."""
        if not self.is_ready:
            with self.watched():
                self.link.receive()
            self.is_ready = True

    def exchange(self, task: Task, recipe: bytes) -> tuple[Answer, list[Array]]:
        """Send a task, with what this worker has not been told yet, and wait for its answer. Raises: DiedError."""
        is_new = task.digest not in self._known
        self._known[task.digest] = None
        self._known.move_to_end(task.digest)
        forget = (self._known.popitem(last=False)[0],) if len(self._known) > _KNOWN_FUNCTIONS else ()
        folder = os.getcwd()
        has_moved, self._folder = folder != self._folder, folder
        told = replace(task, recipe=recipe if is_new else None, forget=forget, folder=folder if has_moved else None)
        with self.watched():
            self.link.send(told)
            return self.link.receive()

    @contextmanager
    def watched(self) -> Iterator[None]:
        try:
            yield
        except (EOFError, ConnectionError) as error:
            raise DiedError(self.end()) from error

    def end(self, wait_s: float = _END_SECONDS) -> int:
        """Stop it, by force if it does not end by itself in `wait_s`. Its exit status. Idempotent."""
        self.link.close()
        try:
            return self._process.wait(wait_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()
        finally:
            self.forget()

    def forget(self) -> None:
        """Close what leads to it, without waiting: it ends by itself."""
        self.link.close()
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)

    def kill(self) -> None:
        """End it now; the thread that talks to it sees a DiedError."""
        self._process.kill()

    @property
    def pid(self) -> int:
        return self._process.pid


@contextmanager
def _interrupts_held() -> Iterator[None]:
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


class ProcessPool:
    """Worker processes, up to as many as any stage asked for."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._change = threading.Condition()
        self._idle: list[Worker] = []
        self._busy: set[Worker] = set()
        self._limit = 0
        self._failed_starts = 0
        self._used_at = clock()
        self.closed = threading.Event()

    @property
    def is_closed(self) -> bool:
        return self.closed.is_set()

    def start(self, count: int) -> None:
        """Have at least `count` workers, soon: they start while the caller goes on."""
        with self._change:
            self._limit = max(self._limit, count)
            while len(self._idle) + len(self._busy) < self._limit and not self.is_closed:
                self._idle.insert(0, Worker())
            self._used_at = self._clock()

    def acquire(self, *, may_wait: bool) -> Worker | None:
        """A worker for the caller alone, until `release` or `discard`. None when the pool is closed.

        Without `may_wait`, None too while workers are still starting and no other is free.
        Raises: WorkerError: workers end before they have started.
        """
        worker = self._take(may_wait)
        if worker is None:
            return None
        try:
            worker.wait_started()
        except DiedError as error:
            self._note_failed_start(worker, error)
            return self.acquire(may_wait=may_wait)
        return worker

    def _take(self, may_wait: bool) -> Worker | None:
        """A worker from the idle ones, if need be one that is still starting."""
        with self._change:
            while not self.is_closed:
                self._replace_missing()
                worker = self._started()
                if worker is None and self._idle:
                    if not may_wait:
                        return None
                    worker = self._idle.pop()
                if worker is not None:
                    self._busy.add(worker)
                    return worker
                self._change.wait()
        return None

    def _replace_missing(self) -> None:
        while len(self._idle) + len(self._busy) < self._limit:
            self._idle.insert(0, Worker())

    def _started(self) -> Worker | None:
        """An idle worker that can take a task at once, the one used last first: it is warmest."""
        for place in reversed(range(len(self._idle))):
            worker = self._idle[place]
            try:
                has_started = worker.has_started()
            except DiedError as error:
                self._note_failed_start(worker, error)
                return self._started()
            if has_started:
                return self._idle.pop(place)
        return None

    def _note_failed_start(self, worker: Worker, error: DiedError) -> None:
        with self._change:
            self._idle = [other for other in self._idle if other is not worker]
            self._busy.discard(worker)
            self._failed_starts += 1
            if self._failed_starts >= _FAILED_STARTS:
                self._failed_starts = 0
                raise WorkerError(
                    "worker processes end before they have started",
                    got=str(error),
                    remedy=f"what they said is on stderr; they run {sys.executable} and import penstock",
                )

    def release(self, worker: Worker) -> None:
        """The worker has answered."""
        with self._change:
            self._failed_starts = 0
            self._used_at = self._clock()
            self._busy.discard(worker)
            if self.is_closed:
                worker.end()
            else:
                self._idle.append(worker)
            self._change.notify()

    def discard(self, worker: Worker) -> None:
        """The worker has died, or was left in the middle of a task: it is ended, and replaced when one is needed."""
        worker.end(0)
        with self._change:
            self._busy.discard(worker)
            self._change.notify()

    def has_workers(self) -> bool:
        """Whether any have been started."""
        with self._change:
            return bool(self._idle or self._busy)

    def pids(self) -> list[int]:
        """The process ids of its workers."""
        with self._change:
            return [worker.pid for worker in (*self._idle, *self._busy)]

    def idle_s(self) -> float:
        """Seconds since it was last used; 0 while it is in use."""
        with self._change:
            return 0.0 if self._busy else self._clock() - self._used_at

    def close(self) -> None:
        """End all workers. Idempotent."""
        with self._change:
            self.closed.set()
            idle, self._idle = self._idle, []
            busy = list(self._busy)
            self._change.notify_all()
        for worker in busy:
            worker.kill()  # its thread sees it end, and cleans up
        for worker in idle:
            worker.end()

    def forget(self) -> None:
        """In a forked child: close what was inherited; the workers are not its own."""
        for worker in (*self._idle, *self._busy):
            worker.forget()


class _Registry:
    """The one pool of this process."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.pool: ProcessPool | None = None
        self.is_watched = False


_registry = _Registry()


def shared_pool() -> ProcessPool:
    """The pool of this process, made anew if there is none or it was closed."""
    with _registry.lock:
        if not _registry.is_watched:
            _registry.is_watched = True
            atexit.register(close_shared_pool)
            os.register_at_fork(after_in_child=_forget_after_fork)
        if _registry.pool is None or _registry.pool.is_closed:
            _registry.pool = pool = ProcessPool()
            threading.Thread(target=_close_when_idle, args=(pool,), name="process-pool-idle", daemon=True).start()
        return _registry.pool


def close_shared_pool() -> None:
    """End the workers of this process; the next use starts others."""
    with _registry.lock:
        pool, _registry.pool = _registry.pool, None
    if pool is not None:
        pool.close()


def _close_when_idle(pool: ProcessPool) -> None:
    while not pool.is_closed:
        idle_s = pool.idle_s()
        if idle_s >= IDLE_SECONDS:
            pool.close()
        else:
            pool.closed.wait(IDLE_SECONDS - idle_s)


def _forget_after_fork() -> None:
    pool = _registry.pool
    _registry.lock = threading.Lock()
    _registry.pool = None
    if pool is not None:
        pool.forget()
