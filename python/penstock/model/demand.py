"""Service demands: what one element that the trainer receives costs each resource, from what a run measured.

Operational analysis: every quantity is counted or measured in the run; no distribution is assumed. Demand is visit
ratio times service time (D = V S); utilisation law: a resource is busy for the share U = X D of the time, so
throughput X is at most its capacity / D.

Source: P. Denning, J. Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 10(3), 1978.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

from penstock.machine.readings import Host
from penstock.model.holding import held_and_waited
from penstock.model.visits import batch_of, done_of, rows_of, verbs_of
from penstock.telemetry.trace import StageTrace, StepTrace, Trace

DEFAULT_AHEAD = 2.0
"""Batches that wait for the trainer where no `prefetch` says otherwise (engine/stages.py)."""

_LEAST_STRETCH = 1.05


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDemand:
    """What one delivered element costs at one verb.

    visits: elements it puts out. cpu_s: seconds on a core. gil_s: seconds it holds the GIL of the trainer's process.
    idle_s: seconds on a thread but neither on a core nor waiting for a core or the GIL: a request, a file, a sleep.
    storage_bytes, memory_bytes: read from storage, written to memory. spread: variance of the seconds an element takes
    over their squared mean (None: not known).
    """

    id: str
    label: str
    verb: str
    visits: float
    cpu_s: float
    gil_s: float
    idle_s: float
    storage_bytes: float = 0.0
    memory_bytes: float = 0.0
    spread: float | None = None

    @property
    def own_s(self) -> float:
        """Seconds of a thread it needs when nothing else competes."""
        return self.cpu_s + self.idle_s


@dataclass(frozen=True, slots=True, kw_only=True)
class StageDemand:
    """A station: at most `workers` tasks of it at once. rows_per_task: of the last one (0: not known)."""

    id: str
    label: str
    kind: str
    workers: int
    serial: bool
    executor: str
    steps: tuple[StepDemand, ...]
    inputs: tuple[str, ...] = ()
    rows_per_task: int = 0

    @property
    def own_s(self) -> float:
        """Seconds of one worker that a delivered element needs."""
        return sum(step.own_s for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class Demands:
    """A run as its demands: enough to say what bounds it, and to compute what another setting would give.

    rate: elements/s that were delivered (0: too short to say). batch: elements in a step of the trainer. trainer_s,
    trainer_cpu_s: the trainer's own seconds for an element, and on a core. delivered_bytes: of an element. ahead:
    batches kept ready. overlaps: False when the pipeline only works while the trainer waits. threads: of all stages
    together (None: as many as needed). others: threads of other processes that want a core as well, on average, as far
    as this one had to wait for one. gil_stretched: part of that wait which fell to whoever held the GIL.
    """

    rate: float
    batch: float
    stages: tuple[StageDemand, ...]
    trainer_s: float
    trainer_cpu_s: float
    delivered_bytes: float
    ahead: float
    overlaps: bool
    threads: int | None
    host: Host
    others: float = 0.0
    gil_stretched: float = 1.0

    @property
    def steps(self) -> tuple[StepDemand, ...]:
        return tuple(step for stage in self.stages for step in stage.steps)

    @property
    def cpu_s(self) -> float:
        """CPU seconds of an element, the trainer's included."""
        return sum(step.cpu_s for step in self.steps) + self.trainer_cpu_s

    @property
    def gil_s(self) -> float:
        return sum(step.gil_s for step in self.steps)

    @property
    def own_s(self) -> float:
        """Seconds of the pipeline's threads."""
        return sum(stage.own_s for stage in self.stages)


def demands(trace: Trace) -> Demands:
    """The demands that a run shows. Cost: microseconds."""
    steps, done = verbs_of(trace), done_of(trace)
    batch = batch_of(trace)
    gil = held_and_waited(trace, [step for own in steps.values() for step in own])
    found = Demands(
        rate=measured_rate(trace),
        batch=batch,
        stages=tuple(_stage(stage, steps[stage.id], done.get(stage.id, 0.0), gil) for stage in trace.stages),
        trainer_s=trainer_step_s(trace) / batch,
        trainer_cpu_s=(trace.consumer.cpu_s or 0.0) / rows_of(trace) if rows_of(trace) else 0.0,
        delivered_bytes=_delivered_bytes(trace, steps, batch),
        ahead=_ahead(trace),
        overlaps=not (trace.stages and all(stage.executor == "inline" for stage in trace.stages)),
        threads=None if trace.threads is None else max(1, trace.threads),
        host=trace.host,
    )
    found = replace(found, others=_others(trace, found))
    held = found.rate * found.gil_s  # for no longer than there was time, and so with what it waited for a core
    found = _with_gil(found, 1 / held) if held > 1 else found
    stretched = min(held, 1.0) * stretch(found, found.rate)
    return replace(found, gil_stretched=1 / stretched if stretched > 1 else 1.0)


