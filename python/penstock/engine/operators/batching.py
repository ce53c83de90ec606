"""Rows into batches: one copy of each byte, into aligned buffers that are recycled."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks, holds_datasets
from penstock.block.collate import fill, stack_error
from penstock.block.columns import (
    Array,
    ArrayColumn,
    BytesColumn,
    Column,
    FreshColumn,
    Indices,
    RaggedColumn,
    RowsColumn,
    kept_apart,
)
from penstock.block.origin import NOWHERE, BatchOrigins, Origins, concat_origins
from penstock.block.ragged import Ragged
from penstock.block.tree import Structure
from penstock.engine.buffers import ALIGNMENT, BufferPool
from penstock.engine.operators.functions import empty_block
from penstock.errors import StackError

_NONE = np.empty(0, dtype=np.int64)


Join = Callable[[int, str, Indices, Indices], list[Any]]
"""Number and name of a leaf, where each batch starts and how many rows it has -> its batches.

Raises: JoinStopError at the first batch that cannot be made.
"""


def stack_batches(block: Block, counts: Indices, pool: BufferPool, label: str, *, adopt: bool = False) -> Block:
    """The rows of `block` as len(counts) batches, batch i of counts[i] rows.

    When the block ended early, only the batches it fills are made and its failure follows them. Rows of unequal shape
    end the result before their batch, with a StackError. `adopt`: where rows lie as a batch would, in memory that is
    theirs alone, the batch is a view of it, and no byte is copied.
    """

    def join(leaf: int, name: str, starts: Indices, counts: Indices) -> list[Any]:
        column = block.columns[leaf]
        whole_rows = _adopted(column, starts, counts) if adopt else None
        if whole_rows is not None:
            return whole_rows
        return stack_leaf(name, column, starts, counts, pool=pool, describe=block.describe)

    return join_batches(block, block.origins, counts, label, join)


def join_batches(block: Block, rows: Origins, counts: Indices, label: str, join: Join) -> Block:
    """Batches of `rows`, which come from `block`, each leaf made by `join`; failures as in `stack_batches`."""
    failure = block.failure
    if not len(rows):  # it has no columns either
        return empty_block(rows, failure)
    if holds_datasets(block):
        return empty_block(NOWHERE, Failure(_of_datasets(block).at(label)))
    whole = int(np.searchsorted(np.cumsum(counts), len(rows), side="right"))
    if whole < len(counts):
        counts = counts[:whole]
    starts = np.cumsum(counts) - counts
    leaves: list[list[Any]] = []
    for number, name in enumerate(block.structure.names()):
        try:
            leaves.append(join(number, name, starts, counts))
        except JoinStopError as stop:
            failure = Failure(stop.error.at(label))
            counts, starts = counts[: stop.batch], starts[: stop.batch]
            leaves = [batches[: stop.batch] for batches in leaves]
            leaves.append(stop.done)
    origins = BatchOrigins(rows, starts, counts)
    if not len(counts):
        return empty_block(origins, failure)
    columns = tuple(
        kept_apart(batches[: len(counts)], column.dtype) for batches, column in zip(leaves, block.columns, strict=True)
    )
    return Block(block.structure, columns, origins, failure)


def _of_datasets(block: Block) -> StackError:
    return StackError(
        "a dataset cannot be stacked",
        got=block.describe(0),
        remedy="make arrays of it first, as in flat_map(lambda window: window.batch(size))",
    )


def _adopted(column: Column, starts: Indices, counts: Indices) -> list[Array] | None:
    """The batches as views of a fresh column, or None where a copy is due: they must be aligned and writable."""
    if not isinstance(column, FreshColumn) or not column.whole.flags.writeable or not column.whole.nbytes:
        return None
    whole = column.whole
    if not whole.flags.c_contiguous or whole.ctypes.data % ALIGNMENT or (starts * whole.strides[0] % ALIGNMENT).any():
        return None
    return [whole[start : start + n] for start, n in zip(starts.tolist(), counts.tolist(), strict=True)]


class JoinStopError(Exception):
    """Batch `batch` of a leaf cannot be made; `done` are those before it."""

    def __init__(self, batch: int, done: list[Any], error: StackError) -> None:
        super().__init__(batch)
        self.batch = batch
        self.done = done
        self.error = error


def stack_leaf(
    name: str, column: Column, starts: Indices, counts: Indices, *, pool: BufferPool, describe: Callable[[int], str]
) -> list[Any]:
    """A leaf's rows stacked: an array a batch, or a Ragged where they are ragged. Raises: JoinStopError."""
    if not len(counts):
        return []
    if isinstance(column, RaggedColumn):
        return ragged_batches(name, column, starts, counts, describe=describe)
    if isinstance(column, RowsColumn):
        return _stack_rows(name, column, starts, counts, pool=pool, describe=describe)
    shapes = tuple((int(count), *column.values.shape[1:]) for count in counts)
    dtype = np.dtype(object) if isinstance(column, BytesColumn) else column.values.dtype
    batches = pool.arrays(shapes, dtype)
    for out, start in zip(batches, starts.tolist(), strict=True):
        np.copyto(out, column.values[start : start + len(out)])
    return batches


