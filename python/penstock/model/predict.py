"""What a pipeline would deliver after a change, computed from the trace of a run before it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from penstock.model.changes import CacheAfter, Change, Compiled, Executor, Prefetch, TrainerStep, Workers, changed
from penstock.model.demand import Demands, demands
from penstock.model.flow import through
from penstock.model.limits import limits_of
from penstock.model.solve import attainable
from penstock.telemetry.trace import Trace

__all__ = [
    "CacheAfter", "Change", "Compiled", "Executor", "Prefetch", "TrainerStep", "Workers", "cache_bytes", "predict",
    "throughput",
]  # fmt: skip

LEAST_FACTOR, MOST_FACTOR = 0.5, 1.25
"""How far the run may correct the model: beyond these, it shows something that the model does not have."""


def predict(trace: Trace, change: Change | Iterable[Change] = (), others: float | None = None) -> float:
    """Elements/s after `change` (one or several, applied in order); 0.0 where the trace has too little to say.

    The model gives a number for the run as it was and one for it as it would be; the measured rate is scaled by their
    quotient, so that what the model misses in both cancels out. Error: benchmarks/model/prediction.py.
    others: threads of other processes that will want a core (`Demands.others`); None: as many as in the trace.
    Raises: InvalidArgumentError: a change names a stage or step that the trace does not have.
    """
    before = after = demands(trace)
    for one in (change,) if isinstance(change, Change) else change:
        after = changed(after, one)
    after = after if others is None else replace(after, others=others)
    expected = throughput(before)
    if expected <= 0:
        return 0.0
    factor = before.rate / expected if before.rate > 0 else 1.0
    return throughput(after) * min(max(factor, LEAST_FACTOR), MOST_FACTOR)


def throughput(found: Demands) -> float:
    """Elements/s the model expects of these demands; 0.0 where nothing bounds them."""
    bounds = limits_of(found).bounds
    if not bounds:
        return 0.0
    supply = min((bound.elements_per_s for bound in bounds if bound.unit == "bytes"), default=float("inf"))
    supply = min(supply, attainable(found))
    demand = 1 / found.trainer_s if found.trainer_s > 0 else float("inf")
    if not found.overlaps:
        return 1 / (1 / supply + 1 / demand)
    return through(supply / found.batch, demand / found.batch, found.ahead, _spread(found)) * found.batch


def _spread(found: Demands) -> float:
    """Of the time between two batches: the elements of a batch vary against each other, so it is that much less."""
    steps = [step for step in found.steps if step.spread is not None]
    whole = sum(step.own_s for step in found.steps)
    if not steps or whole <= 0:
        return 0.0
    variance = sum((step.spread or 0.0) * step.own_s**2 for step in steps)
    return variance / whole**2 / max(1.0, found.batch)


def cache_bytes(trace: Trace, step: str) -> float | None:
    """Bytes that keeping all elements of a node (its id or label) would need; None where count or size is not known."""
    node = next((node for node in trace.nodes if step in (node.id, node.label)), None)
    if node is None or node.cardinality < 0 or node.element_bytes is None:
        return None
    return node.element_bytes * node.cardinality
