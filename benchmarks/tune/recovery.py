"""From the worst setting to 95 % of the best: how long, and at what cost then; beside tf.data's own AUTOTUNE.

Both start at parallelism 1, no prefetch, smallest buffers, and are tuned while a consumer takes batches as fast as it
can, or at fixed times that leave a fifth of the best capacity (paced). The best setting is found by hand among a few
that stay; it runs before and after the tuned run, so that both see the same noise. Rates are of sliding windows of one
second; CPU seconds an element are those of the last `END_S` seconds. Wanted: 95 % within 20 s, at most 1.15 times the
CPU. Each loader is compared with its own best.
"""

from __future__ import annotations

import argparse
import bisect
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from benchmarks.compare.examples import corpus
from benchmarks.compare.image_corpus import SMALL, make
from benchmarks.compare.object_server import serving
from benchmarks.harness import ROOT, Result
from benchmarks.tune.workloads import NAMES, STEP

END_S, WINDOW_S = 5.0, 1.0
SHARE, SLACK = 0.95, 1.25
FIXED_S, TUNED_S = 5.0, 20.0
LATENCY_S = 0.03

Setting = dict[str, int]
_CORES = os.cpu_count() or 1
_COMPUTES: tuple[Setting, ...] = ({"parallelism": _CORES, "prefetch": 2}, {"parallelism": _CORES, "prefetch": 8})
_SLEEPS: tuple[Setting, ...] = tuple({"parallelism": width, "prefetch": 32} for width in (16, 32, 64))
SETTINGS: dict[tuple[str, str], tuple[Setting, ...]] = {
    ("penstock", "images"): _COMPUTES,
    ("penstock", "records"): _COMPUTES,
    ("penstock", "latency"): tuple(
        {"parallelism": _CORES, "prefetch": 8, "read_ahead": calls} for calls in (32, 64, 128)
    ),
    ("penstock", "tail"): _SLEEPS,
    ("tf.data", "images"): _COMPUTES,
    ("tf.data", "records"): _COMPUTES,
    ("tf.data", "latency"): _SLEEPS,
    ("tf.data", "tail"): _SLEEPS,
}


@dataclass(frozen=True, slots=True)
class Ran:
    """Steps received: when, and how long each was waited for; CPU seconds so far, by time."""

    marks: tuple[float, ...]
    waits: tuple[float, ...]
    cpu: tuple[tuple[float, float], ...]
    log: tuple[str, ...] = ()
    tuned: Any = None

    def rate(self, start: float, stop: float) -> float:
        """Steps per second."""
        return (bisect.bisect(self.marks, stop) - bisect.bisect(self.marks, start)) / (stop - start)

    @property
    def end(self) -> tuple[float, float]:
        """The last seconds."""
        stop = self.cpu[-1][0]
        return max(0.0, stop - END_S), stop

    @property
    def end_cpu_s(self) -> float:
        """CPU seconds a step at the end."""
        start, _ = self.end
        first = min(self.cpu, key=lambda read: abs(read[0] - start))
        last = self.cpu[-1]
        return (last[1] - first[1]) / max(1e-9, self.rate(first[0], last[0]) * (last[0] - first[0]))

    @property
    def steady(self) -> float:
        """Steps per second without the first second."""
        return self.rate(WINDOW_S, self.cpu[-1][0])

    @property
    def readiness(self) -> float:
        """Share of requests at the end that did not wait longer than taking what is there."""
        start, _ = self.end
        late = [wait for at, wait in zip(self.marks, self.waits, strict=True) if at >= start]
        return sum(wait < 0.002 for wait in late) / max(1, len(late))

    def reached(self, rate: float) -> float | None:
        """When it first kept up with so many steps per second; None: never."""
        times = [mark for mark in self.marks if mark >= WINDOW_S]
        return next((at for at in times if self.rate(at - WINDOW_S, at) >= rate), None)


