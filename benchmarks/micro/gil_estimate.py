"""How well telemetry/gil.py estimates what it claims to: functions of known kinds, estimated against true.

True is known because each function times its parts. All seconds of pure Python are spent with the GIL or waiting for
it, on a core or not. Of code that lets go of it, those are neither that it was on a core, slept, or waited for a
core; what is left of its wall seconds it waited for the GIL.

    python -m benchmarks.micro.gil_estimate [seconds]
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock import Dataset, Options
from penstock.telemetry.waiting import queued_s

THREADS = 2
_own = threading.local()


class Truth:
    """Seconds of all calls: in all, and with the GIL or waiting for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wall_s = self.gil_s = 0.0

    def add(self, wall_s: float, gil_s: float) -> None:
        with self.lock:
            self.wall_s += wall_s
            self.gil_s += gil_s


def loop(steps: int) -> float:
    """Pure Python; gives its seconds with the GIL."""
    began = time.perf_counter()
    total = 0
    for number in range(steps):
        total += number * number
    return time.perf_counter() - began


def without_gil(call: Callable[[], object], least_s: float = 0.0) -> float:
    """What lets go of the GIL for `least_s` asleep, or for as long as it is on a core; gives what it waited for it."""
    queued, cpu_s, began = queued_s(), time.thread_time(), time.perf_counter()
    call()
    spent_s, cpu_s = time.perf_counter() - began, time.thread_time() - cpu_s
    return max(0.0, spent_s - cpu_s - least_s - (queued_s() - queued))


def sort(rows: int) -> float:
    """NumPy on a large array."""
    values = _own.__dict__.setdefault(f"values{rows}", np.random.default_rng(0).random(rows))
    return without_gil(lambda: np.sort(values))


def sleep(seconds: float) -> float:
    return without_gil(lambda: time.sleep(seconds), seconds)


def made_of(*parts: Callable[[], float]) -> Callable[[Truth], Callable[[Any], Any]]:
    """A function that does `parts` one after another and tells the truth of it."""

    def for_truth(truth: Truth) -> Callable[[Any], Any]:
        def function(x: Any) -> Any:
            began = time.perf_counter()
            gil_s = sum(part() for part in parts)
            truth.add(time.perf_counter() - began, gil_s)
            return x

        return function

    return for_truth


FUNCTIONS = {
    "pure Python, 5 ms": made_of(lambda: loop(60_000)),
    "pure Python, 0.3 ms": made_of(lambda: loop(4_000)),
    "NumPy on large arrays": made_of(lambda: sort(200_000)),
    "sleep": made_of(lambda: sleep(0.005)),
    "half Python, half NumPy": made_of(lambda: loop(60_000), lambda: sort(60_000)),
    "half Python, half sleep": made_of(lambda: loop(60_000), lambda: sleep(0.005)),
    "a tenth Python, else sleep": made_of(lambda: loop(12_000), lambda: sleep(0.009)),
}


def measure(make: Callable[[Truth], Callable[[Any], Any]], seconds: float, threads: int) -> tuple[float | None, float]:
    """The estimated and the true share of busy seconds."""
    truth = Truth()
    options = Options(executor="threads", block_size=8)
    dataset = Dataset.range(10**9).map(make(truth), num_parallel_calls=threads, compile=False).with_options(options)
    until = time.monotonic() + seconds
    with iter(dataset) as iterator:
        while time.monotonic() < until:
            next(iterator)
        step = next(step for step in iterator.trace().steps if step.verb == "map")
    return (None if step.gil_s is None else step.gil_s / step.busy_s), truth.gil_s / truth.wall_s


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 3.0
    print(f"{'function':28} threads  estimated  true   error  (shares of busy seconds, {seconds:g} s each)")
    errors = []
    for name, make in FUNCTIONS.items():
        for threads in (1, THREADS):
            estimated, true = measure(make, seconds, threads)
            if estimated is None:
                print(f"{name:28} {threads:7}  {'none':>9}  {true:5.2f}")
                continue
            errors.append(abs(estimated - true))
            print(f"{name:28} {threads:7}  {estimated:9.2f}  {true:5.2f}  {estimated - true:+.2f}")
    print(f"error: mean {np.mean(errors):.3f}, largest {max(errors):.3f}")


if __name__ == "__main__":
    main()