def _stack_rows(
    name: str, column: RowsColumn, starts: Indices, counts: Indices, *, pool: BufferPool, describe: Callable[[int], str]
) -> list[Array]:
    batches: list[Array] = []
    for number, (start, count) in enumerate(zip(starts.tolist(), counts.tolist(), strict=True)):
        rows = column.values[start : start + count]
        shape = rows[0].shape
        odd = next((place for place, row in enumerate(rows) if row.shape != shape), None)
        if odd is not None:
            raise JoinStopError(number, batches, stack_error(name, rows[odd].shape, describe(start + odd), shape))
        out = pool.array((count, *shape), column.dtype)
        for place, row in enumerate(rows):
            out[place] = row
        batches.append(out)
    return batches


def ragged_batches(
    name: str,
    column: RowsColumn | RaggedColumn,
    starts: Indices,
    counts: Indices,
    *,
    describe: Callable[[int], str],
    row_splits_dtype: np.dtype[Any] | None = None,
) -> list[Ragged]:
    """Batches whose rows differ in length. Raises: JoinStopError: their inner shapes differ too."""
    batches: list[Ragged] = []
    for start, count in zip(starts.tolist(), counts.tolist(), strict=True):
        rows = column.values[start : start + count]
        shapes = [row.shape[1:] if isinstance(row, np.ndarray) else row.flat_values.shape[1:] for row in rows]
        odd = next((place for place, shape in enumerate(shapes) if shape != shapes[0]), None)
        if odd is not None:
            error = StackError(
                f'leaf "{name}" has shape {rows[odd].shape} at {describe(start + odd)}',
                expected=f"(any, *{shapes[0]}) as before",
                remedy="say which axes vary: map(..., output_signature=penstock.Spec((None, None), ...))",
            )
            raise JoinStopError(len(batches), batches, error)
        own = rows[0].row_splits.dtype if isinstance(rows[0], Ragged) else np.dtype(np.int64)
        batches.append(Ragged.from_rows(rows, own if row_splits_dtype is None else row_splits_dtype))
    return batches


