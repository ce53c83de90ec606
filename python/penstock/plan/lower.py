"""From graph to plan: one row of a table for each kind of node.

Index-driven subgraphs grow into one indexed stage as long as every function in them may run in parallel. A function
that may not gets a serial stage of its own, so that what is below and above it still runs wide. What cannot be cut so
(such a function under a zip, say) makes its whole indexed stage serial: slower, never different.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from penstock.graph.node import Node, is_index_driven
from penstock.graph.nodes import (
    ArrayFile,
    AssertCardinality,
    Batch,
    Bucket,
    Cache,
    Chain,
    Choose,
    Concatenate,
    Counter,
    CsvRows,
    Enumerate,
    FileCache,
    Filter,
    FlatMap,
    FormatRows,
    FormatStream,
    GatheredBuckets,
    Generator,
    GroupByWindow,
    IgnoreErrors,
    Indexed,
    IndexedLines,
    IndexedTFRecords,
    Interleave,
    Lines,
    Loaded,
    Map,
    Mix,
    Pack,
    PackedRecords,
    PaddedBatch,
    Permute,
    Prefetch,
    RaggedBatch,
    Random,
    Range,
    RankRows,
    Rebatch,
    RecordFiles,
    Repeat,
    Resample,
    Sample,
    Scan,
    Shard,
    Shuffle,
    Skip,
    Slices,
    Slide,
    Stride,
    Take,
    TakeWhile,
    TFRecords,
    Unbatch,
    Unique,
    Window,
    WithOptions,
    Zip,
)
from penstock.options import AUTOTUNE
from penstock.plan.place import width_of
from penstock.plan.stage import (
    BarrierStage,
    ChainStage,
    IndexedStage,
    NestedStage,
    Plan,
    SegmentStage,
    SourceStage,
    Stage,
    Width,
)

_INTERLEAVE_WORKERS = 16

Lower = Callable[[Node, "Lowering"], Stage]


class Lowering:
    """One pass over a graph: what it may use, and whether results keep their order."""

    def __init__(self, cpus: int, deterministic: bool, executor: str | None) -> None:
        self.cpus = cpus
        self.deterministic = deterministic
        self.executor = executor

    def stage(self, node: Node) -> Stage:
        """The stage that delivers the elements of `node`."""
        return LOWER[type(node)](node, self)

    def in_order(self) -> Lowering:
        """For inputs of what means places (zip, take, skip, shard, enumerate): no option may change which come."""
        return Lowering(self.cpus, deterministic=True, executor=self.executor)

    def ordered(self, node: Node) -> bool:
        """Whether the results of `node` must keep their order: its own word, else that of the options."""
        steps = node.steps if isinstance(node, Chain) else (node,)
        said = [step.deterministic for step in steps if isinstance(step, Map) and step.deterministic is not None]
        return all(said) if said else self.deterministic

    def insists(self, node: Node) -> bool:
        """Whether `node` says `deterministic=True` itself, whatever the options say."""
        steps = node.steps if isinstance(node, Chain) else (node,)
        return any(isinstance(step, Map) and step.deterministic is True for step in steps)


def lower(graph: Node, cpus: int, deterministic: bool, executor: str | None = None) -> Plan:
    """The plan of an optimized graph, for `cpus` cores. `executor`: what the options say of functions."""
    root = Lowering(cpus, deterministic, executor).stage(graph)
    obstacle = None if _keeps_order(root) else "results are delivered as they complete (deterministic=False)"
    return Plan(root, graph, obstacle)


def _keeps_order(stage: Stage) -> bool:
    return stage.ordered and all(_keeps_order(source) for source in stage.inputs)


def _indexed_source(node: Node, lowering: Lowering) -> Stage:
    return IndexedStage(node=node, width=width_of(node, lowering.cpus), ordered=lowering.deterministic)


def _generator(node: Node, lowering: Lowering) -> Stage:
    return SourceStage(node=node, width=Width(1, "a generator: one worker, in order", serial=True))


def _files(node: Node, lowering: Lowering) -> Stage:
    return SourceStage(node=node, width=Width(1, "files: read one after another, ahead", serial=True))


def _segment(node: Node, lowering: Lowering) -> Stage:
    width = width_of(node, lowering.cpus, lowering.executor)
    below = lowering.stage(node.input)
    ordered = lowering.ordered(node)
    if (
        isinstance(below, IndexedStage)
        and is_index_driven(node)
        and not (width.serial or below.width.serial or isinstance(below.node, Batch))
    ):
        wider = max(width, below.width, key=lambda w: (w.reason != "native", w.workers))
        return IndexedStage(node=node, width=wider, ordered=ordered and (below.ordered or lowering.insists(node)))
    return SegmentStage(node=node, inputs=(below,), width=width, ordered=ordered or width.serial)


def _batch(node: Node, lowering: Lowering) -> Stage:
    below = lowering.stage(node.input)
    if isinstance(below, IndexedStage) and is_index_driven(node):
        return replace(below, node=node)
    return _barrier_over(node, (below,))


def _barrier_over(node: Node, inputs: tuple[Stage, ...]) -> Stage:
    return BarrierStage(node=node, inputs=inputs, width=Width(1, "needs its input in order", serial=True))


def _index_node(node: Node, lowering: Lowering) -> Stage:
    """Zips, strides, permutations: part of an indexed stage where they are index-driven, else a barrier."""
    if not is_index_driven(node):
        return _in_order(node, lowering)
    inputs = tuple(lowering.stage(source) for source in node.inputs)
    return IndexedStage(node=node, width=_joint_width(inputs), ordered=all(_keeps_order(s) for s in inputs))


def _in_order(node: Node, lowering: Lowering) -> Stage:
    inner = lowering.in_order()
    return _barrier_over(node, tuple(inner.stage(source) for source in node.inputs))


def _joint_width(inputs: tuple[Stage, ...]) -> Width:
    """The width of one stage that takes in all of `inputs`: serial when anything inside them is."""
    widths: list[Width] = []
    pending = list(inputs)
    while pending:
        stage = pending.pop()
        pending.extend(stage.inputs)
        if not isinstance(stage, BarrierStage):
            widths.append(stage.width)
    return next((w for w in widths if w.serial), max(widths, key=lambda w: (w.reason != "native", w.workers)))


def _chain(node: Node, lowering: Lowering) -> Stage:
    inputs = tuple(lowering.stage(source) for source in node.inputs)
    if is_index_driven(node):
        return IndexedStage(node=node, width=_joint_width(inputs), ordered=all(_keeps_order(s) for s in inputs))
    return ChainStage(node=node, inputs=inputs, width=Width(1, "opens its inputs in turn"))


def _interleave(node: Node, lowering: Lowering) -> Stage:
    """Read in parallel where the user asks for it."""
    if not isinstance(node, Interleave) or node.num_parallel_calls is None:
        return _in_order(node, lowering)
    calls = node.num_parallel_calls
    workers = min(node.cycle_length, _INTERLEAVE_WORKERS) if calls == AUTOTUNE else calls
    reason = f"num_parallel_calls={'AUTOTUNE' if calls == AUTOTUNE else calls}: so many datasets are read at a time"
    ordered = lowering.deterministic if node.deterministic is None else node.deterministic
    below = lowering.in_order().stage(node.input)
    width = Width(workers, reason, said=calls != AUTOTUNE)
    return NestedStage(node=node, inputs=(below,), width=width, ordered=ordered)


def _barrier(node: Node, lowering: Lowering) -> Stage:
    return _barrier_over(node, (lowering.stage(node.input),))


def _prefetch(node: Node, lowering: Lowering) -> Stage:
    below = lowering.stage(node.input)
    size = node.buffer_size if isinstance(node, Prefetch) and node.buffer_size > 0 else None
    return replace(below, ahead=size)


def _pass_through(node: Node, lowering: Lowering) -> Stage:
    return lowering.stage(node.input)


LOWER: dict[type[Node], Lower] = {
    Slices: _indexed_source,
    Range: _indexed_source,
    Counter: _indexed_source,
    Random: _indexed_source,
    Indexed: _indexed_source,
    ArrayFile: _indexed_source,
    FormatRows: _indexed_source,
    FormatStream: _files,
    RecordFiles: _indexed_source,
    Loaded: _indexed_source,
    PackedRecords: _files,
    Lines: _files,
    IndexedLines: _indexed_source,
    TFRecords: _files,
    IndexedTFRecords: _indexed_source,
    CsvRows: _files,
    Generator: _generator,
    Map: _segment,
    Filter: _segment,
    Unbatch: _segment,
    Chain: _segment,
    Batch: _batch,
    PaddedBatch: _batch,
    RaggedBatch: _batch,
    Rebatch: _barrier,
    Pack: _barrier,
    Zip: _index_node,
    Enumerate: _index_node,
    Permute: _index_node,
    RankRows: _index_node,
    Stride: _index_node,
    Cache: _index_node,
    FileCache: _index_node,
    Concatenate: _chain,
    Repeat: _chain,
    Shuffle: _barrier,
    FlatMap: _in_order,
    GroupByWindow: _in_order,
    Bucket: _in_order,
    GatheredBuckets: _in_order,
    Interleave: _interleave,
    Window: _in_order,
    Slide: _in_order,
    Take: _in_order,
    Skip: _in_order,
    Shard: _in_order,
    Mix: _index_node,
    AssertCardinality: _index_node,
    Scan: _in_order,
    TakeWhile: _in_order,
    Unique: _barrier,
    Resample: _barrier,
    Sample: _in_order,
    Choose: _in_order,
    Prefetch: _prefetch,
    WithOptions: _pass_through,
    IgnoreErrors: _pass_through,
}
