"""Where the producers of batches spend their time, from samples of the stacks of all threads of this process.

A thread of its own looks at the stacks some 50 times a second, more rarely where looking takes long, so that it costs
at most 1 % of a core. A sample counts where it shows the user's code in a thread that makes batches: any but the
trainer's, and the trainer's while it is inside a request. It is charged to the innermost function of the user's, at the
very call it is in, with what the thread did at that moment: the kernel tells whether it ran, slept, or waited in which
system call. A thread that waits for a lock where its Python would go on waits for the GIL, for the sampler holds it.
"""

from __future__ import annotations

import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from dis import opname
from types import CodeType, FrameType
from typing import Literal

from penstock.probes.place import is_users

Doing = Literal["native", "python", "storage", "sleep", "idle", "unknown"]
_SHORTEST_S = 0.02
_MOST_SHARE = 0.01
_DEEPEST = 60
_SYSCALLS: dict[str, dict[Doing, set[int]]] = {
    "x86_64": {
        "storage": {0, 2, 4, 5, 7, 17, 19, 45, 47, 232, 257, 262, 271, 281, 295},
        "sleep": {23, 35, 230, 270},
        "python": {202},
    },
    "aarch64": {
        "storage": {22, 56, 63, 65, 67, 73, 79, 80, 207, 212},
        "sleep": {72, 101, 115},
        "python": {98},
    },
}  # read, open, stat, poll, pread, recv, epoll ...; nanosleep, select; futex
_CALLS = {number: doing for doing, numbers in _SYSCALLS.get(platform.machine(), {}).items() for number in numbers}
_FLOORS = ("_penstock_request", "_worker_loop", "_bootstrap")  # what called these is not what makes batches
_WAITERS = ("threading.py", "queue.py", "selectors.py", "concurrent/futures/thread.py", "multiprocessing/connection.py")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place in the user's code: its function, the instruction it is at, the innermost function called from there.

    doing: what its thread did then.
    """

    code: CodeType
    instruction: int
    leaf: CodeType
    doing: Doing


@dataclass(slots=True)
class Samples:
    """What was seen of one loader: samples by spot, rounds of looking, seconds between two of them."""

    spots: Counter[Spot] = field(default_factory=Counter)
    rounds: int = 0
    seconds: float = 0.0

    @property
    def interval_s(self) -> float:
        """Seconds that one sample stands for."""
        return self.seconds / self.rounds if self.rounds else 0.0


class StackSampler:
    """The thread. `whose(thread)` gives the samples that a thread's stack belongs to now, None: to nobody's.

    `looked()` is called after each round, for what else has to be done from time to time.
    """

    def __init__(
        self, whose: Callable[[int], Samples | None], everyone: Callable[[], Iterable[Samples]],
        looked: Callable[[], None] = lambda: None,
    ) -> None:  # fmt: skip
        self.cpu_s = 0.0
        self._whose = whose
        self._everyone = everyone
        self._looked = looked
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock-stacks", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()

    def _run(self) -> None:
        interval_s, before = _SHORTEST_S, time.perf_counter()
        while not self._stop.wait(interval_s):
            began_s, now = time.thread_time(), time.perf_counter()
            self.look(sys._current_frames(), now - before)
            before = now
            spent_s = time.thread_time() - began_s
            self.cpu_s += spent_s
            interval_s = max(_SHORTEST_S, (interval_s + spent_s / _MOST_SHARE) / 2)
            self._looked()

    def look(self, frames: dict[int, FrameType], seconds: float) -> None:
        """Count one sample of these stacks, `seconds` after the last."""
        for samples in self._everyone():
            samples.rounds += 1
            samples.seconds += seconds
        mine = threading.get_ident()
        for thread, frame in frames.items():
            samples_of_it = None if thread == mine else self._whose(thread)
            found = spot_of(frame) if samples_of_it is not None else None
            if found is None or samples_of_it is None:
                continue
            doing = doing_of(thread, is_waiting_in_library=_is_waiter(frame))
            if doing == "unknown" and found is frame and not _is_at_call(frame):
                doing = "python"  # of a thread of C++'s own, whose number the kernel is not asked by
            if doing != "idle":
                samples_of_it.spots[Spot(found.f_code, found.f_lasti, frame.f_code, doing)] += 1


def spot_of(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's code within the request or the worker, a few frames deep."""
    for _ in range(_DEEPEST):
        if frame is None or frame.f_code.co_name in _FLOORS:
            return None
        if is_users(frame.f_code):
            return frame
        frame = frame.f_back
    return None


def doing_of(thread: int, *, is_waiting_in_library: bool = False) -> Doing:
    """What a thread of this process does now, as the kernel has it; "unknown" where it does not say.

    is_waiting_in_library: its Python is in a queue or a condition, so a lock that it waits for is not the GIL.
    """
    native = _native_id(thread)
    doing: Doing = "unknown" if native is None else _told_by_kernel(native)
    return "idle" if is_waiting_in_library and doing != "storage" else doing


def _told_by_kernel(native: int) -> Doing:
    folder = f"/proc/self/task/{native}/"
    try:
        with open(folder + "stat", "rb", buffering=0) as file:
            state = file.read(512).rpartition(b")")[2].split(None, 1)[0]
        if state == b"R":
            return "native"
        if state == b"D":
            return "storage"
        with open(folder + "syscall", "rb", buffering=0) as file:
            number = int(file.read(64).split(None, 1)[0])
    except (OSError, ValueError, IndexError):
        return "unknown"
    return _CALLS.get(number, "unknown")


def _is_at_call(frame: FrameType) -> bool:
    return frame.f_lasti < 0 or opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")


def _is_waiter(frame: FrameType) -> bool:
    return frame.f_code.co_filename.endswith(_WAITERS)


def _native_id(thread: int) -> int | None:
    known = threading._active.get(thread)  # type: ignore[attr-defined] # threads that C++ made are known there too, once they ran Python
    return getattr(known, "native_id", None)
