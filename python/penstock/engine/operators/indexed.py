"""Index-driven operators over others, and the table of all. Pure in their positions, so any worker may run any."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.columns import ArrayColumn, Indices
from penstock.block.origin import NOWHERE, BatchOrigins, Origins, PassOrigins, ZipOrigins
from penstock.block.tree import LEAF, tuple_of
from penstock.engine.executors.placed import PlacedFunction
from penstock.engine.operators.batching import batch_counts
from penstock.engine.operators.cached import CacheOperator
from penstock.engine.operators.file_caches import FileCacheOperator, LoadedOperator
from penstock.engine.operators.files import (
    ArrayFileOperator,
    IndexedLinesOperator,
    IndexedTFRecordsOperator,
    RecordFilesOperator,
)
from penstock.engine.operators.format_rows import FormatRowsOperator
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.interleaving import interleave_blocks, interleave_origins
from penstock.engine.operators.joining import is_plain, join_rows, weigh
from penstock.engine.operators.piecewise import PieceOrder
from penstock.engine.operators.positions import IndexedOperator, is_consecutive
from penstock.engine.operators.rows import IndexedObjectOperator, RandomOperator, RangeOperator, SlicesOperator
from penstock.engine.scope import Scope, Seen, agree, disagreement
from penstock.graph.node import Node
from penstock.graph.nodes import (
    ArrayFile,
    AssertCardinality,
    Batch,
    Cache,
    Chain,
    Concatenate,
    Counter,
    Enumerate,
    FileCache,
    FormatRows,
    IgnoreErrors,
    Indexed,
    IndexedLines,
    IndexedTFRecords,
    Loaded,
    Map,
    Mix,
    PaddedBatch,
    Permute,
    Prefetch,
    RaggedBatch,
    Random,
    Range,
    RankRows,
    RecordFiles,
    Repeat,
    Slices,
    Stride,
    WithOptions,
    Zip,
    graft,
)
from penstock.graph.proportions import mixed
from penstock.kernels.permute import permute
from penstock.rng import derive_key


class ZipOperator(IndexedOperator):
    """One element of each input."""

    node: Zip

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        return ZipOrigins(tuple(source.origins(positions, scope) for source in self.inputs))

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        return zip_blocks(self.node, [source.rows(positions, scope) for source in self.inputs])

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        blocks: list[Block] = []
        for source in self.inputs:
            block = source.batches(positions, counts, scope)
            if block is None or block.failure is not None:
                return None
            blocks.append(block)
        origins = ZipOrigins(tuple(_unbatched_origins(block) for block in blocks))
        joined = zip_blocks(self.node, blocks)
        batched = blocks[0].origins
        assert isinstance(batched, BatchOrigins)
        return Block(joined.structure, joined.columns, BatchOrigins(origins, batched.starts, batched.counts))


def _unbatched_origins(block: Block) -> Origins:
    assert isinstance(block.origins, BatchOrigins)
    return block.origins.inner


def zip_blocks(node: Zip, blocks: Sequence[Block]) -> Block:
    """Blocks of equal positions side by side; ends with the shortest, and at the first failure."""
    count = min(len(block) for block in blocks)
    stopped = next((block for block in blocks if len(block) == count and block.failure is not None), None)
    parts = [block.slice(0, count) for block in blocks]
    failure = stopped.failure if stopped is not None else None
    origins = ZipOrigins(tuple(part.origins for part in parts))
    if count == 0:
        return empty_block(origins, failure)
    structure = graft(node.template, [part.structure for part in parts])
    return Block(structure, tuple(column for part in parts for column in part.columns), origins, failure)


class FunctionOperator(IndexedOperator):
    """Maps: one call an element."""

    def __init__(self, node: Node, inputs: Sequence[IndexedOperator]) -> None:
        super().__init__(node, inputs)
        self._function = PlacedFunction(node)

    @property
    def lays_out_rows(self) -> bool:
        return self._function.lays_out_rows

    def is_handed_over(self) -> bool:
        return self._function.is_handed_over or super().is_handed_over()

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        return self._function(self.inputs[0].rows(positions, scope.aside()), scope)


class EnumerateOperator(IndexedOperator):
    """(position, element)."""

    node: Enumerate

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        return enumerate_block(self.inputs[0].rows(positions, scope), positions + self.node.start)


def enumerate_block(block: Block, numbers: Indices) -> Block:
    """(number, element) of every element."""
    if not len(block):
        return block
    columns = (ArrayColumn(numbers[: len(block)]), *block.columns)
    return Block(tuple_of(LEAF, block.structure), columns, block.origins, block.failure)


def windows(key: int, size: int, positions: Indices) -> Indices:
    """The images of `positions` where each window of `size` is permuted in its own way. Cost: about 8 us a window."""
    numbers, within = np.divmod(positions, size)
    images = np.empty_like(positions)
    for number in np.unique(numbers).tolist():
        rows = numbers == number
        images[rows] = number * size + permute(derive_key("window", key, number), size, within[rows])
    return images


class PermuteOperator(IndexedOperator):
    """Positions through a keyed permutation of the range, or of each window of it; nothing is stored."""

    node: Permute

    def __init__(self, node: Permute, inputs: Sequence[IndexedOperator]) -> None:
        super().__init__(node, inputs)
        self._pieces = None if node.pieces is None else PieceOrder(node.pieces)

    @property
    def lays_out_rows(self) -> bool:
        return self.inputs[0].lays_out_rows

    def _source(self, positions: Indices, scope: Scope) -> Indices:
        node = self.node
        key = scope.key("shuffle", node.number, node.seed, per_iteration=node.reshuffle_each_iteration)
        if self._pieces is not None:
            return self._pieces.images(key, positions)
        return permute(key, self.length, positions) if node.window is None else windows(key, node.window, positions)

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        return self.inputs[0].origins(self._source(positions, scope), scope)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        return self.inputs[0].rows(self._source(positions, scope), scope)

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        return self.inputs[0].batches(self._source(positions, scope), counts, scope)


class StrideOperator(IndexedOperator):
    """Positions start, start + step, ..."""

    node: Stride

    @property
    def lays_out_rows(self) -> bool:
        return self.inputs[0].lays_out_rows

    def _source(self, positions: Indices) -> Indices:
        return self.node.start + self.node.step * positions

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        return self.inputs[0].origins(self._source(positions), scope)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        return self.inputs[0].rows(self._source(positions), scope)

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        return self.inputs[0].batches(self._source(positions), counts, scope)


class RankRowsOperator(StrideOperator):
    """Positions of one rank's rows in each global batch."""

    node: RankRows  # type: ignore[assignment]  # it maps positions as a stride does, by another formula

    def _source(self, positions: Indices) -> Indices:
        node, count = self.node, self.inputs[0].length
        first, _ = node.share(node.global_batch)
        batch, row = np.divmod(positions, node.local_batch)
        source = batch * node.global_batch + first + row
        whole = count // node.global_batch
        if 0 <= count and not node.drop_remainder and count % node.global_batch:
            start, _ = node.share(count % node.global_batch)
            rest = positions - whole * node.local_batch
            source = np.where(rest >= 0, whole * node.global_batch + start + rest, source)
        return source


