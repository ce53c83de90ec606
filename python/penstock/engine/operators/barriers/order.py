"""Barriers that let some elements through, and number them."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks
from penstock.block.columns import Indices
from penstock.block.origin import NOWHERE
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.barriers.gathering import GatheringBarrier
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.indexed import enumerate_block
from penstock.engine.scope import Scope
from penstock.errors import CardinalityError
from penstock.graph.nodes import AssertCardinality, Enumerate, RankRows, Shard, Skip, Stride, Take


class TakeBarrier(Barrier):
    """The first `count` elements; then it wants no more, and its input is closed."""

    node: Take
    carries = True

    def __init__(self, node: Take, scope: Scope) -> None:
        super().__init__(node, scope)
        self._left = node.count
        self.wants = None if node.count == 0 else 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if self._left < 0 or len(block) < self._left:
            self._left -= len(block) if self._left >= 0 else 0
            return [block]
        self.wants = None
        taken = block.slice(0, self._left)
        return [Block(taken.structure, taken.columns, taken.origins)]

    def carry(self) -> int:
        return self._left if self.wants is not None else 0

    def restore(self, carry: int) -> None:
        self._left = carry
        self.wants = None if carry == 0 else 0


class SkipBarrier(Barrier):
    """All but the first `count` elements."""

    node: Skip
    carries = True

    def __init__(self, node: Skip, scope: Scope) -> None:
        super().__init__(node, scope)
        self._left = node.count
        self.wants = None if node.count == -1 else 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        skipped = min(self._left, len(block))
        self._left -= skipped
        return [block.slice(skipped, len(block))] if skipped < len(block) else []

    def carry(self) -> int:
        return self._left

    def restore(self, carry: int) -> None:
        self._left = carry


class ShardBarrier(Barrier):
    """Every num_shards-th element."""

    node: Shard
    carries = True

    def __init__(self, node: Shard, scope: Scope) -> None:
        super().__init__(node, scope)
        self._seen = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        first = (self.node.index - self._seen) % self.node.num_shards
        self._seen += len(block)
        rows: Indices = np.arange(first, len(block), self.node.num_shards, dtype=np.int64)
        return [block.take(rows)] if len(rows) else []

    def carry(self) -> int:
        return self._seen

    def restore(self, carry: int) -> None:
        self._seen = carry


class AssertCardinalityBarrier(Barrier):
    """Passes on as many as are asserted; then fails if more come, or fewer came."""

    node: AssertCardinality
    carries = True

    def __init__(self, node: AssertCardinality, scope: Scope) -> None:
        super().__init__(node, scope)
        self._seen = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        left = self.node.count - self._seen
        self._seen += len(block)
        if self.node.count < 0 or len(block) <= left:
            return [block]
        self.wants = None
        return [block.fail(left, self._wrong("more than that"))]

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        if self._seen == self.node.count:
            return []
        return [empty_block(NOWHERE, Failure(self._wrong(f"{self._seen} elements")))]

    def carry(self) -> int:
        return self._seen

    def restore(self, carry: int) -> None:
        self._seen = carry

    def _wrong(self, got: str) -> CardinalityError:
        asserted = "elements without end" if self.node.count < 0 else f"{self.node.count} elements"
        return CardinalityError("another number of elements", got=got, expected=asserted, where=self.node.label)


class RankRowsBarrier(GatheringBarrier):
    """One rank's rows of each global batch. A batch that is not whole yet waits: how it is shared hangs on its size."""

    node: RankRows

    def __init__(self, node: RankRows, scope: Scope) -> None:
        super().__init__(node, scope, node.global_batch)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        rows = self.gathered(block)
        if rows is None:
            return []
        first, stop = self.node.share(self.node.global_batch)
        starts: Indices = np.arange(0, len(rows), self.node.global_batch, dtype=np.int64)
        return [rows.take((starts[:, None] + np.arange(first, stop, dtype=np.int64)).ravel())]

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        own = self.node.rest(self._rows)
        if not own:
            return []
        first, _ = self.node.share(self._rows)
        return [self.taken(self._rows).slice(first, first + own)]


class StrideBarrier(Barrier):
    """A slice by passing over what is not in it: the slow twin of strided indices, when rules are skipped."""

    node: Stride
    carries = True

    def __init__(self, node: Stride, scope: Scope) -> None:
        super().__init__(node, scope)
        self._seen = 0
        self._left = node.count
        self._kept: list[Block] = []
        self.wants = None if node.count == 0 else 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        positions = np.arange(self._seen, self._seen + len(block), dtype=np.int64)
        self._seen += len(block)
        steps, rest = np.divmod(positions - self.node.start, self.node.step)
        inside = (rest == 0) & (steps >= 0) & ((self.node.count < 0) | (steps < self.node.count))
        rows: Indices = np.flatnonzero(inside).astype(np.int64)
        self._left -= len(rows)
        if len(rows):
            self._kept.append(block.take(rows))
        if self._left == 0:
            self.wants = None
        elif self.node.step < 0:
            return []
        kept, self._kept = self._kept, []
        if self.node.step > 0 or not kept:
            return kept
        joined = concat_blocks(kept)
        return [joined.take(np.arange(len(joined) - 1, -1, -1, dtype=np.int64))]

    def carry(self) -> list[int] | None:
        return None if self.node.step < 0 else [self._seen, self._left]

    def restore(self, carry: list[int]) -> None:
        self._seen, self._left = carry
        self.wants = None if self._left == 0 else 0


class EnumerateBarrier(Barrier):
    """(position, element)."""

    node: Enumerate
    carries = True

    def __init__(self, node: Enumerate, scope: Scope) -> None:
        super().__init__(node, scope)
        self._next = node.start

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        numbers = np.arange(self._next, self._next + len(block), dtype=np.int64)
        self._next += len(block)
        return [enumerate_block(block, numbers)] if len(block) else []

    def carry(self) -> int:
        return self._next

    def restore(self, carry: int) -> None:
        self._next = carry
