"""Operators that need their input in order: sources that only yield, and barriers.

A barrier is fed by the scheduler, one block at a time: `push` takes a block of one input, `finish` says that input has
ended; both give the blocks that follow from it. `wants` names the input it needs next, None when it will take no more.
What a barrier gives depends on the elements that came in, never on how they were cut into blocks.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks
from penstock.block.collate import detached
from penstock.block.columns import Indices
from penstock.block.origin import NOWHERE, SourceOrigins
from penstock.engine.cache import CacheStore, read_only
from penstock.engine.operators.batching import stack_batches
from penstock.engine.operators.functions import collate, empty_block
from penstock.engine.operators.indexed import enumerate_block, interleave_blocks, zip_blocks
from penstock.engine.scope import Scope
from penstock.errors import SourceError
from penstock.graph.node import Node, becomes_index_driven
from penstock.graph.nodes import Batch, Cache, Enumerate, Generator, Shard, Shuffle, Skip, Stride, Take, Zip
from penstock.kernels.permute import permute_range
from penstock.kernels.random import philox
from penstock.units import format_bytes

_BLOCK_ELEMENTS = 1024
_BLOCK_BYTES = 4 * 2**20
_BLOCK_SECONDS = 0.002
_SHUFFLE_BUFFER_OF_UNKNOWN = 16384


class GeneratorSource:
    """Blocks of a fresh generator.

    A block ends when it is large enough or took long enough: an element that was slow to come travels at once. While
    the generator keeps `produce` waiting, `drain` gives what it has yielded so far, so one fed by the consumer works.
    """

    def __init__(self, node: Generator, block_size: int | None) -> None:
        self._node = node
        self._block_size = block_size
        self._iterator: Iterator[Any] | None = None
        self._finished = False
        self._pulled = 0
        self._open: list[Any] = []  # yielded, not handed over; the last `len(_open)` of `_pulled`
        self._lock = threading.Lock()

    def produce(self, scope: Scope) -> Block | None:
        """The next block, None at the end."""
        failure: Failure | None = None
        limit = self._block_size or _BLOCK_ELEMENTS
        if self._node.limit is not None:
            limit = min(limit, self._node.limit - self._pulled)
        deadline = scope.services.clock.now() + _BLOCK_SECONDS
        size = count = 0
        try:
            if self._iterator is None and limit > 0 and not self._finished:
                self._iterator = iter(self._node.function(*self._node.args))
            while count < limit and size < _BLOCK_BYTES and self._iterator is not None:
                value = detached(next(self._iterator))
                with self._lock:
                    self._open.append(value)
                    self._pulled += 1
                count += 1
                size += _rough_bytes(value)
                if self._block_size is None and scope.services.clock.now() > deadline:
                    break
        except StopIteration:
            self._iterator, self._finished = None, True
        except Exception as error:  # noqa: BLE001  # whatever the user's generator raises is told with its place
            failure = Failure(self._wrap(error, self._pulled))
        block = self._handed_over(scope, failure)
        return None if count == 0 and failure is None else block

    def drain(self, scope: Scope) -> Block:
        """What has been yielded and not handed over; called while `produce` waits, from another thread."""
        return self._handed_over(scope, None)

    def _handed_over(self, scope: Scope, failure: Failure | None) -> Block:
        with self._lock:
            values, self._open = self._open, []
            numbers = np.arange(self._pulled - len(values), self._pulled, dtype=np.int64)
        origins = SourceOrigins(self._node.number, self._node.label, numbers)
        if not values:
            return empty_block(origins, failure)
        return collate(self._node, values, origins, failure, scope=scope, declared=self._node.declared)

    def _wrap(self, error: Exception, index: int) -> SourceError:
        wrapped = SourceError(
            f"the generator raised {type(error).__name__}: {error}", where=f"{self._node.label}, element {index}"
        )
        wrapped.__cause__ = error
        return wrapped

    def close(self) -> None:
        """End the user's generator: its `finally` blocks run now."""
        close = getattr(self._iterator, "close", None)
        self._iterator = None
        if close is not None:
            close()


def _rough_bytes(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_rough_bytes, value))
    if isinstance(value, dict):
        return sum(map(_rough_bytes, value.values()))
    return getattr(value, "nbytes", None) or (len(value) if isinstance(value, bytes | str | list) else 8)


class Barrier:
    """Base: one input, passed through."""

    def __init__(self, node: Node, scope: Scope) -> None:
        self.node = node
        self.scope = scope
        self.wants: int | None = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        return [block]

    def fail(self, source: int, failure: Failure) -> Failure | None:
        """An input failed after what was pushed; what follows now: the failure, unless its turn comes later."""
        return failure

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return []


