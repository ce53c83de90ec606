"""Changes one could make to a pipeline, as data, and what each does to the demands of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from penstock.errors import InvalidArgumentError
from penstock.model.demand import Demands, StageDemand, StepDemand

HANDING_OVER_S = 3e-4
"""CPU seconds that handing a block to a worker process and back costs (benchmarks: compare.processes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workers:
    """A stage gets so many workers. stage: its id, or the label of one of its steps."""

    stage: str
    workers: int

    def __post_init__(self) -> None:
        if self.workers < 1:
            raise InvalidArgumentError("Workers: workers", got=self.workers, expected="1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class Executor:
    """A step's function runs elsewhere. step: its id or label."""

    step: str
    executor: Literal["threads", "processes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prefetch:
    """So many batches are kept ready."""

    depth: int

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise InvalidArgumentError("Prefetch: depth", got=self.depth, expected="1 or more")


@dataclass(frozen=True, slots=True, kw_only=True)
class CacheAfter:
    """What a step gives is kept in memory from the second epoch on. step: its id or label."""

    step: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Compiled:
    """A step's function runs natively. times: how many times less CPU it needs then (1: only the GIL is let go)."""

    step: str
    times: float = 1.0

    def __post_init__(self) -> None:
        if not self.times > 0:
            raise InvalidArgumentError("Compiled: times", got=self.times, expected="above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainerStep:
    """The trainer needs so many seconds for a step of its own; 0: it only takes."""

    seconds: float

    def __post_init__(self) -> None:
        if not self.seconds >= 0:
            raise InvalidArgumentError("TrainerStep: seconds", got=self.seconds, expected="0 or more")


Change: TypeAlias = Workers | Executor | Prefetch | CacheAfter | Compiled | TrainerStep


def changed(found: Demands, change: Change) -> Demands:
    """The demands after a change. Raises: InvalidArgumentError: no stage or step of that name."""
    match change:
        case Workers():
            return _with_workers(found, change)
        case Executor():
            return _with_step(found, change.step, lambda step, stage: _moved(step, stage, change.executor))
        case Prefetch():
            return replace(found, ahead=float(change.depth), overlaps=True)
        case CacheAfter():
            return _cached(found, change.step)
        case Compiled():
            return _with_step(
                found, change.step, lambda step, _: replace(step, cpu_s=step.cpu_s / change.times, gil_s=0.0)
            )
        case TrainerStep():
            scale = change.seconds / found.batch / found.trainer_s if found.trainer_s else 0.0
            return replace(
                found,
                trainer_s=change.seconds / found.batch,
                trainer_cpu_s=found.trainer_cpu_s * min(1.0, scale),
            )


def _with_workers(found: Demands, change: Workers) -> Demands:
    stage = _stage_of(found, change.stage)
    stages = tuple(replace(one, workers=change.workers) if one is stage else one for one in found.stages)
    threads = found.threads
    if threads is not None:  # as session/preparation.py counts them
        blocking = sum(one.kind == "source" for one in stages)
        threads = max(found.host.cpus, *(one.workers for one in stages)) + blocking
    return replace(found, stages=stages, threads=threads)


def _moved(step: StepDemand, stage: StageDemand, executor: str) -> StepDemand:
    if executor == "processes":
        return replace(step, gil_s=0.0, cpu_s=step.cpu_s + HANDING_OVER_S / max(1, stage.rows_per_task))
    return replace(step, gil_s=step.cpu_s)  # of a function that was moved because it holds it


def _with_step(found: Demands, name: str, change: Callable[[StepDemand, StageDemand], StepDemand]) -> Demands:
    wanted = _step_of(found, name)
    stages = tuple(
        replace(stage, steps=tuple(change(step, stage) if step is wanted else step for step in stage.steps))
        for stage in found.stages
    )
    return replace(found, stages=stages)


def _cached(found: Demands, name: str) -> Demands:
    """The step and all it takes from drop out; what is taken from the cache is copied once."""
    wanted = _step_of(found, name)
    home = next(stage for stage in found.stages if wanted in stage.steps)
    at = home.steps.index(wanted)
    copy_s = wanted.memory_bytes / (found.host.capacities.memcpy_core or float("inf"))
    kept = replace(
        wanted, cpu_s=min(wanted.cpu_s, copy_s), gil_s=0.0, idle_s=0.0, storage_bytes=0.0,
    )  # fmt: skip
    below = _below(found, home)
    stages = tuple(
        replace(stage, steps=(*stage.steps[:at], kept), inputs=()) if stage is home else stage
        for stage in found.stages
        if stage.id not in below
    )
    return replace(found, stages=stages)


def _below(found: Demands, home: StageDemand) -> set[str]:
    """Ids of the stages that `home` takes from, near or far."""
    inputs = {stage.id: stage.inputs for stage in found.stages}
    below: set[str] = set()
    pending = list(home.inputs)
    while pending:
        stage = pending.pop()
        if stage not in below:
            below.add(stage)
            pending.extend(inputs.get(stage, ()))
    return below


def _stage_of(found: Demands, name: str) -> StageDemand:
    for stage in found.stages:
        if name in (stage.id, stage.label) or any(name in (step.id, step.label) for step in stage.steps):
            return stage
    raise _unknown("stage", name, [stage.id for stage in found.stages])


def _step_of(found: Demands, name: str) -> StepDemand:
    for step in found.steps:
        if name in (step.id, step.label):
            return step
    raise _unknown("step", name, [step.label for step in found.steps])


def _unknown(what: str, name: str, known: list[str]) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"predict: no such {what} in this trace", got=repr(name), expected=", ".join(known) or "none is there"
    )
