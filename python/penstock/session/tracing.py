"""From what an iterator measured to a trace: plain data that outlives it. Reads only; runs no user code, opens nothing.

A step's id is `number:verb` of its node, so that steps and nodes of a trace can be told to belong together.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import ArrayColumn
from penstock.engine.executors.evidence import Finding
from penstock.engine.knobs import Setting
from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Permute, Shuffle
from penstock.graph.walk import nodes_of
from penstock.plan.stage import (
    BarrierStage,
    ChainStage,
    IndexedStage,
    NestedStage,
    SegmentStage,
    SourceStage,
    Stage,
    stages_of,
)
from penstock.session.capacities import known_capacities
from penstock.session.node_facts import draws, facts_of
from penstock.session.preparation import Prepared
from penstock.telemetry.gil import Looks
from penstock.telemetry.queued import with_queued
from penstock.telemetry.recorder import Recorder
from penstock.telemetry.sketch import QUANTILES
from penstock.telemetry.tally import StepTotals
from penstock.telemetry.trace import (
    Consumer,
    Interval,
    NodeTrace,
    Occupancy,
    SlowElement,
    StageTrace,
    StepTrace,
    Trace,
    Value,
)
from penstock.telemetry.waiting import tells_queue
from penstock.units import parse_bytes

_CHILDREN = 2**32  # keys of the steps of nested datasets, see engine/nested/child.py
_KINDS = {
    IndexedStage: "indexed", SegmentStage: "segment", BarrierStage: "barrier", NestedStage: "nested",
    SourceStage: "source", ChainStage: "chain",
}  # fmt: skip
Key = tuple[int, str]


@dataclass(frozen=True, slots=True)
class RowCount:
    """Rows of batches. before: in blocks that were delivered whole; counts: in each batch of the block that is now.

    None: its elements have no rows.
    """

    before: int = 0
    counts: tuple[int, ...] | None = ()

    def with_block(self, block: Block) -> RowCount:
        """The next block is delivered. Cost: 1 us."""
        column = block.columns[0] if block.columns else None
        counts: tuple[int, ...] | None = None
        if isinstance(column, ArrayColumn) and column.values.ndim > 1:
            counts = (column.values.shape[1],) * len(column)
        elif column is not None:
            rows = [column.row(number) for number in range(len(column))]
            counts = tuple(len(row) for row in rows) if all(np.ndim(row) for row in rows) else None
        return RowCount(self.before + sum(self.counts or ()), counts)

    def delivered(self, batches: int) -> int | None:
        """Rows so far, when so many batches of the block that is now were delivered."""
        return None if self.counts is None else self.before + sum(self.counts[:batches])


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What an iterator has to say. opened: its clock when it was made, which is second 0 of the trace.

    threads: workers at most, 0 where the consumer does all; None before it has begun. process_cpu_s: CPU seconds of
    the whole process meanwhile.
    """

    prepared: Prepared
    recorder: Recorder
    totals: Mapping[Key, StepTotals]
    findings: Mapping[Key, Finding]
    settings: Mapping[Key, Setting]
    consumer: Consumer
    intervals: tuple[tuple[float, float, bool], ...]
    opened: float
    began_at: float
    seconds: float
    threads: int | None
    process_cpu_s: float


def trace_of(told: Told) -> Trace:
    """The trace of one iterator so far, or to its end."""
    prepared = told.prepared
    stages = list(stages_of(prepared.plan.root))
    ids = {id(stage): str(number) for number, stage in enumerate(stages)}
    budget = prepared.budget
    nodes = tuple(_nodes(told))
    stage_traces = tuple(_stage_trace(stage, ids, told) for stage in stages)
    steps = with_queued(_steps(stages, ids, told), _asked(stages, ids, told))
    return Trace(
        source="penstock",
        loader=prepared.user_graph.label,
        host=budget.host(known_capacities(_path(nodes), budget.cpus)),
        consumer=replace(told.consumer, cpu_s=_cpu_outside(told.process_cpu_s, stage_traces, steps)),
        began_at=told.began_at,
        seconds=told.seconds,
        threads=told.threads,
        settings=_settings(prepared),
        stages=stage_traces,
        steps=steps,
        nodes=nodes,
        intervals=tuple(
            Interval(at_s=at - told.opened, wait_s=wait_s, ready=ready) for at, wait_s, ready in told.intervals
        ),
    )  # fmt: skip