class PassThroughOperator(IndexedOperator):
    """What changes no element."""

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        return self.inputs[0].rows(positions, scope)

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        return self.inputs[0].batches(positions, counts, scope)


class ConcatenateOperator(IndexedOperator):
    """Positions below the border from the first input, the rest from the second."""

    node: Concatenate

    def _split(self, positions: Indices) -> list[tuple[IndexedOperator, Indices, Indices]]:
        """(input, places in `positions`, positions in that input) for each input that has any."""
        border = self.inputs[0].length
        second = positions >= border if border >= 0 else np.zeros(len(positions), dtype=bool)
        halves = ((self.inputs[0], np.flatnonzero(~second), 0), (self.inputs[1], np.flatnonzero(second), border))
        return [(source, places, positions[places] - shift) for source, places, shift in halves if len(places)]

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        parts = [(places, source.origins(within, scope)) for source, places, within in self._split(positions)]
        return interleave_origins(parts)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        parts = [(places, source.rows(within, scope)) for source, places, within in self._split(positions)]
        return interleave_blocks(_agreeing(self.node, parts, scope), positions)


def _agreeing(node: Node, parts: Sequence[tuple[Indices, Block]], scope: Scope) -> Sequence[tuple[Indices, Block]]:
    """Blocks of several inputs; one whose elements differ from those of the first in order fails where it begins."""
    full = sorted((part for part in parts if len(part[1])), key=lambda part: int(part[0][0]))
    if not full:
        return parts
    seen = [Seen.of(node, block) for _, block in full]
    scope.task_log.seen.append(seen[0])
    pairs = zip(full, seen, strict=True)
    odd = {id(b): Failure(disagreement(seen[0], s)) for (_, b), s in pairs if not agree(seen[0], s)}
    return [(places, empty_block(NOWHERE, odd[id(b)]) if id(b) in odd else b) for places, b in parts]


class MixOperator(IndexedOperator):
    """Element i is the one that the proportions put at place i."""

    node: Mix

    def _split(self, positions: Indices) -> list[tuple[IndexedOperator, Indices, Indices]]:
        """(input, places in `positions`, positions in that input) for each input that has any."""
        chosen, within = mixed(positions, self.node.proportions)
        places = [(source, np.flatnonzero(chosen == number)) for number, source in enumerate(self.inputs)]
        return [(source, of_it, within[of_it]) for source, of_it in places if len(of_it)]

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        parts = [(places, source.origins(within, scope)) for source, places, within in self._split(positions)]
        return interleave_origins(parts)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        parts = [(places, source.rows(within, scope)) for source, places, within in self._split(positions)]
        return interleave_blocks(_agreeing(self.node, parts, scope), positions)