def _with_gil(found: Demands, share: float) -> Demands:
    stages = tuple(
        replace(stage, steps=tuple(replace(step, gil_s=step.gil_s * share) for step in stage.steps))
        for stage in found.stages
    )
    return replace(found, stages=stages)


def stretch(found: Demands, rate: float) -> float:
    """Seconds that a CPU second lasts at `rate`; infinite where the cores cannot do it at all."""
    free = found.host.cpus - rate * found.cpu_s
    if free <= 0:
        return 1.0 if free == 0 and not found.others else float("inf")
    return max(1.0, found.others / free)


def _others(trace: Trace, found: Demands) -> float:
    """Cores are shared fairly: a CPU second lasts as many seconds as threads want a core for each core there is."""
    here = [step for step in trace.steps if step.queued_s is not None]
    cpu_s, queued_s = sum(step.cpu_s for step in here), sum(step.queued_s or 0.0 for step in here)
    if cpu_s <= 0:
        return 0.0
    longer = 1 + queued_s / cpu_s
    free = found.host.cpus - found.rate * found.cpu_s
    return longer * free if longer > _LEAST_STRETCH and free > 0 else 0.0


def measured_rate(trace: Trace) -> float:
    """Elements/s that the trainer received; the first batch, and what it waited for that, are left out where it can."""
    consumer = trace.consumer
    rows, seconds = rows_of(trace), consumer.wait_s + consumer.between_s
    if consumer.steps > 1 and 0 < consumer.first_s < seconds:
        rows, seconds = rows - batch_of(trace), seconds - consumer.first_s
    return rows / seconds if seconds > 0 else 0.0


def trainer_step_s(trace: Trace) -> float:
    """Seconds of a step in which the trainer does its own work: replayed from memory, if that was done."""
    consumer = trace.consumer
    if consumer.replay_step_s is not None:
        return consumer.replay_step_s
    if not consumer.steps:
        return 0.0
    if consumer.starved_s is not None and consumer.method != "host wait":
        return (
            max(0.0, consumer.wait_s + consumer.between_s - max(consumer.starved_s, consumer.first_s)) / consumer.steps
        )
    return consumer.between_s / max(1, consumer.steps - 1)


Gil: TypeAlias = Mapping[str, tuple[float, float]]
"""By step id: seconds it was held, and waited for."""


def _stage(stage: StageTrace, steps: list[StepTrace], done: float, gil: Gil) -> StageDemand:
    return StageDemand(
        id=stage.id,
        label=stage.label,
        kind=stage.kind,
        workers=max(1, stage.workers),
        serial=stage.serial,
        executor=stage.executor,
        steps=tuple(_step(step, done, *gil[step.id]) for step in steps) if done else (),
        inputs=stage.inputs,
        rows_per_task=stage.task_rows,
    )


def _step(step: StepTrace, done: float, held_s: float, waited_s: float) -> StepDemand:
    idle_s = max(0.0, step.busy_s - step.cpu_s - waited_s - (step.queued_s or 0.0), step.storage_s)
    return StepDemand(
        id=step.id,
        label=step.label,
        verb=step.verb,
        visits=step.elements / done,
        cpu_s=step.cpu_s / done,
        gil_s=held_s / done,
        idle_s=idle_s / done,
        storage_bytes=step.storage_bytes / done,
        memory_bytes=step.bytes_out / done,
        spread=None if step.element_s is None else spread(step.element_s),
    )


def spread(quantiles: tuple[float, float, float, float]) -> float:
    """Squared coefficient of variation of what has these quantiles at 0.5, 0.9, 0.99 and 1.

    Between them it is taken to lie in the middle; below the median, at five sixths of it.
    """
    half, most, nearly, top = quantiles
    weights = (0.5, 0.4, 0.09, 0.01)
    middles = (half * 5 / 6, (half + most) / 2, (most + nearly) / 2, (nearly + top) / 2)
    parts = tuple(zip(weights, middles, strict=True))
    mean = sum(weight * value for weight, value in parts)
    return sum(weight * (value - mean) ** 2 for weight, value in parts) / mean**2 if mean > 0 else 0.0


def _delivered_bytes(trace: Trace, steps: dict[str, list[StepTrace]], batch: float) -> float:
    first = next((own[0] for stage in trace.stages if (own := steps[stage.id])), None)
    return first.bytes_out / first.elements / batch if first is not None and first.elements else 0.0


def _ahead(trace: Trace) -> float:
    """Batches the last `prefetch` keeps ready, where one stands nearest the trainer."""
    node = trace.nodes[0] if trace.nodes else None
    size = node.facts.get("buffer_size") if node is not None and node.verb == "prefetch" else None
    return float(size) if isinstance(size, int) and size > 0 else DEFAULT_AHEAD