def _cpu_outside(process_cpu_s: float, stages: Sequence[StageTrace], steps: Sequence[StepTrace]) -> float:
    """CPU seconds of this process outside the steps that it ran: the trainer's, and what else it does."""
    elsewhere = {stage.id for stage in stages if stage.executor == "processes"}
    inside = sum(step.cpu_s for step in steps if not step.part_of and step.stage not in elsewhere)
    return max(0.0, process_cpu_s - inside)


def nodes_in(stage: Stage) -> list[Node]:
    """The nodes that a stage runs, the one nearest the consumer first; with the steps of chains."""
    nodes = [stage.node] if stage.inputs else list(nodes_of(stage.node))[::-1]
    return [part for node in nodes for part in (node, *(node.steps[::-1] if isinstance(node, Chain) else ()))]


def _stage_trace(stage: Stage, ids: Mapping[int, str], told: Told) -> StageTrace:
    record = told.recorder.stage(id(stage))
    setting = told.settings.get(stage.node.key)
    findings = [found for node in nodes_in(stage) if (found := told.findings.get(node.key)) is not None]
    executor, reason = told.prepared.executor or "threads", stage.width.reason
    if findings and executor != "inline":
        executor, reason = findings[0].executor, f"{reason}; {findings[0].why}"
    return StageTrace(
        id=ids[id(stage)],
        kind=_KINDS[type(stage)],  # type: ignore[arg-type]  # the table has only what the type allows
        label=stage.node.label,
        inputs=tuple(ids[id(source)] for source in stage.inputs),
        workers=stage.width.workers if setting is None else setting.parallelism,
        said=stage.width.said,
        serial=stage.width.serial,
        executor=executor,
        reason=reason,
        wait_in_s=record.wait_in_s,
        wait_out_s=record.wait_out_s,
        tasks=record.tasks,
        task_rows=record.task_rows,
        occupancy=tuple(
            Occupancy(at_s=one.at_s - told.opened, blocks=one.blocks, bytes=one.bytes, running=one.running)
            for one in list(record.occupancy.kept)
        ),
    )


def _asked(stages: list[Stage], ids: Mapping[int, str], told: Told) -> dict[str, tuple[float, float]]:
    """Of each stage, seconds of the tasks that were asked how long they waited for a core, and how long."""
    if not tells_queue():
        return {}
    records = {ids[id(stage)]: told.recorder.stage(id(stage)) for stage in stages}
    return {stage: (record.asked_s, record.queued_s) for stage, record in records.items()}


