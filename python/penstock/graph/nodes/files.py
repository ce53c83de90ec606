"""Elements that lie in files."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from penstock.block.spec import BYTES, STR, Spec
from penstock.block.tree import Structure, tuple_of
from penstock.formats.csv_rows import CsvForm
from penstock.formats.files import LocalFile
from penstock.formats.line_index import LineIndex
from penstock.formats.record_index import RecordIndex
from penstock.formats.records import RecordLayout
from penstock.graph.node import UNKNOWN, Node, Signature
from penstock.graph.nodes.fallible import Fallible


@dataclass(frozen=True, kw_only=True, eq=False)
class ArrayFile(Node):
    """Rows or windows of the numbers in a file: element i is `shape` of `dtype` from byte `offset + i * stride` on."""

    file: LocalFile
    offset: int
    stride: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    count: int
    name: str
    verb: ClassVar[str] = "from_array_file"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    def cardinality(self) -> int:
        return self.count

    def signature(self) -> Signature | None:
        return Signature(Structure(), (Spec(self.shape, self.dtype.newbyteorder("=")),))

    def parameters(self) -> dict[str, Any]:
        return {"count": self.count, "shape": self.shape, "dtype": str(self.dtype), "stride": self.stride}


@dataclass(frozen=True, kw_only=True, eq=False)
class RecordFiles(Node):
    """Records of one length in files, one file after another; `counts`: records of each."""

    files: tuple[LocalFile, ...]
    layout: RecordLayout
    counts: tuple[int, ...]
    verb: ClassVar[str] = "FixedLengthRecordDataset"

    def cardinality(self) -> int:
        return sum(self.counts)

    def signature(self) -> Signature | None:
        return _TEXT[BYTES]

    def parameters(self) -> dict[str, Any]:
        return {"counts": self.counts, "record_bytes": self.layout.record_bytes}


@dataclass(frozen=True, kw_only=True, eq=False)
class FileStream(Node):
    """Elements that are found by reading files from their start. `buffer_bytes`: read at once, None for the default."""

    files: tuple[LocalFile, ...]
    compression: str
    buffer_bytes: int | None

    def cardinality(self) -> int:
        return UNKNOWN if self.files else 0

    def index_obstacle(self) -> str | None:
        return "reads its files from their start"

    def parameters(self) -> dict[str, Any]:
        return {"sizes": tuple(file.size for file in self.files), "compression": self.compression}


@dataclass(frozen=True, kw_only=True, eq=False)
class Lines(FileStream):
    """Lines of text files: bytes, or text in `encoding`."""

    encoding: str | None
    index: LineIndex = field(default_factory=LineIndex)
    verb: ClassVar[str] = "TextLineDataset"

    def signature(self) -> Signature | None:
        return _TEXT[BYTES if self.encoding is None else STR]


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedLines(Lines):
    """Lines by number: what becomes of `Lines` where a plan needs them so. `counts`: lines of each file."""

    counts: tuple[int, ...]

    def cardinality(self) -> int:
        return sum(self.counts)

    def index_obstacle(self) -> str | None:
        return None

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "counts": self.counts}


@dataclass(frozen=True, kw_only=True, eq=False)
class TFRecords(FileStream, Fallible):
    """Records of TFRecord files. `verify`: the data of each is checked.

    `may_index`: whether there may be an index of them; `index_folder`: where it is kept, None for the user's own.
    `cycle_length`: by number, so many files in turns, a record of each; None: one file after another.
    """

    verify: bool
    cycle_length: int | None = None
    may_index: bool
    index_folder: str | None
    index: RecordIndex = field(default_factory=RecordIndex)
    verb: ClassVar[str] = "TFRecordDataset"

    def signature(self) -> Signature | None:
        return _TEXT[BYTES]

    def index_obstacle(self) -> str | None:
        if self.drops:
            return "leaves out records that are damaged"
        return super().index_obstacle() if self.may_index else "has no index (index=False)"

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "on_error": "skip"} if self.drops else super().parameters()


@dataclass(frozen=True, kw_only=True, eq=False)
class IndexedTFRecords(TFRecords):
    """Records by number: what becomes of `TFRecords` where a plan needs them so. `counts`: records of each file."""

    counts: tuple[int, ...]

    def cardinality(self) -> int:
        return UNKNOWN if self.drops else sum(self.counts)

    def index_obstacle(self) -> str | None:
        return super().index_obstacle() if self.drops else None

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "counts": self.counts, "cycle_length": self.cycle_length}


@dataclass(frozen=True, kw_only=True, eq=False)
class PackedRecords(FileStream):
    """Records of one length in compressed files."""

    layout: RecordLayout
    verb: ClassVar[str] = "FixedLengthRecordDataset"

    def signature(self) -> Signature | None:
        return _TEXT[BYTES]

    def parameters(self) -> dict[str, Any]:
        return {**super().parameters(), "record_bytes": self.layout.record_bytes}


@dataclass(frozen=True, kw_only=True, eq=False)
class CsvRows(FileStream, Fallible):
    """Rows of CSV files: a tuple of one leaf a column."""

    form: CsvForm
    verb: ClassVar[str] = "CsvDataset"

    @cached_property
    def structure(self) -> Structure:
        return tuple_of(*(Structure() for _ in self.form.columns))

    def signature(self) -> Signature | None:
        return Signature(self.structure, tuple(Spec((), column.dtype) for column in self.form.columns))

    def parameters(self) -> dict[str, Any]:
        columns = [(column.place, str(column.dtype)) for column in self.form.columns]
        return {
            **super().parameters(),
            "columns": columns,
            "header": self.form.header,
            "on_error": "skip" if self.drops else "raise",
        }


_TEXT = {dtype: Signature(Structure(), (Spec((), dtype),)) for dtype in (BYTES, STR)}