class BatchBarrier(Barrier):
    """Rows from consecutive blocks stacked into batches."""

    node: Batch

    def __init__(self, node: Batch, scope: Scope) -> None:
        super().__init__(node, scope)
        self._waiting: list[Block] = []
        self._rows = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block):
            self._waiting.append(block)
            self._rows += len(block)
        whole = self._rows // self.node.batch_size
        return self._emit(whole * self.node.batch_size, scope) if whole else []

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return self._emit(self._rows, scope) if self._rows and not self.node.drop_remainder else []

    def _emit(self, rows: int, scope: Scope) -> list[Block]:
        joined = concat_blocks(self._waiting)
        rest = joined.slice(rows, len(joined))
        self._waiting = [rest] if len(rest) else []
        self._rows -= rows
        size = self.node.batch_size
        counts = np.full(-(-rows // size), size, dtype=np.int64)
        counts[-1] = rows - (len(counts) - 1) * size
        return [stack_batches(joined.slice(0, rows), counts, scope.services.pool, self.node.label)]


class ShuffleBarrier(Barrier):
    """tf.data's buffer: once full, each arriving element takes the place of a random one, which leaves.

    Drawn by Philox from the count of elements that left, so the order depends on the stream alone. Cost: about 0.5 us
    an element beside the copies.
    """

    node: Shuffle

    def __init__(self, node: Shuffle, scope: Scope) -> None:
        super().__init__(node, scope)
        count = node.input.cardinality()
        known = count if count >= 0 else _SHUFFLE_BUFFER_OF_UNKNOWN
        self._size = known if node.buffer_size is None else node.buffer_size
        self._key = scope.key("shuffle", node.number, node.seed, per_iteration=node.reshuffle_each_iteration)
        self._parts: list[Block] = []  # what arrived since the last clean-up, and what was held then
        self._starts: list[int] = []  # the number of each part's first row
        self._total = 0
        self._slots: list[int] = []  # the numbers of the rows held
        self._left = 0

    def _draws(self, count: int) -> list[int]:
        """`count` 32-bit draws, those of the next elements to leave."""
        ids = np.arange(self._left, self._left + count, dtype=np.uint64)
        self._left += count
        words: list[int] = philox(self._key, ids, 0, 1)[:, 0].tolist()
        return words

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if not len(block):
            return []
        first, slots = self._total, self._slots
        self._add(block)
        free = min(self._size - len(slots), len(block))
        slots.extend(range(first, first + free))
        leaving: list[int] = []
        for arriving, draw in enumerate(self._draws(len(block) - free), first + free):
            slot = (draw * len(slots)) >> 32
            leaving.append(slots[slot])
            slots[slot] = arriving
        gone = [self._rows(leaving)] if leaving else []
        if self._total > 2 * self._size + _BLOCK_ELEMENTS:
            self._clean_up()
        return gone

    def _add(self, block: Block) -> None:
        self._parts.append(block)
        self._starts.append(self._total)
        self._total += len(block)

    def _rows(self, numbers: list[int]) -> Block:
        """The rows of these numbers, in this order."""
        wanted = np.array(numbers, dtype=np.int64)
        part_of = np.searchsorted(self._starts, wanted, side="right") - 1
        groups = []
        for part in np.unique(part_of).tolist():
            places = np.flatnonzero(part_of == part)
            groups.append((places, self._parts[part].take(wanted[places] - self._starts[part])))
        return interleave_blocks(groups, wanted)

    def _clean_up(self) -> None:
        """Let go of what has left. Rows move once for each buffer's worth that arrives: constant cost."""
        held = self._rows(self._slots)
        self._parts, self._starts, self._total = [], [], 0
        self._add(held)
        self._slots = list(range(len(held)))

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        slots, self._slots = self._slots, []
        order: list[int] = []
        for draw in self._draws(len(slots)):
            slot = (draw * len(slots)) >> 32
            order.append(slots[slot])
            slots[slot] = slots[-1]
            slots.pop()
        starts = range(0, len(order), _BLOCK_ELEMENTS)
        gone = [self._rows(order[start : start + _BLOCK_ELEMENTS]) for start in starts]
        self._parts = []
        return gone


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
        return [joined.take(permute_range(key, len(joined), 0, len(joined)))]


class TakeBarrier(Barrier):
    """The first `count` elements; then it wants no more, and its input is closed."""

    node: Take

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


class SkipBarrier(Barrier):
    """All but the first `count` elements."""

    node: Skip

    def __init__(self, node: Skip, scope: Scope) -> None:
        super().__init__(node, scope)
        self._left = node.count
        self.wants = None if node.count == -1 else 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        skipped = min(self._left, len(block))
        self._left -= skipped
        return [block.slice(skipped, len(block))] if skipped < len(block) else []


class ShardBarrier(Barrier):
    """Every num_shards-th element."""

    node: Shard

    def __init__(self, node: Shard, scope: Scope) -> None:
        super().__init__(node, scope)
        self._seen = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        first = (self.node.index - self._seen) % self.node.num_shards
        self._seen += len(block)
        rows: Indices = np.arange(first, len(block), self.node.num_shards, dtype=np.int64)
        return [block.take(rows)] if len(rows) else []


class StrideBarrier(Barrier):
    """A slice by passing over what is not in it: the slow twin of strided indices, when rules are skipped."""

    node: Stride

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


class EnumerateBarrier(Barrier):
    """(position, element)."""

    node: Enumerate

    def __init__(self, node: Enumerate, scope: Scope) -> None:
        super().__init__(node, scope)
        self._next = node.start

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        numbers = np.arange(self._next, self._next + len(block), dtype=np.int64)
        self._next += len(block)
        return [enumerate_block(block, numbers)] if len(block) else []


class ZipBarrier(Barrier):
    """One element of each input. An input that runs ahead waits; the first to end ends all."""

    node: Zip

    def __init__(self, node: Zip, scope: Scope) -> None:
        super().__init__(node, scope)
        self._waiting: list[deque[Block]] = [deque() for _ in node.inputs]
        self._failed: dict[int, Failure] = {}

    def fail(self, source: int, failure: Failure) -> Failure | None:
        self._failed[source] = failure
        return None if self.wants is None else self._failed.get(self.wants)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block):
            self._waiting[source].append(block)
        joined: list[Block] = []
        while all(self._waiting):
            count = min(len(queue[0]) for queue in self._waiting)
            parts = []
            for queue in self._waiting:
                head = queue.popleft()
                parts.append(head.slice(0, count))
                if count < len(head):
                    queue.appendleft(head.slice(count, len(head)))
            joined.append(zip_blocks(self.node, parts))
        self.wants = next((number for number, queue in enumerate(self._waiting) if not queue), 0)
        if self.wants in self._failed:
            joined.append(empty_block(NOWHERE, self._failed[self.wants]))
        return joined


class StreamCacheBarrier(Barrier):
    """Passes elements on and keeps them; a complete pass is then given to the node's store."""

    node: Cache

    def __init__(self, node: Cache, scope: Scope) -> None:
        super().__init__(node, scope)
        self._kept: list[Block] | None = None if node.store.full else []
        self._bytes = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if self._kept is not None and len(block):
            self._bytes += block.nbytes
            if self._bytes > scope.services.cache_budget_bytes:
                self._kept = None
                store: CacheStore = self.node.store
                store.full = True
                scope.services.warn(
                    f"{self.node.label}: the elements of this stream take more than the cache budget of "
                    f"{format_bytes(scope.services.cache_budget_bytes)}; a stream cannot be kept in part, so nothing "
                    f"is. Options(cache_budget=...) raises the limit; an index-driven input keeps what fits."
                )
            else:
                self._kept.append(read_only(block))
        return [block]

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        store: CacheStore = self.node.store
        with store.lock:
            if store.stream is None and self._kept is not None:
                store.stream = self._kept
        return []


class ReplaySource:
    """The blocks of a kept stream."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._blocks = iter(blocks)

    def produce(self, scope: Scope) -> Block | None:
        return next(self._blocks, None)

    def close(self) -> None:
        """Nothing is held."""


def _shuffle(node: Shuffle, scope: Scope) -> Barrier:
    if becomes_index_driven(node.input) and node.input.cardinality() >= 0:
        return PermutationBarrier(node, scope)
    return ShuffleBarrier(node, scope)


BARRIERS: dict[type[Node], Callable[[Any, Scope], Barrier]] = {
    Batch: BatchBarrier,
    Shuffle: _shuffle,
    Take: TakeBarrier,
    Skip: SkipBarrier,
    Shard: ShardBarrier,
    Stride: StrideBarrier,
    Enumerate: EnumerateBarrier,
    Zip: ZipBarrier,
    Cache: StreamCacheBarrier,
}