def _steps(stages: list[Stage], ids: Mapping[int, str], told: Told) -> Iterator[StepTrace]:
    """Every step that was measured: by the stages, from the consumer down; what it is made of after each."""
    left, taken = dict(told.totals), _taken(told)
    for stage in stages:
        for node in nodes_in(stage):
            totals = left.pop(node.key, None)
            if totals is None:
                continue
            inner = {key: left.pop(key) for key in list(left) if key[0] // _CHILDREN - 1 == node.number}
            looks = told.recorder.looks.get(node.key)
            for step in _with_parts(node.key, totals, inner, ids[id(stage)], taken.get(node.key, 0)):
                yield step if looks is None or step.part_of else _looked_at(step, looks)
    for key, totals in left.items():  # of datasets nested in nested ones, and of caches that were filled before
        yield _step(key, totals, ids[id(stages[0])])


def _with_parts(
    key: Key, totals: StepTotals, inner: Mapping[Key, StepTotals], stage: str, bytes_in: int
) -> Iterator[StepTrace]:
    """A step, then its ops, then the steps of the datasets that it opened, whose time is part of its own."""
    whole = replace(totals)
    for child in inner.values():
        whole.busy_s += child.busy_s
        whole.cpu_s += child.cpu_s
        whole.storage_s += child.storage_s
        whole.storage_bytes += child.storage_bytes
    yield _step(key, whole, stage, bytes_in=bytes_in)
    name = step_id(key)
    for place, op in sorted(totals.ops.items()):
        yield StepTrace(
            id=f"{name}/{place}", verb=op.name, label=op.name, stage=stage, part_of=name, elements=totals.elements,
            busy_s=op.busy_s, cpu_s=op.cpu_s,
        )  # fmt: skip
    for child_key, child in sorted(inner.items(), reverse=True):
        yield _step(child_key, child, stage, part_of=name)


def _looked_at(step: StepTrace, looks: Looks) -> StepTrace:
    """The step with what looks at its threads say of its busy seconds: see telemetry/gil.py."""
    gil = looks.gil_share(step.cpu_s / step.busy_s if step.busy_s else 0.0)
    queued, reading = looks.queued_share(), looks.reading_share()
    return replace(
        step,
        gil_s=None if gil is None else gil * step.busy_s,
        queued_s=None if queued is None else queued * step.busy_s,
        storage_s=max(step.storage_s, (reading or 0.0) * step.busy_s),
    )


def _taken(told: Told) -> dict[Key, int]:
    """Bytes that each step took: what the steps before it put out."""
    put_out: dict[int, int] = {}  # by node: its own, or what it handed through
    taken: dict[Key, int] = {}
    for node in nodes_of(told.prepared.plan.graph):
        given = sum(put_out[id(source)] for source in node.inputs)
        for part in node.steps if isinstance(node, Chain) else ():
            taken[part.key] = given
            given = _bytes_of(part.key, told, given)
        taken[node.key] = sum(put_out[id(source)] for source in node.inputs)
        put_out[id(node)] = _bytes_of(node.key, told, given)
    return taken


def _bytes_of(key: Key, told: Told, given: int) -> int:
    totals = told.totals.get(key)
    return given if totals is None else totals.bytes


def step_id(key: Key) -> str:
    return f"{key[0]}:{key[1]}"


def _step(key: Key, totals: StepTotals, stage: str, part_of: str = "", bytes_in: int = 0) -> StepTrace:
    each = totals.each
    quantiles = tuple(each.quantile(share) for share in QUANTILES) if each.count else None
    bar_s = each.quantile(0.99)
    slow = sorted((one for one in totals.slowest.found if one[0] >= bar_s), reverse=True)
    return StepTrace(
        id=step_id(key), verb=key[1], label=totals.label, stage=stage, part_of=part_of, elements=totals.elements,
        bytes_in=bytes_in, bytes_out=totals.bytes, busy_s=totals.busy_s, cpu_s=totals.cpu_s, calls=totals.calls,
        storage_s=totals.storage_s, storage_bytes=totals.storage_bytes,
        element_s=quantiles,  # type: ignore[arg-type]  # four, as QUANTILES are
        slow=tuple(SlowElement(origin=origin, seconds=seconds) for seconds, origin in slow),
    )  # fmt: skip


def _nodes(told: Told) -> Iterator[NodeTrace]:
    """The user's graph, the node nearest the trainer first; what has no number of its own gets an id of its own."""
    ids: dict[int, str] = {}
    nodes = list(nodes_of(told.prepared.user_graph))
    for node in nodes:
        name = step_id(node.key)
        while name in ids.values():
            name += "'"
        ids[id(node)] = name
    executor = told.prepared.executor
    permuted = {node.number for node in nodes_of(told.prepared.plan.graph) if _permutes_all(node)}
    for node in reversed(nodes):
        totals = told.totals.get(node.key)
        yield NodeTrace(
            id=ids[id(node)],
            verb=node.verb,
            label=node.label,
            inputs=tuple(ids[id(source)] for source in node.inputs),
            cardinality=node.cardinality(),
            element_bytes=totals.bytes / totals.elements if totals is not None and totals.elements else None,
            draws=draws(node, told.recorder),
            facts=facts_of(node, told.recorder, told.findings, executor)
            | ({"how": "permutation"} if isinstance(node, Shuffle) and node.number in permuted else {}),
        )


def _permutes_all(node: Node) -> bool:
    """Whether a shuffle became a permutation of the whole range, for which its buffer size means nothing."""
    return isinstance(node, Permute) and node.window is None


def _path(nodes: Sequence[NodeTrace]) -> str | None:
    """Where the dataset is, by the first node that reads somewhere."""
    paths = (node.facts.get("path") for node in reversed(nodes))
    return next((path for path in paths if isinstance(path, str)), None)


def _settings(prepared: Prepared) -> dict[str, Value]:
    """The options that were said."""
    options = prepared.options
    said: dict[str, Value] = {
        "cpu_budget": options.cpu_budget, "executor": options.executor, "deterministic": options.deterministic,
        "block_size": options.block_size, "autotune": options.tunes,
        "ram_budget_bytes": None if options.ram_budget is None else parse_bytes(options.ram_budget),
    }  # fmt: skip
    return {name: value for name, value in said.items() if value is not None}