class Assembly:
    """One batch written by several tasks, each into its own rows; delivered by the task that holds the last ones.

    Tasks commit in order, so when the last part is delivered all others are complete.
    """

    def __init__(self, count: int, label: str, pool: BufferPool) -> None:
        self._count = count
        self._label = label
        self._pool = pool
        self._lock = threading.Lock()
        self._outs: list[Array] = []
        self._early: dict[int, Array] = {}
        self._structure = Structure()
        self._columns: tuple[Column, ...] = ()
        self._parts: dict[int, Origins] = {}
        self._odd: dict[int, Block] = {}
        self._ragged: dict[int, Block] = {}

    def write(self, start: int, block: Block) -> Failure | None:
        """Write the rows of `block` from row `start` on; the failure that followed them, if one did.

        Parts come in any order, so rows of another shape than the first part to come are kept aside, and judged when
        all are here. Rows of another structure or dtype are left out: their step has told of them by then.
        """
        if not len(block):
            return block.failure
        if holds_datasets(block):
            return Failure(_of_datasets(block).at(self._label))
        if any(isinstance(column, RaggedColumn) for column in block.columns):  # no row has a place of its own
            self._ragged[start] = block
            return block.failure
        with self._lock:
            if not self._outs:
                self._allocate(block)
            self._parts[start] = block.origins
        dtypes = [column.spec.dtype for column in block.columns]
        if block.structure == self._structure and dtypes == [column.spec.dtype for column in self._columns]:
            try:
                for name, column, out in zip(block.structure.names(), block.columns, self._outs, strict=True):
                    if not _is_at(column, out[start:]):
                        fill(name, column, out, start, block.describe)
            except StackError:
                self._odd[start] = block
        return block.failure

    def _allocate(self, block: Block) -> None:
        self._structure, self._columns = block.structure, block.columns
        for leaf, column in enumerate(block.columns):
            shape = _row_shapes(column)[0]
            early = self._early.get(leaf)
            if early is None or early.shape[1:] != shape or early.dtype != column.spec.dtype:
                early = self._pool.array((self._count, *shape), column.spec.dtype)
            self._outs.append(early)
        self._early.clear()

    def place(self, start: int, leaf: int, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array | None:
        """Rows from `start` on of a leaf of the batch, to write results into at once; None if they do not fit."""
        with self._lock:
            if self._outs:
                out = self._outs[leaf] if leaf < len(self._outs) else None
            else:
                out = self._early.get(leaf)
                if out is None:
                    out = self._early[leaf] = self._pool.array((self._count, *shape[1:]), dtype)
        if out is None or out.shape[1:] != shape[1:] or out.dtype != dtype or start + shape[0] > len(out):
            return None
        return out[start : start + shape[0]]

    def batch(self) -> Block:
        """The whole batch, as a block of one element; a failure when its rows differ in shape."""
        if self._ragged:
            joined = concat_blocks([self._ragged[start] for start in sorted(self._ragged)])
            return stack_batches(joined, np.array([self._count], dtype=np.int64), self._pool, self._label)
        if self._odd:
            return empty_block(NOWHERE, Failure(self._disagreement().at(self._label)))
        origins = concat_origins([self._parts[start] for start in sorted(self._parts)])
        columns = tuple(
            RowsColumn([out], column.spec.dtype) for out, column in zip(self._outs, self._columns, strict=True)
        )
        count = np.array([self._count], dtype=np.int64)
        return Block(self._structure, columns, BatchOrigins(origins, np.zeros(1, dtype=np.int64), count))

    def _disagreement(self) -> StackError:
        """The first leaf whose rows differ, at the first row that differs from row 0."""
        for number, (name, out) in enumerate(zip(self._structure.names(), self._outs, strict=True)):
            expected: tuple[int, ...] | None = None
            for start in sorted(self._parts):
                block = self._odd.get(start)
                shapes = [out.shape[1:]] if block is None else _row_shapes(block.columns[number])
                expected = shapes[0] if expected is None else expected
                odd = next((row for row, shape in enumerate(shapes) if shape != expected), None)
                if odd is not None:
                    return stack_error(name, shapes[odd], self._parts[start].describe(odd), expected)
        raise AssertionError("no row differs in shape")


def _is_at(column: Column, place: Array) -> bool:
    """Whether the rows of `column` were written where they belong from the start."""
    return isinstance(column, ArrayColumn) and column.values.ctypes.data == place.ctypes.data


def _row_shapes(column: Column) -> list[tuple[int, ...]]:
    assert not isinstance(column, RaggedColumn), "ragged rows are kept aside"
    if isinstance(column, RowsColumn):
        return [row.shape for row in column.values]
    return [column.values.shape[1:]]


def batch_counts(first: int, stop: int, rows: int, batch_size: int) -> Indices:
    """Rows of batches first to stop of `rows` rows in all (negative: endless): the last may be short."""
    counts = np.full(stop - first, batch_size, dtype=np.int64)
    if rows >= 0 and stop * batch_size > rows:
        counts[-1] = rows - (stop - 1) * batch_size
    return counts
