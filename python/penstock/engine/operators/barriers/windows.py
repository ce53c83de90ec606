"""Windows: datasets over slices of the rows that passed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks
from penstock.block.columns import Column, DatasetsColumn, Indices
from penstock.block.origin import NOWHERE, BatchOrigins, ChildOrigins, SourceOrigins, WindowOrigins, ZipOrigins
from penstock.block.spec import DatasetSpec, Spec
from penstock.block.tree import LEAF, Structure
from penstock.engine.cache import read_only
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.batching import stack_batches
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Scope, Seen
from penstock.errors import PenstockError
from penstock.graph.nodes import Slices, Slide, Window

_BLOCK_WINDOWS = 1024
_BLOCK_BYTES = 4 * 2**20


class WindowBarrier(Barrier):
    """Keeps the rows that windows to come have need of, no more; windows share the rows of the block they came in."""

    node: Window
    carries = True

    def __init__(self, node: Window, scope: Scope) -> None:
        super().__init__(node, scope)
        self._kept: list[Block] = []
        self._first = 0  # the number of the first row kept
        self._seen = 0  # rows that came
        self._next = 0  # the number of the next window's first row
        self._input_ended = False
        self._failure: Failure | None = None  # of the input, after all its windows

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block):
            self._kept.append(block)
            self._seen += len(block)
        return self.more(scope)

    def fail(self, source: int, failure: Failure) -> Failure | None:
        if not self.pending:
            return failure
        self._failure = failure
        return None

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self._input_ended = True
        return self.more(scope)

    def more(self, scope: Scope) -> list[Block]:
        due, at_once = self._due(), self._at_once()
        self.pending = due > at_once
        blocks = [self._emit(min(due, at_once), scope)] if due else []
        if not self.pending and (self._input_ended or self._failure is not None):
            self.wants = None
            if self._failure is not None:
                blocks.append(empty_block(NOWHERE, self._failure))
        return blocks

    def carry(self) -> list[int] | None:
        return None if self.pending else [self._first, self._seen, self._next]

    def held(self) -> tuple[int, ...]:
        return (sum(map(len, self._kept)),)

    def restore(self, carry: list[int]) -> None:
        self._first, self._seen, self._next = carry

    def refill(self, source: int, block: Block, scope: Scope) -> None:
        self._kept.append(block)

    def _due(self) -> int:
        """How many windows are complete by now."""
        if self._input_ended and not self.node.drop_remainder:
            return -(-max(0, self._seen - self._next) // self.node.shift)
        return max(0, (self._seen - self._next - self.node.span) // self.node.shift + 1)

    def _at_once(self) -> int:
        """Windows of a block."""
        return _BLOCK_WINDOWS

    def _emit(self, count: int, scope: Scope) -> Block:
        """The next `count` windows, the last of which may be short."""
        node = self.node
        if len(self._kept) > 1:
            self._kept = [concat_blocks(self._kept)]
        rows = read_only(self._kept[0])
        starts = self._next + np.arange(count, dtype=np.int64) * node.shift
        counts: Indices = np.minimum(node.size, -(-(self._seen - starts) // node.stride))
        windows = self._windows(rows, starts - self._first, counts, scope)
        self._next += count * node.shift
        gone = min(self._next, self._seen) - self._first
        rest = rows.slice(gone, len(rows))
        if not self.pending:
            # Copied: a slice would keep alive what it is cut from, and that what came before it.
            rest = rest.take(np.arange(len(rest), dtype=np.int64))
        self._kept = [rest] if len(rest) else []
        self._first += gone
        return windows

    def _windows(self, rows: Block, starts: Indices, counts: Indices, scope: Scope) -> Block:
        stride = self.node.stride
        places = list(zip(starts.tolist(), counts.tolist(), strict=True))
        columns: list[Column] = []
        for column in rows.columns:
            spec = DatasetSpec(column.spec)
            cut = [_cut(column, start, count, stride) for start, count in places]
            datasets = [self._dataset(LEAF, (part,)) for part in cut]
            columns.append(DatasetsColumn(datasets, spec, column.nbytes))
        return Block(rows.structure, tuple(columns), WindowOrigins(rows.origins, starts, counts))

    def _dataset(self, structure: Structure, columns: Sequence[Column]) -> Any:
        node = self.node
        return node.make_dataset(
            Slices(location=node.location, structure=structure, columns=tuple(columns), name="window")
        )


def _cut(column: Column, start: int, count: int, stride: int) -> Column:
    if stride == 1:
        return column.slice(start, start + count)
    return column.take(start + stride * np.arange(count, dtype=np.int64))


class SlideBarrier(WindowBarrier):
    """The rows of each window stacked, all windows of a block at once: as if each had been batched by a flat map."""

    node: Slide

    def _at_once(self) -> int:
        rows = sum(map(len, self._kept))
        row_bytes = sum(block.nbytes for block in self._kept) // max(1, rows)
        return max(1, min(_BLOCK_WINDOWS, _BLOCK_BYTES // max(1, row_bytes * self.node.size)))

    def _windows(self, rows: Block, starts: Indices, counts: Indices, scope: Scope) -> Block:
        node = self.node
        ends = np.cumsum(counts)
        inside = np.arange(int(ends[-1]), dtype=np.int64) - np.repeat(ends - counts, counts)
        chosen = rows.take(np.repeat(starts, counts) + node.stride * inside)
        columns = tuple(chosen.columns[leaf] for leaf in node.leaves)
        chosen = Block(node.template, columns, SourceOrigins(0, node.window_label, inside))
        windows = WindowOrigins(rows.origins, starts, counts)
        block = stack_batches(chosen, counts, scope.services.pool, node.batch_label)
        return self._told(block, windows, counts, scope)

    def _told(self, block: Block, windows: WindowOrigins, counts: Indices, scope: Scope) -> Block:
        """The batches, with the origins that children would give them."""
        node, count = self.node, len(block)
        every = np.arange(len(counts), dtype=np.int64)
        failure = block.failure
        if failure is not None and isinstance(failure.error, PenstockError):
            failure = Failure(failure.error.at(f"{node.label}, {windows.describe(count)}"))
        if not count:
            return empty_block(NOWHERE, failure)
        # Child number n of a zip is node 2 n of it: a source, below its batch.
        parts = tuple(
            BatchOrigins(SourceOrigins(2 * n, node.window_label, np.zeros(len(counts), dtype=np.int64)), every, counts)
            for n in range(len(node.leaves))
        )
        inner = parts[0] if node.template.is_leaf else ZipOrigins(parts)
        origins = ChildOrigins(windows, every, inner).take(every[:count])
        specs = tuple(spec if node.drop_remainder else _any_rows(spec) for spec in block.specs)
        scope.task_log.seen.append(Seen(node.number, node.label, block.structure, specs, origins.describe(0)))
        return Block(block.structure, block.columns, origins, failure)


def _any_rows(spec: Spec) -> Spec:
    return Spec((None, *spec.shape[1:]), spec.dtype) if spec.shape else spec
