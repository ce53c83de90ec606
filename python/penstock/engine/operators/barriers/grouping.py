"""Barriers that make one element of several."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block, concat_blocks
from penstock.block.columns import Indices
from penstock.block.origin import NOWHERE, RowOrigins
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.barriers.gathering import GatheringBarrier
from penstock.engine.operators.functions import empty_block, row_counts
from penstock.engine.operators.joining import join_rows
from penstock.engine.operators.rebatching import rows_in_batches
from penstock.engine.scope import Scope
from penstock.graph.nodes import Batch, Rebatch


class BatchBarrier(GatheringBarrier):
    """Rows from consecutive blocks made into batches, of any kind."""

    node: Batch

    def __init__(self, node: Batch, scope: Scope) -> None:
        super().__init__(node, scope, node.batch_size)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        rows = self.gathered(block)
        return [] if rows is None else self._batches(rows, scope)

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return self._batches(self.taken(self._rows), scope) if self._rows and not self.node.drop_remainder else []

    def _batches(self, rows: Block, scope: Scope) -> list[Block]:
        size = self.node.batch_size
        counts = np.full(-(-len(rows) // size), size, dtype=np.int64)
        counts[-1] = len(rows) - (len(counts) - 1) * size
        return [join_rows(self.node, rows, counts, scope.services.pool)]


class RebatchBarrier(Barrier):
    """The rows of consecutive elements in batches of other sizes; each byte is copied once.

    What it holds: the elements not wholly given out, how many rows of the first are, and whose turn in the cycle of
    sizes it is.
    """

    node: Rebatch
    carries = True

    def __init__(self, node: Rebatch, scope: Scope) -> None:
        super().__init__(node, scope)
        self._held: list[Block] = []
        self._given = 0  # rows of the first element held
        self._turn = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if not len(block):
            return []
        counts, failure = row_counts(self.node, block)
        if counts:
            self._held.append(block if failure is None else block.slice(0, len(counts)))
        made = self._emit(scope, to_the_end=False)
        return made if failure is None else [*made, empty_block(NOWHERE, failure)]

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return self._emit(scope, to_the_end=not self.node.drop_remainder)

    def _emit(self, scope: Scope, *, to_the_end: bool) -> list[Block]:
        if not self._held:
            return []
        joined = concat_blocks(self._held)
        lengths = np.array(row_counts(self.node, joined)[0], dtype=np.int64)
        ends: Indices = np.cumsum(lengths)
        counts = self._next_counts(int(ends[-1]) - self._given, to_the_end)
        if not len(counts):
            self._held = [joined]
            return []
        stop = self._given + int(counts.sum())
        rows = np.arange(self._given, stop, dtype=np.int64)
        elements = np.searchsorted(ends, rows, side="right")
        origins = RowOrigins(joined.origins.take(elements), rows - (ends - lengths)[elements])
        pool, label = scope.services.pool, self.node.label
        made = rows_in_batches(joined, ends, self._given, counts, origins, pool=pool, label=label)
        first = int(np.searchsorted(ends, stop, side="right"))
        rest = joined.slice(first, len(joined))
        self._held = [rest] if len(rest) else []
        self._given = stop - int(ends[first - 1]) if first and len(rest) else stop if len(rest) else 0
        return [made]

    def _next_counts(self, rows: int, to_the_end: bool) -> Indices:
        """How many rows each of the next batches takes of `rows`; moves the turn."""
        sizes, counts = self.node.batch_sizes, []
        while rows >= sizes[self._turn] or (to_the_end and rows):
            counts.append(min(rows, sizes[self._turn]))
            rows -= counts[-1]
            self._turn = (self._turn + 1) % len(sizes)
        return np.array(counts, dtype=np.int64)

    def carry(self) -> list[int]:
        return [self._given, self._turn]

    def held(self) -> tuple[int, ...]:
        return (sum(map(len, self._held)),)

    def restore(self, carry: list[int]) -> None:
        self._given, self._turn = carry
