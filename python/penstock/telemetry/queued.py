"""How long each step waited for a core: what its tasks' threads were told, shared out among the steps of a stage."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from penstock.telemetry.trace import StepTrace


def with_queued(steps: Iterable[StepTrace], asked: Mapping[str, tuple[float, float]]) -> tuple[StepTrace, ...]:
    """The steps with `queued_s`. asked: by stage id, seconds of the tasks that were asked, and those they waited.

    Within a stage it is shared out by the seconds that a step was neither on a core nor in storage: no step waited for
    longer than that. Steps that are part of others, and stages that were not asked, tell nothing.
    """
    steps = tuple(steps)
    shares = {stage: _share([s for s in steps if s.stage == stage and not s.part_of], *asked[stage]) for stage in asked}
    return tuple(
        replace(step, queued_s=_off_s(step) * share)
        if not step.part_of and (share := shares.get(step.stage)) is not None
        else step
        for step in steps
    )


def _share(steps: list[StepTrace], asked_s: float, queued_s: float) -> float | None:
    """Of the seconds off a core, those in which one was waited for."""
    if asked_s <= 0:
        return None
    off_s, busy_s = sum(map(_off_s, steps)), sum(step.busy_s for step in steps)
    return min(1.0, queued_s / asked_s * busy_s / off_s) if off_s > 0 else 0.0


def _off_s(step: StepTrace) -> float:
    return max(0.0, step.busy_s - step.cpu_s - step.storage_s)
