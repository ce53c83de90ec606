"""Index-driven sources over files: element i lies at a place that is known, and is read from there."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Array, ArrayColumn, BytesColumn, Column, Indices, RowsColumn, object_array
from penstock.block.origin import BatchOrigins
from penstock.block.spec import BYTES
from penstock.block.tree import LEAF
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.positions import IndexedOperator, SourceOperator
from penstock.engine.scope import Scope
from penstock.errors import ReadError
from penstock.formats.files import LocalFile, MappedFile, PieceFile
from penstock.graph.node import Node
from penstock.graph.nodes import ArrayFile, RecordFiles
from penstock.kernels.gather import gather_windows

Opened = TypeVar("Opened")


class OpenOnce(Generic[Opened]):
    """Something opened by the first worker that asks, for all of them."""

    def __init__(self, make: Callable[[], Opened]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._opened: Opened | None = None

    def get(self) -> Opened:
        with self._lock:
            if self._opened is None:
                self._opened = self._make()
            return self._opened


class ArrayFileOperator(SourceOperator):
    """Windows of a mapped file, copied straight into rows of the batch."""

    node: ArrayFile

    def __init__(self, node: Node, inputs: Sequence[IndexedOperator]) -> None:
        super().__init__(node, inputs)
        self._file = OpenOnce(lambda: MappedFile(self.node.file))
        self._width = math.prod(self.node.shape) * self.node.dtype.itemsize

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        if not len(positions):
            return empty_block(self.origins(positions, scope))
        out = scope.services.pool.array((len(positions), *self.node.shape), self.node.dtype.newbyteorder("="))
        self._gather(positions, [out])
        return Block(LEAF, (ArrayColumn(out),), self.origins(positions, scope))

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        tally = scope.task_log.tally
        return tally.measure(self.node.key, self.node.label, lambda: self._batches(positions, counts, scope))

    def _batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block:
        dtype = self.node.dtype.newbyteorder("=")
        batches = scope.services.pool.arrays(tuple((n, *self.node.shape) for n in counts.tolist()), dtype)
        self._gather(positions, batches)
        column: Column = RowsColumn(batches, dtype)
        origins = BatchOrigins(self.origins(positions, scope), np.cumsum(counts) - counts, counts)
        return Block(LEAF, (column,), origins)

    def _gather(self, positions: Indices, outs: list[Array]) -> None:
        node = self.node
        if not node.count or not self._width:
            return
        try:
            source = self._file.get().view()[node.offset :]
        except ReadError as error:
            raise error.at(node.label) from error
        gather_windows(source, (node.count, node.stride, self._width), positions, outs)
        if not node.dtype.isnative:
            for out in outs:
                out.byteswap(inplace=True)


class PieceOperator(SourceOperator):
    """Bytes from several files, one file after another: element i is piece `i - starts[f]` of the file f it is in."""

    def __init__(self, node: Node, inputs: Sequence[IndexedOperator]) -> None:
        super().__init__(node, inputs)
        counts, files = self.counts_and_files()
        self._stops = np.cumsum(counts, dtype=np.int64)
        self._starts = self._stops - counts
        self._files = [OpenOnce(partial(PieceFile, file)) for file in files]

    def counts_and_files(self) -> tuple[Sequence[int], Sequence[LocalFile]]:
        """The pieces of each file, and the files."""
        raise NotImplementedError

    def pieces(self, number: int, file: PieceFile, within: Indices) -> Sequence[bytes]:
        """The pieces `within` file `number`."""
        raise NotImplementedError

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        origins = self.origins(positions, scope)
        if not len(positions):
            return empty_block(origins)
        values = np.empty(len(positions), dtype=object)
        numbers = np.searchsorted(self._stops, positions, side="right")
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            try:
                pieces = self.pieces(number, self._files[number].get(), positions[places] - self._starts[number])
            except ReadError as error:
                raise error.at(self.node.label) from error
            values[places] = object_array(pieces)
        return Block(LEAF, (BytesColumn(values, BYTES),), origins)


class RecordFilesOperator(PieceOperator):
    """Records by arithmetic."""

    node: RecordFiles

    def counts_and_files(self) -> tuple[Sequence[int], Sequence[LocalFile]]:
        return self.node.counts, self.node.files

    def pieces(self, number: int, file: PieceFile, within: Indices) -> Sequence[bytes]:
        layout = self.node.layout
        starts = layout.header_bytes + within * layout.record_bytes
        return file.pieces(starts, np.full(len(within), layout.record_bytes))
