"""One worker process, with everything it starts: a session of its own that ends, however its launcher ends.

A worker holds one end of a pipe on which nothing is ever written. When the launcher's end closes, by `kill -9` too,
the kernel kills the worker's process group. It needs nothing of the worker: it is set up before the script starts.
"""

from __future__ import annotations

import fcntl
import os
import select
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress


class Worker:
    """A process in a process group of its own; `stdout` and `stderr` are the ends of its pipes to read from."""

    def __init__(self, rank: int, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self.rank = rank
        theirs, self._lifeline = os.pipe()
        try:
            self._process = subprocess.Popen(
                command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                bufsize=0, pass_fds=(theirs,), start_new_session=True,
                preexec_fn=_die_with(theirs),  # noqa: PLW1509 - no other thread runs here; afterwards it would be late
            )  # fmt: skip
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(theirs)
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self.stdout = self._process.stdout.fileno()
        self.stderr = self._process.stderr.fileno()

    @property
    def pid(self) -> int:
        """Of the process, and of the group of all that it starts."""
        return self._process.pid

    def status(self) -> int | None:
        """Its exit status, negative for a signal; None while it runs."""
        return self._process.poll()

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and what it started; nothing where all of that has ended."""
        with suppress(ProcessLookupError, PermissionError):  # macOS says the latter of processes that have ended
            os.killpg(self.pid, number)

    def is_gone(self) -> bool:
        """Whether it has ended and nothing that it started is left."""
        if self.status() is None:
            return False
        try:
            os.killpg(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return True
        return False

    def close(self) -> None:
        """End what is left, at once. Idempotent."""
        if self._process.returncode is None or not self.is_gone():
            self.signal_group(signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdout, self._process.stderr):
            if stream is not None:
                stream.close()
        lifeline, self._lifeline = self._lifeline, -1
        if lifeline >= 0:
            os.close(lifeline)


def _die_with(lifeline: int) -> Callable[[], None]:
    """What runs in the worker before its program: the group is killed when the lifeline's other end closes."""

    def prepare() -> None:
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpid())
        if hasattr(fcntl, "F_SETSIG"):
            fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)  # elsewhere it is SIGIO, which few handle
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
        if select.select([lifeline], [], [], 0)[0]:
            os._exit(1)

    return prepare
