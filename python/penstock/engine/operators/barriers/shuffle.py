"""Barriers that change the order at random."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.block import Block, concat_blocks
from penstock.block.columns import Indices, PackedColumn
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.indexed import windows
from penstock.engine.operators.piecewise import PieceOrder
from penstock.engine.scope import Scope
from penstock.graph.node import UNKNOWN, becomes_index_driven
from penstock.graph.nodes import Shuffle
from penstock.graph.pieces import pieces_of_shuffle
from penstock.kernels.permute import permute_range
from penstock.kernels.random import philox

_BLOCK_ELEMENTS = 1024
_NO_ROWS: Indices = np.empty(0, dtype=np.int64)
_EARLY = 16


class ShuffleBarrier(Barrier):
    """tf.data's buffer: once full, each arriving element takes the place of a random one, which leaves.

    Drawn by Philox from the count of elements that left, so the order depends on the stream alone. With `start_early`
    one element leaves for two that arrive as soon as a sixteenth of the buffer is filled, until all of it is. Cost:
    about 0.5 us an element beside the copies.
    """

    node: Shuffle
    carries = True

    def __init__(self, node: Shuffle, scope: Scope) -> None:
        super().__init__(node, scope)
        self._size = node.size
        self._first = max(1, self._size // _EARLY) if node.start_early else self._size
        self._key = scope.key("shuffle", node.number, node.seed, per_iteration=node.reshuffle_each_iteration)
        self._parts: list[Block] = []  # what arrived since the last clean-up, and what was held then
        self._starts: list[int] = []  # the number of each part's first row
        self._total = 0
        self._slots = _NO_ROWS  # the numbers of the rows held
        self._left = 0
        self._told = 0  # how many had left when `carry` told last
        self._arrived = 0
        self._kept = _NO_ROWS  # of the first rows, as kept by the last clean-up: how many had arrived before each

    def _draws(self, count: int) -> NDArray[np.uint64]:
        """`count` 32-bit draws, those of the next elements to leave."""
        ids = np.arange(self._left, self._left + count, dtype=np.uint64)
        self._left += count
        return philox(self._key, ids, 0, 1)[:, 0].astype(np.uint64)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if not len(block):
            return []
        arriving = np.arange(self._total, self._total + len(block), dtype=np.int64)
        self._add(block)
        self._arrived += len(block)
        early: list[int] = []
        if len(self._slots) < self._size:
            early, arriving = self._while_filling(arriving.tolist())
        leaving = np.concatenate([np.array(early, dtype=np.int64), self._exchanged(arriving)])
        gone = [self._rows(leaving)] if len(leaving) else []
        if self._total > 2 * self._size + _BLOCK_ELEMENTS:
            self._clean_up()
        return gone

    def _exchanged(self, arriving: Indices) -> Indices:
        """What leaves a full buffer for these, one for each: what its slot held before, or came to hold just now."""
        if not len(arriving):
            return arriving
        chosen = (self._draws(len(arriving)) * np.uint64(len(self._slots)) >> np.uint64(32)).astype(np.int64)
        order = np.argsort(chosen, kind="stable")
        again = np.flatnonzero(chosen[order[1:]] == chosen[order[:-1]])
        leaving: Indices = self._slots[chosen]
        leaving[order[again + 1]] = arriving[order[again]]
        last = np.ones(len(order), dtype=bool)
        last[again] = False
        self._slots[chosen[order[last]]] = arriving[order[last]]
        return leaving

    def _while_filling(self, arriving: list[int]) -> tuple[list[int], Indices]:
        """What leaves before the buffer is full, one for each that makes it grow; and who comes once it is."""
        slots = [*self._slots.tolist(), *arriving[: max(0, self._first - len(self._slots))]]
        leaving: list[int] = []
        place = len(slots) - len(self._slots)
        while place < len(arriving) and len(slots) < self._size:
            if len(slots) - self._first <= self._left:
                slots.append(arriving[place])
            else:
                slot = (int(self._draws(1)[0]) * len(slots)) >> 32
                leaving.append(slots[slot])
                slots[slot] = arriving[place]
            place += 1
        self._slots = np.array(slots, dtype=np.int64)
        return leaving, np.array(arriving[place:], dtype=np.int64)

    def _add(self, block: Block) -> None:
        self._parts.append(block)
        self._starts.append(self._total)
        self._total += len(block)

    def _rows(self, wanted: Indices) -> Block:
        """The rows of these numbers, in this order. Bytes in buffers are copied once for all parts."""
        order = np.argsort(wanted)
        ascending = wanted[order]
        bounds = np.searchsorted(ascending, self._starts).tolist()
        chosen = []
        for part, (low, high) in enumerate(pairwise([*bounds, len(wanted)])):
            if low < high:
                chosen.append(_seen(self._parts[part], ascending[low:high] - self._starts[part]))
        places = np.empty_like(order)
        places[order] = np.arange(len(order))
        return concat_blocks(chosen).take(places)

    def _clean_up(self) -> None:
        """Let go of what has left. Rows move once for each buffer's worth that arrives: constant cost."""
        held = self._rows(self._slots)
        self._kept = self._arrivals()
        self._parts, self._starts, self._total = [], [], 0
        self._add(held)
        self._slots = np.arange(len(held), dtype=np.int64)

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        slots, self._slots = self._slots.tolist(), _NO_ROWS
        order: list[int] = []
        for draw in self._draws(len(slots)).tolist():
            slot = (draw * len(slots)) >> 32
            order.append(slots[slot])
            slots[slot] = slots[-1]
            slots.pop()
        starts = range(0, len(order), _BLOCK_ELEMENTS)
        gone = [self._rows(np.array(order[start : start + _BLOCK_ELEMENTS], dtype=np.int64)) for start in starts]
        self._parts = []
        return gone

    def carry(self) -> list[Any] | None:
        """Told once for each buffer's worth that has left, so its cost is constant an element."""
        if self._left < self._told + self._size:
            return None
        self._told = self._left
        return [self._left, (self._arrived - self._arrivals()).tolist()]

    def held(self) -> tuple[int, ...]:
        return (int(self._arrived - self._arrivals().min(initial=self._arrived)),)

    def _arrivals(self) -> Indices:
        """How many had arrived before each row that is held."""
        rows = self._slots
        arrivals = rows + (self._arrived - self._total)
        is_kept = rows < len(self._kept)
        arrivals[is_kept] = self._kept[rows[is_kept]]
        return arrivals

    def restore(self, carry: list[Any]) -> None:
        self._left, ages = carry
        self._told = self._left
        oldest = max(ages, default=0)
        arrivals = oldest - np.array(ages, dtype=np.int64)
        self._kept = np.sort(arrivals)
        self._slots = np.searchsorted(self._kept, arrivals)

    def refill(self, source: int, block: Block, scope: Scope) -> None:
        """Of the elements since the oldest that is held, those that are."""
        first, self._arrived = self._arrived, self._arrived + len(block)
        low, high = np.searchsorted(self._kept, [first, self._arrived]).tolist()
        if low < high:
            self._add(block.take(self._kept[low:high] - first))


