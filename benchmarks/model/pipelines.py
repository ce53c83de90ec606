"""Random pipelines of known kinds of work, each in two settings that changes of `penstock.model` tell apart."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from penstock.model.predict import Change, Executor, Prefetch, TrainerStep, Workers
from penstock.telemetry.trace import Trace

KINDS = ("sleep", "tail", "numpy", "gil", "read")
FILE_BYTES = 2**20
_GIL_STEPS_PER_S = 24e6
_SORTED, _SORT_S = 50_000, 2e-4  # so many numbers take so long, about
_READ_S = 3e-4  # of the file, about
_WORKERS = (1, 2, 4)


def sleeping(seconds: float, value: Any) -> np.ndarray:
    """Waits, as for a server."""
    time.sleep(seconds)
    return _result(value)


def tailed(seconds: float, value: Any) -> np.ndarray:
    """One element in 50 waits 20 times as long."""
    time.sleep(seconds * (20 if int(np.ravel(value)[0]) % 50 == 7 else 1) / 1.38)
    return _result(value)


def computing(numbers: np.ndarray, times: int, value: Any) -> np.ndarray:
    """NumPy on a large array: lets go of the GIL."""
    for _ in range(times):
        np.sort(numbers)
    return _result(value)


def holding(steps: int, value: Any) -> np.ndarray:
    """Pure Python: holds the GIL."""
    total = 0
    for step in range(steps):
        total = (total * 31 + step) & 0xFFFF
    return _result(value)


def reading(path: str, times: int, value: Any) -> np.ndarray:
    """Reads a file of the page cache, and looks at all of its bytes."""
    for _ in range(times):
        np.fromfile(path, np.uint64).max()
    return _result(value)


def _result(value: Any) -> np.ndarray:
    return np.full(64, np.ravel(value)[0], np.float32)


@dataclass(frozen=True, slots=True)
class Work:
    """A map of one kind that takes about so many seconds an element."""

    kind: str
    seconds: float

    def function(self, path: Path) -> Callable[[Any], np.ndarray]:
        match self.kind:
            case "sleep":
                return partial(sleeping, self.seconds)
            case "tail":
                return partial(tailed, self.seconds)
            case "gil":
                return partial(holding, max(1, int(self.seconds * _GIL_STEPS_PER_S)))
            case "read":
                return partial(reading, str(path), max(1, round(self.seconds / _READ_S)))
        numbers = np.random.default_rng(0).random(_SORTED, np.float32)
        return partial(computing, numbers, max(1, round(self.seconds / _SORT_S)))


@dataclass(frozen=True, slots=True)
class Setting:
    """workers: of each map. processes: where they run. prefetch: batches, 0: none said. step_s: the consumer's."""

    workers: tuple[int, ...]
    processes: bool
    prefetch: int
    step_s: float


@dataclass(frozen=True, slots=True)
class Case:
    """One or two maps over numbers, in batches; as they were measured, and as they will be."""

    works: tuple[Work, ...]
    batch: int
    before: Setting
    after: Setting

    def dataset(self, setting: Setting, path: Path) -> ps.Dataset:
        dataset = ps.Dataset.range(2**40)
        for work, workers in zip(self.works, setting.workers, strict=True):
            dataset = dataset.map(
                work.function(path), num_parallel_calls=workers, compile=False,
                executor="processes" if setting.processes else "threads",
            )  # fmt: skip
        dataset = dataset.batch(self.batch)
        if setting.prefetch:
            dataset = dataset.prefetch(setting.prefetch)
        return dataset.with_options(ps.Options(autotune=ps.AutotuneOptions(enabled=False)))

    def changes(self, trace: Trace) -> list[Change]:
        """From `before` to `after`, by the steps of the trace of `before`."""
        maps = [step.id for step in trace.steps if step.verb == "map"][::-1]
        stages = {step.id: step.stage for step in trace.steps}
        changes: list[Change] = []
        for number, workers in enumerate(self.after.workers):
            together = [
                self.after.workers[other] for other in range(len(maps)) if stages[maps[other]] == stages[maps[number]]
            ]
            if self.after.workers != self.before.workers:
                changes.append(Workers(stage=maps[number], workers=max(workers, *together)))
            if self.after.processes != self.before.processes:
                place = "processes" if self.after.processes else "threads"
                changes.append(Executor(step=maps[number], executor=place))
        if self.after.prefetch != self.before.prefetch:
            changes.append(Prefetch(depth=self.after.prefetch or 2))
        if self.after.step_s != self.before.step_s:
            changes.append(TrainerStep(seconds=self.after.step_s))
        return changes

    def __str__(self) -> str:
        maps = " ".join(f"{work.kind} {work.seconds * 1e3:.1f} ms" for work in self.works)
        return f"{maps}, batch {self.batch}: {_shown(self.before)} -> {_shown(self.after)}"


def _shown(setting: Setting) -> str:
    where = " processes" if setting.processes else ""
    workers = "+".join(map(str, setting.workers))
    return f"{workers}{where} prefetch {setting.prefetch} step {setting.step_s * 1e3:.0f} ms"


def draw_cases(count: int, seed: int) -> list[Case]:
    """`count` cases, no two alike."""
    draw = random.Random(seed)
    cases: list[Case] = []
    while len(cases) < count:
        case = _case(draw)
        if case is not None:
            cases.append(case)
    return cases


def _case(draw: random.Random) -> Case | None:
    works = tuple(
        Work(draw.choice(KINDS), draw.choice((0.0005, 0.001, 0.002, 0.004))) for _ in range(draw.choice((1, 1, 2)))
    )
    batch = draw.choice((1, 4, 8, 16))
    before = _setting(draw, works, batch)
    after = before
    wanted = _setting(draw, works, batch)
    what = draw.choice(("workers", "workers", "step", "prefetch", "both", "place"))
    if what in ("workers", "both"):
        after = replace(after, workers=wanted.workers)
    if what in ("step", "both"):
        after = replace(after, step_s=wanted.step_s)
    if what == "prefetch":
        after = replace(after, prefetch=wanted.prefetch)
    if what == "place" and len(works) == 1 and works[0].kind in ("gil", "numpy"):
        after = replace(after, processes=not before.processes)
    return (
        None if after == before or _is_one_stage(after) != _is_one_stage(before) else Case(works, batch, before, after)
    )


def _is_one_stage(setting: Setting) -> bool:
    """Neighbours are one stage if all of them run in parallel, or none does; the changes here make none of two."""
    return len({workers > 1 for workers in setting.workers}) == 1


def _setting(draw: random.Random, works: tuple[Work, ...], batch: int) -> Setting:
    whole_s = sum(work.seconds for work in works) * batch
    step_s = draw.choice((0.0, 0.3, 0.6, 1.2)) * whole_s
    processes = len(works) == 1 and works[0].kind == "gil" and draw.random() < 0.3
    return Setting(tuple(draw.choice(_WORKERS) for _ in works), processes, draw.choice((0, 1, 4)), round(step_s, 4))
