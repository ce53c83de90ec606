"""What this host can do at most, measured in less than a second each: memory, storage, and whatever function is given.

Other work on the machine makes every number smaller; so each is the best of several short runs.
"""

from __future__ import annotations

import mmap
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Now = Callable[[], float]
Bytes = NDArray[np.uint8]

BUDGET_S = 0.3
_RUNS = 3
_COPY_BYTES = 32 * 2**20
_READ_BYTES = 2**20
_MOST_READ_BYTES = 256 * 2**20
_SMALL_BYTES = 4096
_MOST_SMALL_READS = 32
_MOST_FILES = 64


def memcpy_core(now: Now = time.thread_time, budget_s: float = BUDGET_S) -> float:
    """Bytes per second that one thread copies, from 32 MiB to 32 MiB: past any cache.

    By the thread's CPU seconds, so that other work on the core does not count. Cost: `budget_s`, and 64 MiB to fill.
    """
    source, target = _two_pieces()
    return _COPY_BYTES * calls_per_s(lambda: np.copyto(target, source), now, budget_s)


def memcpy_all(cores: int, now: Now = time.perf_counter, budget_s: float = BUDGET_S) -> float:
    """Bytes per second that `cores` threads copy together, each between pieces of its own; the best of three runs.

    Cost: `budget_s`, and filling 64 MiB for each core first.
    """
    pairs = [_two_pieces() for _ in range(cores)]
    best = 0.0
    with ThreadPoolExecutor(cores) as threads:
        for _ in range(_RUNS):
            began = now()
            copied = sum(threads.map(partial(_copy_until, now, began + budget_s / _RUNS), pairs))
            best = max(best, _rate(copied, began, now))
    return best


def _two_pieces() -> tuple[Bytes, Bytes]:
    return np.ones(_COPY_BYTES, np.uint8), np.ones(_COPY_BYTES, np.uint8)


def _copy_until(now: Now, deadline: float, pair: tuple[Bytes, Bytes]) -> int:
    """Bytes copied until then, or a little later; once at least."""
    copied = 0
    while not copied or now() < deadline:
        np.copyto(pair[1], pair[0])
        copied += _COPY_BYTES
    return copied


def _rate(amount: float, began: float, now: Now) -> float:
    spent = now() - began
    return amount / spent if spent > 0 else 0.0


def calls_per_s(call: Callable[[], object], now: Now = time.thread_time, budget_s: float = BUDGET_S) -> float:
    """How often one core gets through `call` in a second, in the best third of `budget_s`; the first is not counted."""
    call()
    best = 0.0
    for _ in range(_RUNS):
        began, calls = now(), 0
        while not calls or now() - began < budget_s / _RUNS:
            call()
            calls += 1
        best = max(best, _rate(calls, began, now))
    return best


@dataclass(frozen=True, slots=True)
class StorageSpeed:
    """Bytes per second in order, seconds of one small read, and whether both were past the page cache."""

    bytes_per_s: float
    latency_s: float
    is_cold: bool


def storage_speed(path: str | Path, now: Now = time.perf_counter, budget_s: float = BUDGET_S) -> StorageSpeed | None:
    """What reading at `path` gives: of a file, or of the largest of the first files in a folder. None: none is there.

    It is read past the page cache where the system drops it when asked to (Linux, files that are on the disk already);
    a file that is mapped or being written stays in it, which `is_cold` tells.
    Cost: twice `budget_s` at most, and 256 MiB of reading.
    """
    found = _file_at(Path(path))
    if found is None:
        return None
    try:
        with _opened(found) as file:
            size = os.fstat(file).st_size
            return _measure(file, size, now, budget_s) if size else None
    except OSError:
        return None


def _measure(file: int, size: int, now: Now, budget_s: float) -> StorageSpeed:
    cold = _drop(file, size)
    seconds: list[float] = []
    offsets = np.random.default_rng(0).permutation(max(1, size // _SMALL_BYTES))[:_MOST_SMALL_READS] * _SMALL_BYTES
    began = now()
    for offset in offsets.tolist():
        before = now()
        os.pread(file, _SMALL_BYTES, offset)
        seconds.append(now() - before)
        if now() - began > budget_s:
            break
    cold = _drop(file, size) and cold
    read, began = 0, now()
    while read < min(size, _MOST_READ_BYTES):
        read += len(os.pread(file, _READ_BYTES, read)) or size
        if now() - began > budget_s:
            break
    spent = now() - began
    return StorageSpeed(min(read, size) / spent if spent > 0 else 0.0, float(np.median(seconds)), cold)


def _file_at(path: Path) -> Path | None:
    """`path`, or the largest of the first files below it."""
    try:
        if path.is_file():
            return path
        files: list[tuple[int, Path]] = []
        for folder, _, names in os.walk(path):
            for name in names:
                file = Path(folder) / name
                if file.is_file():
                    files.append((file.stat().st_size, file))
            if len(files) >= _MOST_FILES:
                break
        return max(files)[1] if files else None
    except OSError:
        return None


@contextmanager
def _opened(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_RDONLY)
    try:
        yield file
    finally:
        os.close(file)


def _drop(file: int, size: int) -> bool:
    """Have the system forget what it holds of a file; whether it has."""
    if not hasattr(os, "posix_fadvise"):
        return False
    os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    if not hasattr(os, "RWF_NOWAIT"):
        return False
    buffer = bytearray(mmap.PAGESIZE)
    for offset in (0, size // 2):
        try:
            if os.preadv(file, [buffer], offset, os.RWF_NOWAIT):
                return False  # it is in memory still
        except BlockingIOError:
            continue
        except OSError:  # a file system that does not know the flag
            return False
    return True