class RepeatOperator(IndexedOperator):
    """Positions modulo the length; the quotient is the pass, which randomness below and above is keyed by."""

    node: Repeat

    def _split(self, positions: Indices) -> list[tuple[int, Indices, Indices]]:
        """(pass, places in `positions`, positions in the input) for each pass."""
        passes, within = np.divmod(positions, self.inputs[0].length)
        split = []
        for number in np.unique(passes).tolist():
            places = np.flatnonzero(passes == number)
            split.append((number, places, within[places]))
        return split

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        parts = []
        for number, places, within in self._split(positions):
            inner = self.inputs[0].origins(within, scope.in_pass(self.node.number, number))
            parts.append((places, pass_origins(inner, self.node.number, number)))
        return interleave_origins(parts)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        parts = []
        for number, places, within in self._split(positions):
            block = self.inputs[0].rows(within, scope.in_pass(self.node.number, number))
            parts.append((places, in_pass(block, self.node.number, number)))
        return interleave_blocks(parts, positions)


def alike(node: Node) -> Callable[[Block], Block]:
    """Lets blocks through while their elements are of one structure, dtype and rank."""
    first: list[Seen] = []

    def through(block: Block) -> Block:
        if not len(block):
            return block
        seen = Seen.of(node, block)
        first.append(seen)
        del first[1:]
        return block if agree(first[0], seen) else empty_block(NOWHERE, Failure(disagreement(first[0], seen)))

    return through


def pass_origins(origins: Origins, node_number: int, number: int) -> Origins:
    """The origins with their pass; the first pass is as no repeat at all."""
    return origins if number == 0 else PassOrigins(origins, node_number, number)


def in_pass(block: Block, node_number: int, number: int) -> Block:
    """The block with its pass in its origins."""
    origins = pass_origins(block.origins, node_number, number)
    return Block(block.structure, block.columns, origins, block.failure)


class BatchOperator(IndexedOperator):
    """Element i is rows i * batch_size to (i + 1) * batch_size of the input, made into a batch of the node's kind."""

    node: Batch

    @property
    def is_plain(self) -> bool:
        """Whether its batches are their rows stacked, no more: then they can be written in parts."""
        return is_plain(self.node)

    def source_positions(self, positions: Indices) -> tuple[Indices, Indices]:
        """The input positions of these batches, one after another, and how many each has."""
        size, rows = self.node.batch_size, self.inputs[0].length
        if is_consecutive(positions):
            first, stop = int(positions[0]), int(positions[-1]) + 1
            counts = batch_counts(first, stop, rows, size)
            return np.arange(first * size, first * size + int(counts.sum()), dtype=np.int64), counts
        counts = np.concatenate([batch_counts(p, p + 1, rows, size) for p in positions.tolist()])
        starts = np.repeat(positions * size - (np.cumsum(counts) - counts), counts)
        return starts + np.arange(len(starts), dtype=np.int64), counts

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        source, counts = self.source_positions(positions)
        return BatchOrigins(self.inputs[0].origins(source, scope), np.cumsum(counts) - counts, counts)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        if not len(positions):
            return empty_block(NOWHERE)
        source, counts = self.source_positions(positions)
        if self.is_plain or (self.node.pads_remainder and counts.min() == self.node.batch_size):
            block = self.inputs[0].batches(source, counts, scope)
            if block is not None:
                return block if self.is_plain else weigh(self.node, block, counts, scope.services.pool)
        rows = self.inputs[0].rows(source, scope)
        adopt = isinstance(self.inputs[0], FunctionOperator)  # nothing in between could have kept what is fresh
        return join_rows(self.node, rows, counts, scope.services.pool, adopt=adopt)


INDEXED: dict[type[Node], Callable[[Any, Sequence[IndexedOperator]], IndexedOperator]] = {
    Slices: SlicesOperator,
    Range: RangeOperator,
    Counter: RangeOperator,
    Random: RandomOperator,
    Indexed: IndexedObjectOperator,
    ArrayFile: ArrayFileOperator,
    FormatRows: FormatRowsOperator,
    RecordFiles: RecordFilesOperator,
    IndexedLines: IndexedLinesOperator,
    IndexedTFRecords: IndexedTFRecordsOperator,
    Zip: ZipOperator,
    Map: FunctionOperator,
    Chain: FunctionOperator,
    Enumerate: EnumerateOperator,
    Permute: PermuteOperator,
    RankRows: RankRowsOperator,
    Stride: StrideOperator,
    AssertCardinality: PassThroughOperator,
    Prefetch: PassThroughOperator,
    WithOptions: PassThroughOperator,
    IgnoreErrors: PassThroughOperator,
    Concatenate: ConcatenateOperator,
    Mix: MixOperator,
    Repeat: RepeatOperator,
    Batch: BatchOperator,
    PaddedBatch: BatchOperator,
    RaggedBatch: BatchOperator,
    Cache: CacheOperator,
    FileCache: FileCacheOperator,
    Loaded: LoadedOperator,
}


def indexed_operator(node: Node) -> IndexedOperator:
    """The operator tree of an index-driven graph."""
    return INDEXED[type(node)](node, [indexed_operator(source) for source in node.inputs])
