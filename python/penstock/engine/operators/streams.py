"""Sources that stream files: one after another, from start to end, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.columns import BytesColumn, Column, PackedColumn, object_array
from penstock.block.origin import SourceLabel, SourceOrigins
from penstock.block.spec import BYTES, STR
from penstock.block.tree import LEAF, Structure
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.sources import GeneratorSource, StreamSource, ended_early
from penstock.engine.scope import Scope, Skipped
from penstock.errors import PenstockError
from penstock.formats.csv_rows import read_rows
from penstock.formats.files import LocalFile, PieceFile, RemoteFile
from penstock.formats.lines import read_lines, read_pieces
from penstock.formats.records import read_records
from penstock.formats.store import Chunk
from penstock.formats.streams import CHUNK_BYTES
from penstock.formats.tfrecords import READ_BYTES, read_tfrecords
from penstock.graph.node import Node
from penstock.graph.nodes import CsvRows, FormatStream, Generator, Lines, PackedRecords, TFRecords

Reader = Callable[[LocalFile], Iterator[Chunk]]


class FileSource:
    """Blocks of what lies in files. An element's place is its number: a resumed source reads again and drops."""

    def __init__(
        self, node: Lines | PackedRecords | TFRecords | CsvRows | FormatStream, block_size: int | None
    ) -> None:
        self._node: Node = node
        self._label = node.label
        self._block_size = block_size
        if isinstance(node, FormatStream):
            self._structure, self._chunks = node.stream.structure, node.stream.chunks(skips=node.drops)
        else:
            self._structure, reader = self._reader(node)
            self._chunks = _chunks(node.files, reader)
        self._open: Chunk | None = None
        self._row = 0
        self._given = 0
        self._skips = 0

    def _reader(self, node: Any) -> tuple[Structure, Reader]:
        """The structure of the elements, and what reads one file."""
        return _READERS[type(node)](node)

    def skip(self, elements: int) -> None:
        """Start after so many."""
        self._skips = self._given = elements

    def produce(self, scope: Scope) -> Block | None:
        """The next block, None at the end."""
        while True:
            try:
                chunk = self._next(scope)
            except PenstockError as error:
                return empty_block(self._origins(0), Failure(error.at(self._node.label)))
            if chunk is None:
                if self._skips:
                    return empty_block(self._origins(0), Failure(ended_early(self._node, self._skips)))
                return None
            gone = min(self._skips, chunk.count - self._row)
            self._skips -= gone
            self._row += gone
            stop = chunk.count if self._block_size is None else min(chunk.count, self._row + self._block_size)
            if stop > self._row or chunk.error is not None:
                return self._block(chunk, stop)

    def _next(self, scope: Scope) -> Chunk | None:
        """The chunk that has rows or an error to give."""
        if self._open is None or (self._row >= self._open.count and self._open.error is None):
            self._open, self._row = next(self._chunks, None), 0
            for error in () if self._open is None else self._open.skipped:
                label = self._node.label
                scope.task_log.skipped.append(Skipped(str(getattr(error, "where", "")), label, str(error), ""))
                if getattr(self._node, "tells", False):
                    scope.services.warn(f"{label} left out {error}")
        return self._open

    def _block(self, chunk: Chunk, stop: int) -> Block:
        start, count = self._row, stop - self._row
        self._row = stop
        failure = None
        if stop == chunk.count and chunk.error is not None:
            error = chunk.error.at(self._node.label) if isinstance(chunk.error, PenstockError) else chunk.error
            failure = Failure(error)
        origins = self._origins(count)
        self._given += count
        if not count:
            return empty_block(origins, failure)
        columns = tuple(column.slice(start, stop) for column in chunk.columns)
        return Block(self._structure, columns, origins, failure)

    def _origins(self, count: int) -> SourceOrigins:
        numbers = np.arange(self._given, self._given + count, dtype=np.int64)
        return SourceOrigins(self._node.number, self._label, numbers)

    def close(self) -> None:
        """Close the file that is open."""
        close: Any = getattr(self._chunks, "close", None)
        if close is not None:
            close()


