"""Barriers that pack sequences. What they hold are the sequences not given out yet, and how they lie."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks
from penstock.block.columns import Indices
from penstock.block.origin import NOWHERE
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.packing import pack_bins, pack_stream, sequence_lengths
from penstock.engine.scope import Scope
from penstock.graph.node import Node
from penstock.graph.nodes import Pack
from penstock.kernels.packing import assign_bins


class PackBarrier(Barrier):
    """Whole sequences into `bins` open elements; the first that fits into none closes all of them."""

    node: Pack
    carries = True

    def __init__(self, node: Pack, scope: Scope) -> None:
        super().__init__(node, scope)
        self._held: list[Block] = []
        self._bins_of: list[Indices] = []
        self._lengths: list[Indices] = []
        self._used: Indices = np.zeros(0, dtype=np.int64)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if not len(block):
            return []
        lengths, failure = sequence_lengths(self.node, block)
        capacities = np.array(self.node.lengths_of(block.structure), dtype=np.int64)
        made: list[Block] = []
        start = 0
        while start < len(lengths):
            if not self._held:
                self._used = np.zeros(self.node.bins * len(capacities), dtype=np.int64)
            bins_of = assign_bins(lengths[start:], capacities, self._used, fullest=self.node.strategy == "best_fit")
            stop = start + len(bins_of)
            if stop > start:
                self._held.append(block.slice(start, stop))
                self._bins_of.append(bins_of)
                self._lengths.append(lengths[start:stop])
            if stop < len(lengths):
                made += self._emit(scope)
            start = stop
        return _followed(made, failure, block)

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return self._emit(scope)

    def _emit(self, scope: Scope) -> list[Block]:
        if not self._held:
            return []
        joined, bins_of, lengths = (
            concat_blocks(self._held),
            np.concatenate(self._bins_of),
            np.concatenate(self._lengths),
        )
        self._held, self._bins_of, self._lengths = [], [], []
        return [pack_bins(self.node, joined, lengths, bins_of, scope.services.pool)]

    def carry(self) -> list[int]:
        return []

    def held(self) -> tuple[int, ...]:
        return (sum(map(len, self._held)),)


class ConcatBarrier(Barrier):
    """Sequences end to end, cut where an element is full."""

    node: Pack
    carries = True

    def __init__(self, node: Pack, scope: Scope) -> None:
        super().__init__(node, scope)
        self._held: list[Block] = []
        self._given = 0  # tokens of the first sequence held

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if not len(block):
            return []
        lengths, failure = sequence_lengths(self.node, block)
        if len(lengths):
            self._held.append(block.slice(0, len(lengths)))
        return _followed(self._emit(scope, to_the_end=False), failure, block)

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return self._emit(scope, to_the_end=True)

    def _emit(self, scope: Scope, *, to_the_end: bool) -> list[Block]:
        if not self._held:
            return []
        joined = concat_blocks(self._held)
        lengths, _ = sequence_lengths(self.node, joined)
        ends: Indices = np.cumsum(lengths[:, 0])
        length, tokens = self.node.lengths_of(joined.structure)[0], int(ends[-1]) - self._given
        elements = -(-tokens // length) if to_the_end else tokens // length
        self._held = [joined]
        if not elements:
            return []
        made = pack_stream(self.node, joined, ends, self._given, elements, pool=scope.services.pool)
        stop = self._given + elements * length
        first = int(np.searchsorted(ends, stop, side="right"))
        rest = joined.slice(first, len(joined))
        self._held = [rest] if len(rest) else []
        self._given = stop - (int(ends[first - 1]) if first else 0) if len(rest) else 0
        return [made]

    def carry(self) -> list[int]:
        return [self._given]

    def held(self) -> tuple[int, ...]:
        return (sum(map(len, self._held)),)

    def restore(self, carry: list[int]) -> None:
        (self._given,) = carry


def _followed(made: list[Block], failure: Failure | None, block: Block) -> list[Block]:
    """What was made, and the failure of a sequence that is not the input's own."""
    return made if failure is None or failure is block.failure else [*made, empty_block(NOWHERE, failure)]


def pack_barrier(node: Node, scope: Scope) -> Barrier:
    assert isinstance(node, Pack)
    return ConcatBarrier(node, scope) if node.strategy == "concat" else PackBarrier(node, scope)
