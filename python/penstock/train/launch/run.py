"""The workers of a launch from start to end: they run together, and end together when one fails.

Laws. A worker that fails ends the others: SIGTERM first, SIGKILL after a grace. So do SIGINT, SIGTERM and SIGHUP, which
are handed on. What a worker started ends with it. Nothing is left when `run_group` returns, nor when it is killed.
"""

from __future__ import annotations

import os
import selectors
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import FrameType

from penstock.train.launch.output import Lines
from penstock.train.launch.worker import Worker

GRACE_S = 10.0
_LEFTOVER_GRACE_S = 2.0
_LAST_S = 1.0  # what SIGKILL needs; a zombie that nobody reaps is not waited for
_TICK_S = 0.1
_CHUNK = 64 * 1024
_OBEYED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """Why the workers ended.

    rank: which failed first; None: none did. status: the exit code for all, 128 + n for a signal. last_lines: what the
    failed worker said last, on stderr, or on stdout where it said nothing there.
    """

    status: int
    rank: int | None = None
    last_lines: tuple[str, ...] = ()

    def __str__(self) -> str:
        who = "the launcher" if self.rank is None else f"worker {self.rank}"
        if self.rank is None and not self.status:
            return "all workers ended well"
        if self.status <= 128:
            return f"{who} ended with status {self.status}"
        return f"{who} was {'asked to end' if self.rank is None else 'ended'} by {_name(self.status - 128)}"


def run_group(
    commands: Sequence[tuple[Sequence[str], Mapping[str, str]]],
    write: Callable[[int, bytes], None],
    say: Callable[[Ending], None] = lambda ending: None,
    grace_s: float = GRACE_S,
    clock: Callable[[], float] = time.monotonic,
) -> Ending:
    """Run each (command, environment) as a worker until all have ended; call it in the main thread.

    write: takes whole lines for file 1 or 2. say: called once, when it is known why all must end, before they do.
    grace_s: from SIGTERM to SIGKILL. A second Ctrl-C does not wait for it.
    Raises: OSError: a program cannot be started; what `write` raises. Nothing runs on then, either.
    """
    with ExitStack() as open_, _obeying() as asked:
        group = _Group(write, say, grace_s, clock, asked)
        open_.callback(group.close)
        for rank, (command, environment) in enumerate(commands):
            group.start(rank, command, environment)
        while not group.tick():
            pass
        return group.ending()


class _Group:
    def __init__(
        self,
        write: Callable[[int, bytes], None],
        say: Callable[[Ending], None],
        grace_s: float,
        clock: Callable[[], float],
        asked: list[int],
    ) -> None:
        self._write, self._say, self._grace_s, self._clock, self._asked = write, say, grace_s, clock, asked
        self._selector = selectors.DefaultSelector()
        self._workers: list[Worker] = []
        self._lines: dict[int, Lines] = {}
        self._ended_at: dict[int, float] = {}
        self._why: Ending | None = None
        self._kill_at = 0.0
        self._heard = 0

    def start(self, rank: int, command: Sequence[str], environment: Mapping[str, str]) -> None:
        worker = Worker(rank, command, environment)
        self._workers.append(worker)
        for file, stream in ((1, worker.stdout), (2, worker.stderr)):
            os.set_blocking(stream, False)
            lines = Lines(f"[{rank}] ".encode(), lambda data, file=file: self._write(file, data))  # type: ignore[misc]  # bound now
            self._lines[stream] = lines
            self._selector.register(stream, selectors.EVENT_READ, lines)
        if hasattr(os, "pidfd_open"):  # so that who failed first is known; elsewhere by the tick
            watch = os.pidfd_open(worker.pid)
            self._selector.register(watch, selectors.EVENT_READ, None)

    def tick(self) -> bool:
        """Wait for output or an end, and do what follows from it. Whether all is over."""
        for key, _ in self._selector.select(_TICK_S):
            if key.data is None:
                self._selector.unregister(key.fd)
                os.close(key.fd)
            else:
                self._read(key.fd)
        self._obey()
        self._look_for_ends()
        self._force()
        now = self._clock()
        return all(
            worker.rank in self._ended_at
            and (worker.is_gone() or now > self._ended_at[worker.rank] + _LEFTOVER_GRACE_S + _LAST_S)
            for worker in self._workers
        )

    def ending(self) -> Ending:
        """Why it ended; the rest of the output is passed on first."""
        self._drain()
        return self._why or Ending(status=0)

    def close(self) -> None:
        """End what runs. Idempotent."""
        for worker in self._workers:
            worker.close()
        for key in list(self._selector.get_map().values()):
            if key.data is None:
                os.close(key.fd)
        self._selector.close()

    def _read(self, stream: int) -> bool:
        """Pass on what is there; whether there may be more."""
        try:
            data = os.read(stream, _CHUNK)
        except BlockingIOError:
            return False
        if data:
            self._lines[stream].feed(data)
        else:
            self._selector.unregister(stream)
        return bool(data)

    def _drain(self) -> None:
        for stream, lines in self._lines.items():
            while stream in self._selector.get_map() and self._read(stream):
                pass
            lines.close()

    def _obey(self) -> None:
        while self._heard < len(self._asked):
            number = self._asked[self._heard]
            self._heard += 1
            if self._why is None:
                self._end_all(Ending(status=128 + number), number)
            else:
                self._kill_at = self._clock()

    def _look_for_ends(self) -> None:
        """Note who has ended. Of several found at once, one that a signal ended is the cause more likely."""
        now = self._clock()
        ended = [
            worker for worker in self._workers if worker.rank not in self._ended_at and worker.status() is not None
        ]
        for worker in ended:
            self._ended_at[worker.rank] = now
            worker.signal_group(signal.SIGTERM)
        failed = [worker for worker in ended if worker.status()]
        if failed and self._why is None:
            first = min(failed, key=lambda worker: ((worker.status() or 0) > 0, worker.rank))
            self._drain_of(first)
            status = first.status() or 0
            self._end_all(
                Ending(status=status if status > 0 else 128 - status, rank=first.rank, last_lines=self._tail(first)),
                signal.SIGTERM,
            )

    def _drain_of(self, worker: Worker) -> None:
        for stream in (worker.stdout, worker.stderr):
            while stream in self._selector.get_map() and self._read(stream):
                pass

    def _tail(self, worker: Worker) -> tuple[str, ...]:
        return tuple(self._lines[worker.stderr].tail or self._lines[worker.stdout].tail)

    def _end_all(self, why: Ending, number: int) -> None:
        self._why = why
        self._kill_at = self._clock() + self._grace_s
        self._say(why)
        for worker in self._running():
            worker.signal_group(number)

    def _force(self) -> None:
        now = self._clock()
        if self._why is not None and now >= self._kill_at:
            for worker in self._running():
                worker.signal_group(signal.SIGKILL)
        for worker in self._workers:
            if worker.rank in self._ended_at and now >= self._ended_at[worker.rank] + _LEFTOVER_GRACE_S:
                worker.signal_group(signal.SIGKILL)

    def _running(self) -> Iterator[Worker]:
        return (worker for worker in self._workers if worker.rank not in self._ended_at)


@contextmanager
def _obeying() -> Iterator[list[int]]:
    """The signals that asked us to end, as they come, instead of ending us; one that is ignored (nohup) stays so."""
    asked: list[int] = []

    def note(number: int, frame: FrameType | None) -> None:
        asked.append(number)

    heard = [number for number in _OBEYED if signal.getsignal(number) != signal.SIG_IGN]
    before = {number: signal.signal(number, note) for number in heard}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
