"""What threads of this process do at this moment, without letting go of the GIL: so the answer is of one moment.

Linux tells of each thread the system call it is in, with its arguments (/proc/self/task/N/syscall), and how long it has
waited for a core (schedstat). A wait for the GIL is a futex inside CPython's own runtime structure.
"""

from __future__ import annotations

import ctypes
import os
import platform
from contextlib import suppress
from typing import Literal

State = Literal["running", "gil", "reading", "waiting"]
_RUNTIME_BYTES = 2**20  # _PyRuntime, with the main interpreter in it, takes 0.1 to 0.4 MiB in CPython 3.11 to 3.14
_TEXT_BYTES = 256

# futex; then open, read, pread, readv, preadv, receive, poll, select, epoll and connect
_CALLS: dict[str, tuple[int, frozenset[int]]] = {
    "x86_64": (202, frozenset({0, 2, 7, 17, 19, 23, 42, 45, 47, 232, 257, 270, 271, 281, 295})),
    "aarch64": (98, frozenset({22, 56, 63, 65, 67, 69, 72, 73, 203, 207, 212})),
}


def state_of(text: str, futex: int, reads: frozenset[int], runtime: int) -> State:
    """What a line of `syscall` says: `running`, or the number of the call and its arguments in hexadecimal.

    "running": on a core, or able to be. "gil": waits for the GIL. "reading": in a call that reads, or waits for
    something to read. runtime: where CPython's runtime structure is.
    """
    words = text.split()
    if not words or words[0] == "running":
        return "running"
    try:
        number, first = int(words[0]), int(words[1], 16) if len(words) > 1 else 0
    except ValueError:
        return "waiting"
    if number == futex:
        return "gil" if runtime <= first < runtime + _RUNTIME_BYTES else "waiting"
    return "reading" if number in reads else "waiting"


class ThreadStates:
    """Reads threads by their native id. Not for several threads at once. Cost: 6 us a question, with the GIL held."""

    def __init__(self) -> None:
        """Raises: OSError: the system does not tell."""
        known = _CALLS.get(platform.machine())
        if known is None or os.name != "posix":
            raise OSError(f"no system calls are known for {platform.machine()}")
        self._futex, self._reads = known
        library = ctypes.PyDLL(None)  # calls by it keep the GIL
        self._pread = library.pread
        self._pread.argtypes = (ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long)
        self._pread.restype = ctypes.c_ssize_t
        try:
            self._runtime = ctypes.addressof(ctypes.c_char.in_dll(ctypes.pythonapi, "_PyRuntime"))
        except ValueError as error:
            raise OSError("this interpreter does not tell where its runtime is") from error
        self._buffer = ctypes.create_string_buffer(_TEXT_BYTES)
        self._files: dict[tuple[int, str], int] = {}
        self._gone: set[int] = set()
        if not self._text(os.getpid(), "syscall"):
            raise OSError("the system does not tell what threads do")

    def know(self, thread: int) -> None:
        """Open what is to be read of a thread; others may run meanwhile."""
        for name in ("syscall", "schedstat"):
            if (thread, name) not in self._files and thread not in self._gone:
                try:
                    self._files[thread, name] = os.open(f"/proc/self/task/{thread}/{name}", os.O_RDONLY)
                except OSError:
                    self._gone.add(thread)

    def state(self, thread: int) -> State:
        """What a known thread does now; of one that is not known, "waiting"."""
        text = self._text(thread, "syscall")
        return state_of(text, self._futex, self._reads, self._runtime) if text else "waiting"

    def queued_s(self, thread: int) -> float:
        """Seconds a known thread has waited for a core, since it began."""
        words = self._text(thread, "schedstat").split()
        return int(words[1]) * 1e-9 if len(words) > 1 and words[1].isdecimal() else 0.0

    def _text(self, thread: int, name: str) -> str:
        file = self._files.get((thread, name))
        if file is None:
            self.know(thread)
            file = self._files.get((thread, name))
        if file is None:
            return ""
        count = self._pread(file, self._buffer, _TEXT_BYTES, 0)
        return self._buffer.raw[:count].decode(errors="replace") if count > 0 else ""

    def close(self) -> None:
        for file in self._files.values():
            with suppress(OSError):
                os.close(file)
        self._files.clear()