@dataclass(frozen=True, slots=True)
class Contender:
    """A load by a loader. port: of the server."""

    load: str
    loader: str
    port: str

    def run(self, setting: str | Setting, seconds: float, step_s: float = 0.0) -> Ran:
        """One process."""
        said = setting if isinstance(setting, str) else json.dumps(setting)
        environment = {**os.environ, "PYTHONPATH": f"{ROOT / 'python'}{os.pathsep}{ROOT}", "TF_CPP_MIN_LOG_LEVEL": "3"}
        words = [self.load, self.loader, said, str(seconds), str(step_s), self.port]
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.tune.running", *words],
            capture_output=True, text=True, cwd=ROOT, env=environment, check=False,
        )  # fmt: skip
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} failed: {done.stderr[-2000:]}")
        answer = json.loads(done.stdout.splitlines()[-1])
        return Ran(
            tuple(answer["marks"]), tuple(answer["waits"]), tuple(map(tuple, answer["cpu"])),
            tuple(answer.get("log", ())), answer.get("tuned"),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Recovery:
    """One tuned run beside the best that stays. Rates in elements/s; cpu in CPU seconds an element."""

    load: str
    loader: str
    consumer: str
    best: Setting
    best_rate: float
    best_cpu_s: float
    reached_s: float | None
    end_rate: float
    end_cpu_s: float
    end_readiness: float
    tuned: Any
    log: tuple[str, ...]

    def line(self) -> str:
        reached = "never" if self.reached_s is None else f"{self.reached_s:.1f} s"
        return (
            f"{self.load:8} {self.consumer:9} {self.loader:9} {self.best_rate:10.0f} {reached:>8}"
            f" {self.end_rate / self.best_rate:8.2f} {self.end_cpu_s / self.best_cpu_s:8.2f}"
            f" {self.end_readiness:10.3f}"
        )


def recover(contender: Contender) -> list[Recovery]:
    """The run of a consumer as fast as it can be, and the paced one."""
    fixed = SETTINGS[contender.loader, contender.load]
    first = [contender.run(setting, FIXED_S) for setting in fixed]
    best = max(range(len(fixed)), key=lambda number: first[number].steady)
    tuned = contender.run("worst", TUNED_S)
    both = (first[best], contender.run(fixed[best], FIXED_S))
    fast = _recovery(contender, "fast", fixed[best], both, tuned)
    step_s = SLACK * STEP[contender.load] / fast.best_rate
    beside = contender.run(fixed[best], 2 * FIXED_S, step_s)
    paced = contender.run("worst", TUNED_S, step_s)
    return [fast, _recovery(contender, "paced", fixed[best], (beside,), paced)]


def _recovery(contender: Contender, consumer: str, best: Setting, fixed: Sequence[Ran], ran: Ran) -> Recovery:
    step = STEP[contender.load]
    rate = statistics.mean(one.steady for one in fixed)
    return Recovery(
        load=contender.load, loader=contender.loader, consumer=consumer, best=best, best_rate=rate * step,
        best_cpu_s=statistics.mean(one.end_cpu_s for one in fixed) / step, reached_s=ran.reached(SHARE * rate),
        end_rate=ran.rate(*ran.end) * step, end_cpu_s=ran.end_cpu_s / step, end_readiness=ran.readiness,
        tuned=ran.tuned, log=ran.log,
    )  # fmt: skip


def measure(loads: Sequence[str], loaders: Sequence[str]) -> list[Recovery]:
    make(SMALL)
    corpus()
    with serving(LATENCY_S) as port:
        return [found for load in loads for loader in loaders for found in recover(Contender(load, loader, port))]


def run(rounds: int) -> Result:
    """`rounds` is not used: a run takes as long as tuning does."""
    return _result(measure(NAMES, ("penstock", "tf.data")))


def _result(found: list[Recovery]) -> Result:
    head = (
        f"{'load':8} {'consumer':9} {'loader':9} {'best el/s':>10} {'95 % at':>8} {'end/best':>8} {'CPU/best':>8}"
        f" {'readiness':>10}"
    )
    ours = [one for one in found if one.loader == "penstock"]
    soon = sum(one.reached_s is not None and one.reached_s <= 20 for one in ours)
    cheap = sum(one.end_cpu_s <= 1.15 * one.best_cpu_s for one in ours)
    tail = f"penstock: within 20 s {soon} of {len(ours)}; at most 1.15 times the CPU at the end {cheap} of {len(ours)}"
    what = "from parallelism 1, no prefetch, smallest buffers to 95 % of the best setting found by hand"
    lines = [head, *(one.line() for one in found), tail]
    return Result("tune-recovery", what, lines, {"runs": [asdict(one) for one in found]})


def main() -> None:
    """Run some of it."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tune.recovery", description=__doc__)
    parser.add_argument("loads", nargs="*", metavar="load", help=f"of {', '.join(NAMES)}")
    parser.add_argument("--loaders", nargs="+", default=["penstock", "tf.data"])
    parser.add_argument("--log", action="store_true", help="print the tuning logs")
    parser.add_argument("--keep", action="store_true", help="write the figures to benchmarks/results/")
    arguments = parser.parse_args()
    result = _result(found := measure(arguments.loads or NAMES, arguments.loaders))
    print(result.table(), flush=True)
    if arguments.log:
        for one in found:
            print(f"-- {one.load}, {one.consumer}, {one.loader}: {one.tuned}", *one.log, sep="\n   ")
    if arguments.keep:
        print(f"kept in {result.keep()}", flush=True)


if __name__ == "__main__":
    main()
