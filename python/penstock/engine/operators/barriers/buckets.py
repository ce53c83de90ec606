"""Sequences of like length gathered and padded into batches, for a whole block of rows at a time.

The slow twin is `GroupByWindowBarrier` with the functions of the verb: a dataset for each batch. What these would raise
is left to them: rows whose length or padding fails go there, with all that was gathered before.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.block.block import Block, concat_blocks
from penstock.block.columns import ArrayColumn, Column, Indices, SpanColumn
from penstock.block.origin import NOWHERE, BatchOrigins, ChildOrigins, SourceOrigins, WindowOrigins
from penstock.block.spec import Spec
from penstock.engine.nested.child import specs_of_all
from penstock.engine.nested.inline import BarrierOf
from penstock.engine.operators.barriers.grouped_windows import GroupByWindowBarrier
from penstock.engine.operators.batching import stack_batches
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.padding import pad_each
from penstock.engine.operators.segments import block_function
from penstock.engine.scope import Scope, Seen
from penstock.errors import PenstockError
from penstock.graph.nodes import GatheredBuckets, Map, Slices
from penstock.trace.purity import impurity

_NO_ROWS = np.empty(0, dtype=np.int64)


class GatheredBucketsBarrier(GroupByWindowBarrier):
    """Keeps the rows that fill no batch yet, with their buckets, in the order they came."""

    node: GatheredBuckets

    def __init__(self, node: GatheredBuckets, scope: Scope, barrier_of: BarrierOf) -> None:
        super().__init__(node, scope, barrier_of)
        self._is_slow = False
        self._kept: list[Block] = []
        self._keys_kept: list[Indices] = []
        self._counts = np.zeros(len(node.batch_sizes), dtype=np.int64)  # rows kept of each bucket
        self._sizes = np.array(node.batch_sizes, dtype=np.int64)
        self._told: tuple[Spec, ...] | None = None
        length = _first_side if node.length_function is len else node.length_function
        self._length_of = None
        if impurity(length) is None:
            lengths = Map(location=node.location, number=node.number, function=length)
            lengths.__dict__["label"] = node.label
            self._length_of = block_function(lengths)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if self._is_slow:
            return super().push(source, block, scope)
        if not len(block):
            return []
        keys = self._keys(block, scope)
        self._kept.append(block.slice(0, len(keys)) if len(keys) < len(block) else block)
        self._keys_kept.append(keys)
        self._counts += np.bincount(keys, minlength=len(self._counts))
        blocks = self._batches(scope, rest=False) if (self._counts >= self._sizes).any() else []
        return blocks + self._ending(scope)

    def finish(self, source: int, scope: Scope) -> list[Block]:
        blocks = [] if self._is_slow else self._batches(scope, rest=True)
        self._input_ended = True
        return blocks + super().more(scope)

    def _ending(self, scope: Scope) -> list[Block]:
        """What follows when nothing more is gathered here: the failure, or what the slow twin gives."""
        if self._is_slow:
            return super().more(scope)
        if self._failure is None:
            return []
        self.wants = None
        return [empty_block(NOWHERE, self._failure)]

    def _keys(self, block: Block, scope: Scope) -> Indices:
        lengths = self._lengths(block, scope)
        if lengths is None:
            return super()._keys(block, scope)
        return np.searchsorted(np.array(self.node.boundaries, dtype=np.int64), lengths, side="right")

    def _lengths(self, block: Block, scope: Scope) -> Indices | None:
        """The length of each row; None where a row has none, or one that no bucket takes."""
        if self._length_of is None:
            return None
        told = scope.in_task()
        result = self._length_of(block, told)
        scope.task_log.tally.absorb(told.task_log.tally.steps, 0.0)
        column = result.columns[0] if len(result.columns) == 1 else None
        if len(result) < len(block) or not isinstance(column, ArrayColumn) or column.values.ndim != 1:
            return None
        values = column.values
        if values.dtype.kind not in "iu" or (self.node.limit is not None and int(values.max()) >= self.node.limit):
            return None
        return values.astype(np.int64)

    def _batches(self, scope: Scope, rest: bool) -> list[Block]:
        """The batches that are full, in the order they filled up; with `rest` those that are not too, by bucket."""
        if not self._kept:
            return []
        joined, keys = concat_blocks(self._kept), np.concatenate(self._keys_kept)
        order = np.argsort(keys, kind="stable")
        filled: list[tuple[int, int, Indices]] = []  # the row that filled it, its bucket, its rows
        left: list[tuple[int, Indices]] = []
        stops = np.cumsum(np.bincount(keys, minlength=len(self._sizes)))
        for key in np.flatnonzero(np.diff(stops, prepend=0)).tolist():
            rows, size = order[stops[key - 1] if key else 0 : stops[key]], int(self._sizes[key])
            whole = len(rows) // size * size
            filled += [(int(part[-1]), key, part) for part in rows[:whole].reshape(-1, size)]
            if whole < len(rows):
                left.append((key, rows[whole:]))
        windows = [(key, rows) for _, key, rows in sorted(filled, key=lambda entry: entry[0])]
        if rest:
            windows += left
            left = []
        self._keep(joined, keys, np.sort(np.concatenate([rows for _, rows in left])) if left else _NO_ROWS)
        return self._made(joined, windows, scope) if windows else []

    def _keep(self, joined: Block, keys: Indices, rows: Indices) -> None:
        """Go on with these rows alone, copied: what they lie in is not kept alive for them."""
        self._kept, self._keys_kept = [], []
        if len(rows):
            part = joined.take(rows)
            columns = tuple(map(_apart, part.columns))
            self._kept, self._keys_kept = [Block(part.structure, columns, part.origins)], [keys[rows]]
        self._counts = np.bincount(keys[rows], minlength=len(self._sizes))

    def _made(self, joined: Block, windows: list[tuple[int, Indices]], scope: Scope) -> list[Block]:
        node = self.node
        whole = [(key, rows) for key, rows in windows if len(rows) == self._sizes[key] or not node.drop_remainder]
        if not whole:
            return []
        chosen = joined.take(np.concatenate([rows for _, rows in whole]))
        counts = np.array([len(rows) for _, rows in whole], dtype=np.int64)
        try:
            if node.pads:
                shapes = [node.shapes[key] for key, _ in whole]
                pool = scope.services.pool
                made = pad_each(chosen, counts, shapes, node.padding_values, label=node.label, pool=pool)
            else:
                made = stack_batches(chosen, counts, scope.services.pool, node.label)
        except PenstockError:
            made = empty_block(NOWHERE)
        good = min(len(made), len(whole))
        starts = np.cumsum(counts) - counts
        blocks = []
        if good:
            if self._told is None:
                self._told = self._specs(whole[0][0], chosen.slice(0, int(counts[0])), made)
            blocks.append(self._as_children(made, chosen, starts[:good], counts[:good], scope))
        if good < len(whole):
            self._is_slow = True
            self._hand_over([(key, [joined.take(rows)]) for key, rows in whole[good:]])
        return blocks

    def _as_children(self, made: Block, chosen: Block, starts: Indices, counts: Indices, scope: Scope) -> Block:
        """The batches with the origins that they would have as elements of a dataset each."""
        node, every = self.node, np.arange(len(counts), dtype=np.int64)
        windows = WindowOrigins(chosen.origins, starts, counts)
        rows = SourceOrigins(0, f"window at {node.location}", np.zeros(len(counts), dtype=np.int64))
        origins = ChildOrigins(windows, every, BatchOrigins(rows, every, counts))
        block = Block(made.structure, made.columns, origins)
        assert self._told is not None
        scope.task_log.seen.append(Seen(node.number, node.label, block.structure, self._told, block.describe(0)))
        return block

    def _specs(self, key: int, rows: Block, made: Block) -> tuple[Spec, ...]:
        """What all batches look like, by the first one and the dataset that would have given it."""
        node = self.node
        source = Slices(location=node.location, structure=rows.structure, columns=rows.columns, name="window")
        graph = node.node_of(node.function(np.int64(key), node.make_dataset(source)))
        return specs_of_all(graph, made.slice(0, 1))


def _first_side(x: Any) -> Any:
    """`len`, as it is traced."""
    return x.shape[0]


def _apart(column: Column) -> Column:
    return column.compact() if isinstance(column, SpanColumn) else column
