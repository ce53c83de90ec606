"""From a plan's stages to running ones: which operator each node becomes, and where it starts."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.engine.marks import START, Mark
from penstock.engine.nested.parallel import ParallelRun
from penstock.engine.operators.barriers import BARRIERS, barrier_of
from penstock.engine.operators.indexed import alike, in_pass, indexed_operator
from penstock.engine.operators.sources import ReplaySource
from penstock.engine.operators.streams import stream_source
from penstock.engine.scope import Scope
from penstock.engine.stages import BarrierRun, ChainRun, IndexedRun, Opening, RunningStage, SegmentRun, SourceRun
from penstock.graph.node import INFINITE, is_index_driven
from penstock.graph.nodes import Batch, Cache, Repeat
from penstock.plan.stage import BarrierStage, ChainStage, IndexedStage, NestedStage, SegmentStage, SourceStage, Stage


def build(stage: Stage, scope: Scope, block_size: int | None, start: Mark = START) -> RunningStage:
    """The running form of `stage`, whose next element is the one `start` marks."""
    node = stage.node
    if isinstance(stage, IndexedStage):
        first, given = start.at or 0, start.drop
        if is_index_driven(node):  # an element a position; else some were left out, and those given are passed over
            first, given = first + given, 0
        return IndexedRun(stage, scope, indexed_operator(node), first, block_size, drop=given)
    if isinstance(stage, SegmentStage):
        source = build(stage.inputs[0], scope, block_size, start.input(0))
        return SegmentRun(stage, scope, source, block_size, start)
    if isinstance(stage, SourceStage):
        return SourceRun(stage, scope, stream_source(node, block_size), start)
    if isinstance(stage, ChainStage):
        return ChainRun(stage, scope, _openings(stage, scope, block_size, start), start)
    if isinstance(stage, NestedStage):
        source = build(stage.inputs[0], scope, block_size, start.input(0))
        return ParallelRun(stage, scope, source, barrier_of, start)
    assert isinstance(stage, BarrierStage)
    if isinstance(node, Cache):
        kept = node.store.stream
        scope = scope.frozen()
        if kept is not None:
            return SourceRun(stage, scope, ReplaySource(kept), start)
        start = START.after((start.at or 0) + start.drop)  # it keeps a whole pass, or replays one
    inputs = [build(source, scope, block_size, start.input(number)) for number, source in enumerate(stage.inputs)]
    return BarrierRun(stage, scope, inputs, BARRIERS[type(node)](node, scope), start)


def mark_at(stage: Stage, position: int) -> Mark:
    """The mark of element `position` of an index-driven plan: known without having run it."""
    if isinstance(stage, IndexedStage):
        return Mark(position)
    below = position * stage.node.batch_size if isinstance(stage.node, Batch) else position
    return Mark(inputs=(mark_at(stage.inputs[0], below),))


def _openings(stage: Stage, scope: Scope, block_size: int | None, start: Mark) -> Iterator[Opening]:
    """The inputs in turn, from the one that `start` is in; that one is opened where it stood."""
    node = stage.node
    first: int = start.at or 0
    if not isinstance(node, Repeat):
        through = alike(node)
        for number, source in enumerate(stage.inputs[first:], first):
            mark = start.input(0) if number == first else START
            yield Opening(lambda source=source, mark=mark: build(source, scope, block_size, mark), through)  # type: ignore[misc]  # mypy cannot type a lambda's default
        return
    repetition = first
    while node.count == INFINITE or repetition < node.count:
        inner = scope.in_pass(node.number, repetition)
        mark = start.input(0) if repetition == first else START
        yield Opening(
            lambda inner=inner, mark=mark: build(stage.inputs[0], inner, block_size, mark),  # type: ignore[misc]  # likewise
            lambda block, repetition=repetition: in_pass(block, node.number, repetition),  # type: ignore[misc]  # likewise
            ends_when_empty=node.count == INFINITE,
        )
        repetition += 1
