"""Visit ratios: how often each stage and step is at work for one element that the trainer receives.

Forced flow law: in a steady run a step's throughput is its visit ratio times that of the pipeline. A trace counts from
the start, though, and what runs ahead of the trainer has done more than was received, so plain quotients of counts
would blame a buffer's filling on the steps below it. Hence ratios are taken where counts belong together: between the
steps of one stage, whose tasks run whole; between stages they are known of verbs that are one to one.

Source: P. Denning, J. Buzen, "The Operational Analysis of Queueing Network Models", ACM Computing Surveys 10(3), 1978.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from penstock.telemetry.trace import StageTrace, StepTrace, Trace

BATCHES = frozenset({"batch", "padded_batch", "ragged_batch"})
ONE_TO_ONE = frozenset({
    "map", "random_map", "shuffle", "prefetch", "cache", "snapshot", "enumerate", "zip", "scan", "assert_cardinality",
    "with_options", "permute",
})  # fmt: skip


def rows_of(trace: Trace) -> float:
    """Elements the trainer received: rows where batches are made of rows, else as many as it asked for."""
    consumer = trace.consumer
    return float(consumer.steps if consumer.rows is None else consumer.rows)


def batch_of(trace: Trace) -> float:
    """Elements in one step of the trainer, on average; 1 before the first."""
    return rows_of(trace) / trace.consumer.steps if trace.consumer.steps else 1.0


def verbs_of(trace: Trace) -> dict[str, list[StepTrace]]:
    """The verbs of each stage by its id, the one nearest the trainer first; what is part of a verb is within it."""
    found: dict[str, list[StepTrace]] = {stage.id: [] for stage in trace.stages}
    for step in trace.steps:
        if not step.part_of and step.stage in found:
            found[step.stage].append(step)
    return found


def done_of(trace: Trace) -> dict[str, float]:
    """By stage id: the delivered elements that its work so far was enough for. Divide what it spent by this."""
    stages = {stage.id: stage for stage in trace.stages}
    steps = verbs_of(trace)
    done: dict[str, float] = {}
    per_batch = 1 / batch_of(trace)
    pending = [(stage_id, _root_visits(steps[stage_id], trace)) for stage_id in _roots(stages)]
    while pending:
        stage_id, visits = pending.pop(0)
        if stage_id in done or stage_id not in stages:
            continue
        own = steps[stage_id]
        makes_batches = math.isclose(visits, per_batch) and bool(own) and own[0].verb in BATCHES
        done[stage_id] = _done(own, visits, rows_of(trace), makes_batches=makes_batches)
        for source in stages[stage_id].inputs:
            taken = _taken(own, visits, done[stage_id], source, stages, steps, makes_batches=makes_batches)
            pending.append((source, taken))
    return done


def _root_visits(own: list[StepTrace], trace: Trace) -> float:
    """What the stage nearest the trainer gives are its batches; of other people's loaders, their rows are counted."""
    batch = batch_of(trace)
    counts_rows = bool(own) and trace.source != "penstock" and own[0].elements > math.sqrt(batch) * trace.consumer.steps
    return 1.0 if counts_rows else 1 / batch


def _roots(stages: Mapping[str, StageTrace]) -> list[str]:
    """Stages that no other takes from, the first one first."""
    sources = {source for stage in stages.values() for source in stage.inputs}
    return [stage_id for stage_id in stages if stage_id not in sources]


def _done(own: list[StepTrace], visits: float, rows: float, *, makes_batches: bool) -> float:
    """From the step whose count says it best: rows rather than batches, of which some are unfinished."""
    if makes_batches and len(own) > 1 and own[1].elements:
        return float(own[1].elements)
    if own and own[0].elements:
        return own[0].elements / visits
    return rows


def _taken(  # noqa: PLR0917 - one question about two neighbours; none of it is given by position elsewhere
    own: list[StepTrace], visits: float, done: float, source: str, stages: Mapping[str, StageTrace],
    steps: Mapping[str, list[StepTrace]], *, makes_batches: bool,
) -> float:  # fmt: skip
    """Elements of `source` that this stage takes for one delivered element."""
    if makes_batches and all(step.verb in ONE_TO_ONE for step in own[1:]):
        return 1.0
    if all(step.verb in ONE_TO_ONE for step in own):
        return visits
    given = _first_elements(source, stages, steps)
    return given / done if given and done else visits


def _first_elements(source: str, stages: Mapping[str, StageTrace], steps: Mapping[str, list[StepTrace]]) -> float:
    """What a stage put out; of one without steps of its own (a chain), what those it passes on did."""
    if source not in stages:
        return 0.0
    if steps[source]:
        return float(steps[source][0].elements)
    return sum(_first_elements(inner, stages, steps) for inner in stages[source].inputs)
