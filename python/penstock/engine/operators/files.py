"""Index-driven sources over files: element i lies at a place that is known, and is read from there."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, TypeVar

import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.columns import (
    Array,
    ArrayColumn,
    BytesColumn,
    Column,
    Indices,
    PackedColumn,
    RowsColumn,
    object_array,
)
from penstock.block.origin import BatchOrigins, Origins, SourceLabel, SourceOrigins
from penstock.block.spec import BYTES, STR
from penstock.block.tree import LEAF
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.positions import IndexedOperator, SourceOperator
from penstock.engine.scope import Scope
from penstock.errors import PenstockError, ReadError
from penstock.formats.files import LocalFile, MappedFile, PieceFile
from penstock.formats.lines import not_text
from penstock.formats.record_errors import record_error
from penstock.formats.record_index import Bounds
from penstock.formats.record_places import RecordPlaces
from penstock.formats.turns import Turns
from penstock.graph.node import Node
from penstock.graph.nodes import ArrayFile, IndexedLines, IndexedTFRecords, RecordFiles
from penstock.kernels.gather import gather_windows

Opened = TypeVar("Opened")
_JOINED_BOUNDS_BYTES = 128 * 2**20  # up to here all places of records are looked up at once, else file by file


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
        numbers = self.file_of(positions)
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            try:
                pieces = self.pieces(number, self._files[number].get(), positions[places] - self._starts[number])
            except ReadError as error:
                raise error.at(self.node.label) from error
            values[places] = object_array(pieces)
        return Block(LEAF, (BytesColumn(values, BYTES),), origins)

    def file_of(self, positions: Indices) -> Indices:
        """The number of the file that each piece is in."""
        return np.searchsorted(self._stops, positions, side="right")


class RecordFilesOperator(PieceOperator):
    """Records by arithmetic."""

    node: RecordFiles

    def counts_and_files(self) -> tuple[Sequence[int], Sequence[LocalFile]]:
        return self.node.counts, self.node.files

    def pieces(self, number: int, file: PieceFile, within: Indices) -> Sequence[bytes]:
        layout = self.node.layout
        starts = layout.header_bytes + within * layout.record_bytes
        return file.pieces(starts, np.full(len(within), layout.record_bytes))


class IndexedLinesOperator(PieceOperator):
    """Lines by their index; text where an encoding is said."""

    node: IndexedLines

    def counts_and_files(self) -> tuple[Sequence[int], Sequence[LocalFile]]:
        self._bounds = self.node.index.bounds(self.node.files)
        return self.node.counts, self.node.files

    def pieces(self, number: int, file: PieceFile, within: Indices) -> Sequence[bytes]:
        starts = self._bounds[number][within]
        return file.pieces(starts, self._bounds[number][within + 1] - starts, is_line=True)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        block = super()._rows(positions, scope)
        encoding = self.node.encoding
        if encoding is None or not len(block):
            return block
        texts: list[str] = []
        failure: Failure | None = None
        try:
            for line in block.columns[0].rows():
                texts.append(line.decode(encoding))  # noqa: PERF401  # those before one that fails are kept
        except UnicodeDecodeError as error:
            failure = Failure(self._not_text(error, int(positions[len(texts)])))
        origins = block.origins.take(np.arange(len(texts), dtype=np.int64))
        if not texts:
            return empty_block(origins, failure)
        return Block(LEAF, (BytesColumn(object_array(texts), STR),), origins, failure)

    def _not_text(self, error: UnicodeDecodeError, position: int) -> PenstockError:
        number = int(self.file_of(np.array([position]))[0])
        line = position - int(self._starts[number])
        offset = int(self._bounds[number][line]) + error.start
        file = self.node.files[number]
        return not_text(file, str(self.node.encoding), error, line + 1, offset).at(self.node.label)


class IndexedTFRecordsOperator(SourceOperator):
    """TFRecords by their index: one native call for a block reads them into its column and checks them there."""

    node: IndexedTFRecords

    def __init__(self, node: Node, inputs: Sequence[IndexedOperator]) -> None:
        super().__init__(node, inputs)
        self._bounds = self.node.index.bounds(self.node.files, self.node.index_folder)
        counts = np.array(self.node.counts, dtype=np.int64)
        self._stops = np.cumsum(counts)
        self._starts = self._stops - counts
        is_small = 8 * int(counts.sum()) <= _JOINED_BOUNDS_BYTES
        self._all_bounds = np.concatenate(self._bounds) if is_small and self._bounds else None
        cycle_length = self.node.cycle_length
        self._turns = None if cycle_length is None else Turns(self.node.counts, cycle_length)
        self._places = RecordPlaces(self.node.files)
        self._label = SourceLabel(self.node.label, self._place)

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        return SourceOrigins(self.node.number, self._label, positions)

    def _place(self, position: int) -> str:
        numbers, within = self._locate(np.array([position], dtype=np.int64))
        starts, _ = self._bounds_of(numbers, within)
        return f"{self.node.files[int(numbers[0])].path}, record at byte {int(starts[0])}"

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        origins = self.origins(positions, scope)
        if not len(positions):
            return empty_block(origins)
        numbers, within = self._locate(positions)
        starts, stops = self._bounds_of(numbers, within)
        try:
            packed, fault = self._places.read(numbers, starts, stops, verify=self.node.verify)
        except ReadError as error:
            raise error.at(self.node.label) from error
        if fault is None:
            return Block(LEAF, (PackedColumn(packed),), origins)
        file = self.node.files[int(numbers[fault.at])]
        failure = Failure(record_error(file, fault, int(starts[fault.at])).at(self.node.label))
        good = origins.take(np.arange(fault.at, dtype=np.int64))
        return Block(LEAF, (PackedColumn(packed),), good, failure) if fault.at else empty_block(good, failure)

    def _bounds_of(self, numbers: Indices, within: Indices) -> tuple[Bounds, Bounds]:
        """Where each record begins and ends in its file."""
        if self._all_bounds is not None:
            at = self._starts[numbers] + numbers + within  # a file has one bound more than records
            return self._all_bounds[at], self._all_bounds[at + 1]
        starts, stops = np.empty(len(within), np.uint64), np.empty(len(within), np.uint64)
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            starts[places] = self._bounds[number][within[places]]
            stops[places] = self._bounds[number][within[places] + 1]
        return starts, stops

    def _locate(self, positions: Indices) -> tuple[Indices, Indices]:
        """The number of the file that each record is in, and its number there."""
        if self._turns is not None:
            return self._turns.locate(positions)
        numbers = np.searchsorted(self._stops, positions, side="right")
        return numbers, positions - self._starts[numbers]