class TFRecordSource(FileSource):
    """Blocks of TFRecords. Resumed, it passes over records by their lengths, unread, where none are left out."""

    def _reader(self, node: TFRecords) -> tuple[Structure, Reader]:
        if not (node.drops or node.compression):  # else where a record lies is known by reading alone
            self._label = SourceLabel(node.label, partial(_record_place, node.files))
        return LEAF, partial(self._read, node)

    def _read(self, node: TFRecords, file: LocalFile) -> Iterator[Chunk]:
        offset = 0
        if self._skips and not (node.drops or node.compression or isinstance(file, RemoteFile)):
            passed, offset = PieceFile(file).skip_records(self._skips)
            self._skips -= passed
        found = read_tfrecords(
            file, node.compression, verify=node.verify, skips=node.drops,
            chunk_bytes=node.buffer_bytes or READ_BYTES, offset=offset,
        )  # fmt: skip
        for chunk in found:
            yield Chunk((PackedColumn(chunk.packed),), len(chunk.packed.starts), chunk.error, chunk.skipped)


def _record_place(files: tuple[LocalFile, ...], number: int) -> str | None:
    """Where a record lies, by the lengths of those before it."""
    for file in files:
        if isinstance(file, RemoteFile):
            return None
        try:
            passed, offset = PieceFile(file).skip_records(number)
        except PenstockError:
            return None
        if passed == number and offset < file.size:
            return f"{file.path}, record at byte {offset}"
        number -= passed
    return None


def _chunks(files: tuple[LocalFile, ...], reader: Reader) -> Iterator[Chunk]:
    for file in files:
        yield from reader(file)


def _text_column(values: list[Any], is_text: bool) -> Column:
    return BytesColumn(object_array(values), STR if is_text else BYTES)


def _lines(node: Lines) -> tuple[Structure, Reader]:
    chunk_bytes = node.buffer_bytes or CHUNK_BYTES

    def read(file: LocalFile) -> Iterator[Chunk]:
        for pieces in read_pieces(file, node.compression, chunk_bytes):
            yield Chunk((PackedColumn(pieces),), len(pieces.starts))

    def read_decoded(file: LocalFile) -> Iterator[Chunk]:
        for lines, error in read_lines(file, node.compression, node.encoding or "utf-8", chunk_bytes):
            yield Chunk((_text_column(list(lines), is_text=True),), len(lines), error)

    return LEAF, read if node.encoding is None else read_decoded


def _records(node: PackedRecords) -> tuple[Structure, Reader]:
    def read(file: LocalFile) -> Iterator[Chunk]:
        for records in read_records(file, node.compression, node.layout, node.buffer_bytes or CHUNK_BYTES):
            yield Chunk((_text_column(records, is_text=False),), len(records))

    return LEAF, read


def _rows(node: CsvRows) -> tuple[Structure, Reader]:
    def read(file: LocalFile) -> Iterator[Chunk]:
        for rows in read_rows(file, node.compression, node.form, skips=node.drops):
            yield Chunk(rows.columns, rows.count, rows.error, rows.skipped)

    return node.structure, read


_READERS: dict[type[Node], Callable[[Any], tuple[Structure, Reader]]] = {
    Lines: _lines,
    PackedRecords: _records,
    CsvRows: _rows,
}


STREAMS: dict[type[Node], Callable[[Any, int | None], StreamSource]] = {
    Generator: GeneratorSource,
    Lines: FileSource,
    PackedRecords: FileSource,
    TFRecords: TFRecordSource,
    CsvRows: FileSource,
    FormatStream: FileSource,
}


def stream_source(node: Node, block_size: int | None) -> StreamSource:
    """What yields the blocks of a source that is not index-driven."""
    return STREAMS[type(node)](node, block_size)
