"""The what-if table: the throughput the model predicts after each of a fixed list of changes.

The changes are those a person could make to this pipeline: more workers for a stage, another executor for what holds
the GIL, compiling, a cache where nothing below it is random, more batches ahead, a faster trainer. Those that change
nothing by more than 2 % are left out, but for the trainer's, which always says something.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.diagnose.steady import best_to_keep
from penstock.diagnose.steps import node_of, stage_of, verbs_of
from penstock.model.predict import CacheAfter, Change, Compiled, Executor, Prefetch, TrainerStep, Workers, predict
from penstock.telemetry.trace import Trace

_LEAST = 1.02
_HOLDS_GIL = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatIf:
    """One change, the elements each second predicted after it, and that over the prediction for no change."""

    change: str
    elements_per_s: float
    gain: float


def whatifs_of(trace: Trace) -> tuple[WhatIf, ...]:
    """The table; empty where the trace has too little to say. Best first, the trainer's last."""
    now = predict(trace)
    if now <= 0:
        return ()
    pipeline = [_row(trace, now, words, change) for words, change in _changes(trace)]
    useful = sorted((row for row in pipeline if row.gain >= _LEAST), key=lambda row: -row.gain)
    return (*useful, *_trainer_rows(trace, now))


def gain_of(trace: Trace, change: Change) -> float | None:
    """What a change gives over what there is, 1.0 for nothing; None where the trace has too little to say."""
    now = predict(trace)
    return predict(trace, change) / now if now > 0 else None


def _row(trace: Trace, now: float, words: str, change: Change) -> WhatIf:
    after = predict(trace, change)
    return WhatIf(change=words, elements_per_s=after, gain=after / now)


def _changes(trace: Trace) -> Iterator[tuple[str, Change]]:
    for stage in trace.stages:
        for workers in {max(trace.host.cpus, 2), 2 * max(stage.workers, 1)} - {stage.workers}:
            is_free = not stage.serial or stage.said  # a number that was said may be said otherwise
            if workers > stage.workers and is_free and any(step.stage == stage.id for step in trace.steps):
                yield (
                    f"{workers} workers for {stage.label} (now {stage.workers})",
                    Workers(stage=stage.id, workers=workers),
                )
    for step in verbs_of(trace):
        home, node = stage_of(trace, step), node_of(trace, step)
        if home is None or step.gil_s is None or step.gil_s < _HOLDS_GIL * step.busy_s:
            continue
        if home.executor == "threads":
            yield f"{step.label} in processes", Executor(step=step.id, executor="processes")
        if node is not None and node.facts.get("compiles") is False:
            yield f"{step.label} compiled, as fast as now", Compiled(step=step.id)
    kept = best_to_keep(trace)
    if kept is not None and any(step.label == kept.label for step in verbs_of(trace)):
        yield f"cache after {kept.label}, from the second epoch on", CacheAfter(step=kept.label)
    if verbs_of(trace):
        yield "4 batches ahead", Prefetch(depth=4)


def _trainer_rows(trace: Trace, now: float) -> list[WhatIf]:
    consumer = trace.consumer
    if consumer.steps < 2 or consumer.between_s <= 0 or not verbs_of(trace):
        return []
    step_s = consumer.replay_step_s or consumer.between_s / consumer.steps
    return [
        _row(trace, now, "a trainer twice as fast", TrainerStep(seconds=step_s / 2)),
        _row(trace, now, "a trainer that takes no time", TrainerStep(seconds=0.0)),
    ]
