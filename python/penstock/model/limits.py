"""What bounds a run: capacity over demand for each resource, the lowest first, and how close the run is to it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from penstock.model.demand import Demands, StageDemand, StepDemand, demands
from penstock.telemetry.trace import Trace
from penstock.units import format_bytes, format_seconds

Resource = Literal[
    "cpu", "gil", "storage", "memory", "host_to_device", "trainer", "stage", "threads", "no_overlap"
]  # fmt: skip

_LEAST_TOLD = 0.99


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """The most that one resource lets through.

    resource: "cpu" (all cores of the budget), "gil", "storage" and "memory" (bytes/s), "host_to_device" (bytes/s),
    "trainer" (its own step), "stage" (the workers of one stage; `waits`: its elements wait for something, so more
    tasks at once would help even beyond the cores), "threads" (of all stages together), "no_overlap" (pipeline and
    trainer take turns). elements_per_s, batches_per_s: the bound. demand: of one element, capacity: of the resource,
    both in `unit` (seconds, or bytes); capacity is per second. stage: its id, for a stage's own limit. blame: label
    of the step with the largest part of the demand, "" where it is no step's. share: its part. why: the arithmetic
    in words. is_estimate: bytes are taken to move once.
    """

    resource: Resource
    elements_per_s: float
    batches_per_s: float
    demand: float
    capacity: float
    unit: Literal["s", "bytes"]
    blame: str = ""
    share: float = 0.0
    stage: str = ""
    waits: bool = False
    is_estimate: bool = False
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of a run, lowest first; empty when nothing was measured.

    elements_per_s, batches_per_s: what the run delivered.
    """

    elements_per_s: float
    batches_per_s: float
    bounds: tuple[Limit, ...]

    @property
    def binding(self) -> Limit | None:
        """The lowest bound."""
        return self.bounds[0] if self.bounds else None

    @property
    def runner_up(self) -> Limit | None:
        """What would bind next, if the binding one were removed."""
        return self.bounds[1] if len(self.bounds) > 1 else None

    @property
    def closeness(self) -> float:
        """Delivered over bound: near 1, the binding resource is used up; 0.0 when unknown."""
        return self.elements_per_s / self.bounds[0].elements_per_s if self.bounds else 0.0

    @property
    def blame(self) -> str:
        """Label of the step that needs most of what binds; "" where that is no step (the trainer)."""
        return self.bounds[0].blame if self.bounds else ""

    @property
    def pipeline(self) -> Limit | None:
        """The lowest bound that is not the trainer's: what the pipeline could deliver to a faster one."""
        return next((bound for bound in self.bounds if bound.resource not in ("trainer", "no_overlap")), None)

    def of(self, resource: Resource) -> Limit | None:
        """The bound of a resource (of stages: the lowest), None if it was not measured."""
        return next((bound for bound in self.bounds if bound.resource == resource), None)


def limits(trace: Trace) -> Limits:
    """The limits of a run. Cost: microseconds."""
    return limits_of(demands(trace))


def limits_of(found: Demands) -> Limits:
    """The limits of demands, measured or changed by a prediction."""
    bounds = [bound for bound in _bounds(found) if not (bound.is_estimate and bound.elements_per_s < found.rate)]
    return Limits(
        elements_per_s=found.rate,
        batches_per_s=found.rate / found.batch,
        bounds=tuple(sorted(bounds, key=lambda bound: bound.elements_per_s)),
    )


def _bounds(found: Demands) -> list[Limit]:
    host, steps = found.host, found.steps
    known = host.capacities
    memory = sum(step.memory_bytes for step in steps)
    bounds = [
        _bound(found, "cpu", found.cpu_s, host.cpus, _most(steps, "cpu_s", found.cpu_s)),
        _bound(found, "gil", found.gil_s, 1.0, _most(steps, "gil_s", found.gil_s)),
        _bytes(found, "storage", sum(step.storage_bytes for step in steps), known.storage, "storage_bytes"),
        _bytes(found, "memory", memory, known.memcpy_all or known.memcpy_core, "memory_bytes"),
        _bytes(found, "host_to_device", found.delivered_bytes, known.host_to_device, ""),
        _bound(found, "trainer", found.trainer_s, 1.0),
        *(_stage(found, stage) for stage in found.stages),
    ]
    threads = None if found.threads is None else _threads(found, found.threads)
    lowest = min((bound.elements_per_s for bound in bounds if bound and bound.resource == "stage"), default=0.0)
    if threads is not None and threads.elements_per_s < lowest * _LEAST_TOLD:  # else it is the stage's own limit again
        bounds.append(threads)
    if not found.overlaps:
        both = found.own_s + found.trainer_s
        bounds.append(_bound(found, "no_overlap", both, 1.0, _most(steps, "own_s", both)))
    return [bound for bound in bounds if bound is not None]


def _bound(
    found: Demands, resource: Resource, demand: float, capacity: float, most: tuple[str, float] = ("", 0.0)
) -> Limit | None:
    """A bound in seconds; None where nothing is demanded. most: the step that demands most, and its share."""
    if demand <= 0 or capacity <= 0:
        return None
    return Limit(
        resource=resource,
        elements_per_s=capacity / demand,
        batches_per_s=capacity / demand / found.batch,
        demand=demand,
        capacity=capacity,
        unit="s",
        blame=most[0],
        share=most[1],
        why=_WHY[resource].format(demand=format_seconds(demand), capacity=f"{capacity:g}"),
    )


_WHY: dict[Resource, str] = {
    "cpu": "an element needs {demand} of a core; there are {capacity}",
    "gil": "an element holds the GIL for {demand}",
    "trainer": "the trainer's own work takes {demand} an element",
    "stage": "an element keeps a worker of this stage for {demand}; it has {capacity}",
    "threads": "an element needs {demand} of a thread; there are {capacity}",
    "no_overlap": "pipeline and trainer take turns: {demand} an element for both",
}


def _threads(found: Demands, threads: int) -> Limit | None:
    return _bound(found, "threads", found.own_s, threads, _most(found.steps, "own_s", found.own_s))


def _bytes(found: Demands, resource: Resource, demand: float, capacity: float | None, part: str) -> Limit | None:
    if demand <= 0 or capacity is None or capacity <= 0:
        return None
    blame, share = _most(found.steps, part, demand) if part else ("", 0.0)
    return Limit(
        resource=resource,
        elements_per_s=capacity / demand,
        batches_per_s=capacity / demand / found.batch,
        demand=demand,
        capacity=capacity,
        unit="bytes",
        blame=blame,
        share=share,
        is_estimate=resource == "memory",
        why=f"an element moves {format_bytes(demand)}; this host does {format_bytes(capacity)}/s",
    )


def _stage(found: Demands, stage: StageDemand) -> Limit | None:
    bound = _bound(found, "stage", stage.own_s, stage.workers, _most(stage.steps, "own_s", stage.own_s))
    if bound is None:
        return None
    idle_s = sum(step.idle_s for step in stage.steps)
    waits = idle_s > stage.own_s / 2  # Little's law: throughput = tasks at once / seconds that each takes
    why = f"{bound.why}, and waits for {format_seconds(idle_s)} of it" if waits else bound.why
    return replace(bound, stage=stage.id, waits=waits, why=why)


def _most(steps: tuple[StepDemand, ...], part: str, whole: float) -> tuple[str, float]:
    """Label of the step with the largest `part`, and its share of the whole."""
    if not steps or whole <= 0:
        return "", 0.0
    step = max(steps, key=lambda one: float(getattr(one, part)))
    amount = float(getattr(step, part))
    return (step.label, amount / whole) if amount > 0 else ("", 0.0)
