"""Several traces of one pipeline, an epoch each, as one: what counts is added up, what is a state is the last one's."""

from __future__ import annotations

from dataclasses import replace

from penstock.telemetry.trace import StageTrace, StepTrace, Trace


def add_traces(earlier: Trace, later: Trace) -> Trace:
    """The steps and stages of both, by id; tuning and samples one after the other."""
    shift_s = earlier.seconds
    stages = {stage.id: stage for stage in earlier.stages}
    steps = {step.id: step for step in earlier.steps}
    return replace(
        later,
        began_at=earlier.began_at,
        seconds=earlier.seconds + later.seconds,
        consumer=replace(later.consumer, ready=earlier.consumer.ready + later.consumer.ready),
        stages=tuple(_add_stage(stages.pop(one.id, None), one) for one in later.stages) + tuple(stages.values()),
        steps=tuple(_add_step(steps.pop(one.id, None), one) for one in later.steps) + tuple(steps.values()),
        samples=(*earlier.samples, *(replace(one, at_s=one.at_s + shift_s) for one in later.samples)),
        tuning=(*earlier.tuning, *(replace(one, at_s=one.at_s + shift_s) for one in later.tuning)),
        notes=tuple(dict.fromkeys((*earlier.notes, *later.notes))),
    )


def _add_stage(earlier: StageTrace | None, later: StageTrace) -> StageTrace:
    if earlier is None:
        return later
    return replace(
        later, wait_in_s=earlier.wait_in_s + later.wait_in_s, wait_out_s=earlier.wait_out_s + later.wait_out_s,
        tasks=earlier.tasks + later.tasks,
    )  # fmt: skip


def _add_step(earlier: StepTrace | None, later: StepTrace) -> StepTrace:
    if earlier is None:
        return later
    gil_s = None if earlier.gil_s is None or later.gil_s is None else earlier.gil_s + later.gil_s
    tails = [one.element_s for one in (earlier, later) if one.element_s is not None]
    return replace(
        later,
        elements=earlier.elements + later.elements, bytes_in=earlier.bytes_in + later.bytes_in,
        bytes_out=earlier.bytes_out + later.bytes_out, busy_s=earlier.busy_s + later.busy_s,
        cpu_s=earlier.cpu_s + later.cpu_s, storage_s=earlier.storage_s + later.storage_s,
        storage_bytes=earlier.storage_bytes + later.storage_bytes, gil_s=gil_s,
        element_s=max(tails, key=lambda one: one[3]) if tails else None,
        slow=tuple(sorted((*earlier.slow, *later.slow), key=lambda one: -one.seconds)[:8]),
    )  # fmt: skip
