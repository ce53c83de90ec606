"""Which barrier each kind of node becomes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.barriers.buckets import GatheredBucketsBarrier
from penstock.engine.operators.barriers.combining import ZipBarrier
from penstock.engine.operators.barriers.grouped_windows import GroupByWindowBarrier
from penstock.engine.operators.barriers.grouping import BatchBarrier, RebatchBarrier
from penstock.engine.operators.barriers.keeping import FileCacheBarrier, StreamCacheBarrier
from penstock.engine.operators.barriers.mixing import ChooseBarrier, MixBarrier, SampleBarrier
from penstock.engine.operators.barriers.nested import NestedBarrier
from penstock.engine.operators.barriers.order import (
    AssertCardinalityBarrier,
    EnumerateBarrier,
    RankRowsBarrier,
    ShardBarrier,
    SkipBarrier,
    StrideBarrier,
    TakeBarrier,
)
from penstock.engine.operators.barriers.packing import pack_barrier
from penstock.engine.operators.barriers.resample import ResampleBarrier
from penstock.engine.operators.barriers.shuffle import shuffle_barrier
from penstock.engine.operators.barriers.stateful import ScanBarrier, TakeWhileBarrier, UniqueBarrier
from penstock.engine.operators.barriers.windows import SlideBarrier, WindowBarrier
from penstock.engine.scope import Scope
from penstock.graph.node import Node
from penstock.graph.nodes import (
    AssertCardinality,
    Batch,
    Bucket,
    Cache,
    Choose,
    Enumerate,
    FileCache,
    FlatMap,
    GatheredBuckets,
    GroupByWindow,
    Interleave,
    Mix,
    Nesting,
    Pack,
    PaddedBatch,
    RaggedBatch,
    RankRows,
    Rebatch,
    Resample,
    Sample,
    Scan,
    Shard,
    Shuffle,
    Skip,
    Slide,
    Stride,
    Take,
    TakeWhile,
    Unique,
    Window,
    Zip,
)


def barrier_of(node: Node, scope: Scope) -> Barrier:
    """The barrier that `node` becomes."""
    return BARRIERS[type(node)](node, scope)


def _nested(node: Nesting, scope: Scope) -> Barrier:
    return NestedBarrier(node, scope, barrier_of)


def _grouped(node: GroupByWindow, scope: Scope) -> Barrier:
    return GroupByWindowBarrier(node, scope, barrier_of)


def _gathered(node: GatheredBuckets, scope: Scope) -> Barrier:
    return GatheredBucketsBarrier(node, scope, barrier_of)


BARRIERS: dict[type[Node], Callable[[Any, Scope], Barrier]] = {
    Batch: BatchBarrier,
    PaddedBatch: BatchBarrier,
    RaggedBatch: BatchBarrier,
    Rebatch: RebatchBarrier,
    Pack: pack_barrier,
    Shuffle: shuffle_barrier,
    Take: TakeBarrier,
    Skip: SkipBarrier,
    RankRows: RankRowsBarrier,
    Shard: ShardBarrier,
    Stride: StrideBarrier,
    Enumerate: EnumerateBarrier,
    Zip: ZipBarrier,
    Cache: StreamCacheBarrier,
    FileCache: FileCacheBarrier,
    FlatMap: _nested,
    GroupByWindow: _grouped,
    Bucket: _grouped,
    GatheredBuckets: _gathered,
    Interleave: _nested,
    Window: WindowBarrier,
    Slide: SlideBarrier,
    AssertCardinality: AssertCardinalityBarrier,
    Scan: ScanBarrier,
    TakeWhile: TakeWhileBarrier,
    Unique: UniqueBarrier,
    Resample: ResampleBarrier,
    Sample: SampleBarrier,
    Choose: ChooseBarrier,
    Mix: MixBarrier,
}
