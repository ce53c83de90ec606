"""From a plan's stages to running ones: which operator each node becomes, and where it starts."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.engine.executors.placed import PlacedFunction
from penstock.engine.operators.barriers import BARRIERS
from penstock.engine.operators.indexed import alike, in_pass, indexed_operator
from penstock.engine.operators.sources import GeneratorSource, ReplaySource
from penstock.engine.scope import Scope
from penstock.engine.stages import BarrierRun, ChainRun, IndexedRun, Opening, RunningStage, SegmentRun, SourceRun
from penstock.graph.node import INFINITE
from penstock.graph.nodes import Batch, Cache, Generator, Repeat
from penstock.plan.stage import BarrierStage, ChainStage, IndexedStage, SegmentStage, SourceStage, Stage


def build(stage: Stage, scope: Scope, block_size: int | None, start: int = 0) -> RunningStage:
    """The running form of `stage`. `start`: elements already delivered, for stages of an index-driven plan."""
    node = stage.node
    if isinstance(stage, IndexedStage):
        return IndexedRun(stage, scope, indexed_operator(node), start, block_size)
    if isinstance(stage, SegmentStage):
        source = build(stage.inputs[0], scope, block_size, start)
        return SegmentRun(stage, scope, source, PlacedFunction(node), block_size)
    if isinstance(stage, SourceStage):
        assert isinstance(node, Generator)
        return SourceRun(stage, scope, GeneratorSource(node, block_size))
    if isinstance(stage, ChainStage):
        return ChainRun(stage, scope, _openings(stage, scope, block_size))
    assert isinstance(stage, BarrierStage)
    if isinstance(node, Cache):
        kept = node.store.stream
        scope = scope.frozen()
        if kept is not None:
            return SourceRun(stage, scope, ReplaySource(kept))
    if isinstance(node, Batch):
        start *= node.batch_size
    inputs = [build(source, scope, block_size, start) for source in stage.inputs]
    return BarrierRun(stage, scope, inputs, BARRIERS[type(node)](node, scope))


def _openings(stage: Stage, scope: Scope, block_size: int | None) -> Iterator[Opening]:
    node = stage.node
    if not isinstance(node, Repeat):
        through = alike(node)
        for source in stage.inputs:
            yield Opening(lambda source=source: build(source, scope, block_size), through)  # type: ignore[misc]  # mypy cannot type a lambda's default
        return
    repetition = 0
    while node.count == INFINITE or repetition < node.count:
        inner = scope.in_pass(node.number, repetition)
        yield Opening(
            lambda inner=inner: build(stage.inputs[0], inner, block_size),  # type: ignore[misc]  # likewise
            lambda block, repetition=repetition: in_pass(block, node.number, repetition),  # type: ignore[misc]  # likewise
            ends_when_empty=node.count == INFINITE,
        )
        repetition += 1
