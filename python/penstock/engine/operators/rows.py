"""Index-driven sources in memory: arrays, numbers that are computed, objects of the user's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.collate import detached
from penstock.block.columns import ArrayColumn, BytesColumn, Column, Indices, RaggedColumn, RowsColumn
from penstock.block.origin import BatchOrigins, Origins
from penstock.block.tree import LEAF
from penstock.engine.operators.functions import collate, empty_block, leave_out
from penstock.engine.operators.positions import IndexedOperator, SourceOperator, is_consecutive
from penstock.engine.scope import Scope
from penstock.errors import PenstockError, SourceError
from penstock.graph.nodes import Counter, Indexed, Random, Range, Slices
from penstock.kernels.gather import gather_rows
from penstock.kernels.random import philox


class SlicesOperator(SourceOperator):
    """Rows of arrays in memory: views where positions are consecutive, gathered where not."""

    node: Slices

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        if not len(positions):
            return empty_block(self.origins(positions, scope))
        if is_consecutive(positions):
            first = int(positions[0])
            columns = tuple(column.slice(first, first + len(positions)) for column in self.node.columns)
        else:
            columns = tuple(_gather(column, positions, scope) for column in self.node.columns)
        return Block(self.node.structure, columns, self.origins(positions, scope))

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        if any(isinstance(column, RowsColumn | RaggedColumn) for column in self.node.columns):
            return None
        tally = scope.task_log.tally
        return tally.measure(self.node.key, self.node.label, lambda: self._batches(positions, counts, scope))

    def _batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block:
        sizes = counts.tolist()
        starts = np.cumsum(counts) - counts
        leaves: list[Column] = []
        for column in self.node.columns:
            if isinstance(column, BytesColumn):
                chosen = column.values[positions]
                batches = [chosen[s : s + n].copy() for s, n in zip(starts.tolist(), sizes, strict=True)]
            else:
                assert isinstance(column, ArrayColumn)
                shape = column.values.shape[1:]
                batches = scope.services.pool.arrays(tuple((n, *shape) for n in sizes), column.values.dtype)
                if column.values.flags.c_contiguous:
                    gather_rows(column.values, positions, batches)
                else:
                    for out, start in zip(batches, starts.tolist(), strict=True):
                        np.take(column.values, positions[start : start + len(out)], axis=0, out=out, mode="clip")
            leaves.append(RowsColumn(batches, column.spec.dtype))
        return Block(self.node.structure, tuple(leaves), BatchOrigins(self.origins(positions, scope), starts, counts))


def _gather(column: Column, positions: Indices, scope: Scope) -> Column:
    if isinstance(column, ArrayColumn) and column.values.ndim > 1 and column.values.flags.c_contiguous:
        out = scope.services.pool.array((len(positions), *column.values.shape[1:]), column.values.dtype)
        gather_rows(column.values, positions, [out])
        return ArrayColumn(out)
    return column.take(positions)


class RangeOperator(SourceOperator):
    """start + step * position."""

    node: Range | Counter

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        origins = self.origins(positions, scope)
        if not len(positions):
            return empty_block(origins)
        values = (self.node.start + self.node.step * positions).astype(self.node.dtype)
        return Block(LEAF, (ArrayColumn(values),), origins)


class RandomOperator(SourceOperator):
    """A word of Philox for each position."""

    node: Random

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        origins = self.origins(positions, scope)
        if not len(positions):
            return empty_block(origins)
        key = scope.key("random", self.node.number, self.node.seed, per_iteration=self.node.rerandomize)
        words = philox(key, positions.astype(np.uint64), 0, 1)[:, 0]
        return Block(LEAF, (ArrayColumn(words.astype(np.int64)),), origins)


class IndexedObjectOperator(SourceOperator):
    """Elements of a user's object, several at once where it offers `__getitems__`."""

    node: Indexed

    def __init__(self, node: Indexed, inputs: Sequence[IndexedOperator]) -> None:
        super().__init__(node, inputs)
        self.length = node.count

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        origins = self.origins(positions, scope)
        if self.node.drops:
            return self._without_failures(positions, origins, scope)
        results: list[Any] = []
        failure: Failure | None = None
        try:
            for value in self._values(positions.tolist()):
                results.append(detached(value))  # noqa: PERF401  # one by one, to keep what came before an error
        except Exception as error:  # noqa: BLE001  # whatever the user's object raises is told with its place
            failure = Failure(self._wrap(error, origins, len(results)))
            origins = origins.take(np.arange(len(results), dtype=np.int64))
        if not results:
            return empty_block(origins, failure)
        return collate(self.node, results, origins, failure, scope=scope, declared=None)

    def _without_failures(self, positions: Indices, origins: Origins, scope: Scope) -> Block:
        """The elements at `positions` but those for which the object raises."""
        results: list[Any] = []
        kept: list[int] = []
        for row, position in enumerate(positions.tolist()):
            try:
                value = detached(next(self._values([position])))
            except Exception as error:  # noqa: BLE001  # told with its place
                numbers = Block(LEAF, (ArrayColumn(positions),), origins)
                leave_out(self.node, numbers, row, error, scope, place=len(results))
                continue
            results.append(value)
            kept.append(row)
        origins = origins.take(np.array(kept, dtype=np.int64))
        if not results:
            return empty_block(origins)
        return collate(self.node, results, origins, None, scope=scope, declared=None)

    def _values(self, positions: list[int]) -> Iterator[Any]:
        several = getattr(self.node.obj, "__getitems__", None)
        if several is None:
            for position in positions:
                yield self.node.obj[position]
            return
        try:
            values = several(positions)
        except Exception:
            if len(positions) == 1:
                raise
            for position in positions:  # one by one: those before the one that fails must come
                yield from several([position])
            return
        if len(values) != len(positions):
            raise ValueError(f"__getitems__ returned {len(values)} elements for {len(positions)} indices")
        yield from values

    def _wrap(self, error: Exception, origins: Origins, row: int) -> PenstockError:
        name = type(self.node.obj).__qualname__
        wrapped = SourceError(f"{name} raised {type(error).__name__}: {error}", where=origins.describe(row))
        wrapped.__cause__ = error
        return wrapped