def _seen(block: Block, rows: Indices) -> Block:
    """Some rows of a block on the way to a copy of them: bytes in buffers stay where they are."""
    columns = tuple(c.shared(rows) if isinstance(c, PackedColumn) else c.take(rows) for c in block.columns)
    return Block(block.structure, columns, block.origins.take(rows))


class PermutationBarrier(Barrier):
    """The permutation of a range, by collecting it: the slow twin of the permuted index, when rules are skipped."""

    node: Shuffle

    def __init__(self, node: Shuffle, scope: Scope) -> None:
        super().__init__(node, scope)
        self._blocks: list[Block] = []

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        self._blocks.append(block)
        return []

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        blocks = [block for block in self._blocks if len(block)]
        if not blocks:
            return []
        joined, node = concat_blocks(blocks), self.node
        key = self.scope.key("shuffle", node.number, node.seed, per_iteration=node.reshuffle_each_iteration)
        pieces = pieces_of_shuffle(node)
        if pieces is not None and sum(pieces.rows) == len(joined):
            return [joined.take(PieceOrder(pieces).images(key, np.arange(len(joined), dtype=np.int64)))]
        return [joined.take(permute_range(key, len(joined), 0, len(joined)))]


class WindowsBarrier(Barrier):
    """Windows of a range without end, each permuted when it is whole: the slow twin of permuted windows."""

    node: Shuffle

    def __init__(self, node: Shuffle, scope: Scope) -> None:
        super().__init__(node, scope)
        self._key = scope.key("shuffle", node.number, node.seed, per_iteration=node.reshuffle_each_iteration)
        self._waiting: list[Block] = []
        self._rows = 0
        self._given = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block):
            self._waiting.append(block)
            self._rows += len(block)
        size = self.node.size
        count = self._rows // size * size
        if not count:
            return []
        joined = concat_blocks(self._waiting)
        self._waiting, self._rows = [joined.slice(count, len(joined))], self._rows - count
        images = windows(self._key, size, np.arange(self._given, self._given + count, dtype=np.int64))
        first, self._given = self._given, self._given + count
        return [joined.take(images - first)]


def shuffle_barrier(node: Shuffle, scope: Scope) -> Barrier:
    if becomes_index_driven(node.input) and node.input.cardinality() != UNKNOWN:
        return PermutationBarrier(node, scope) if node.window is None else WindowsBarrier(node, scope)
    return ShuffleBarrier(node, scope)
