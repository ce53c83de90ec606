"""Files of JSON lines, streamed, or by an index of their lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.block.collate import as_leaf, leaf_spec
from penstock.block.columns import Indices
from penstock.block.spec import Spec
from penstock.block.tree import Structure, structure_of
from penstock.errors import DecodeError, PenstockError
from penstock.formats.files import LocalFile, RemoteFile
from penstock.formats.json_rows import BadLine, JsonError, JsonForm, parsed, rows_of
from penstock.formats.line_index import Bounds, LineIndex
from penstock.formats.lines import raw_lines
from penstock.formats.pieces import OpenPieces, StreamStore
from penstock.formats.store import Chunk, Found, Held, Memory
from penstock.formats.streams import CHUNK_BYTES


@dataclass(frozen=True, slots=True)
class JsonStream:
    """The lines of files, one file after another, as dicts."""

    files: tuple[LocalFile, ...]
    form: JsonForm
    compression: str

    @property
    def structure(self) -> Structure:
        return self.form.structure

    @property
    def specs(self) -> tuple[Spec, ...]:
        return self.form.specs

    def part(self, first: int, step: int) -> JsonStream:
        return replace(self, files=self.files[first::step])

    def parameters(self) -> dict[str, Any]:
        keys = dict(zip(self.form.structure.names(), map(str, self.form.specs), strict=True))
        return {"sizes": tuple(file.size for file in self.files), "compression": self.compression, "keys": keys}

    def chunks(self, *, skips: bool) -> Iterator[Chunk]:
        for file in self.files:
            try:
                yield from self._of(file, skips)
            except PenstockError as error:
                if not skips:
                    raise
                yield Chunk((), 0, skipped=(error,))

    def _of(self, file: LocalFile, skips: bool) -> Iterator[Chunk]:
        for lines, first, start in raw_lines(file, self.compression, CHUNK_BYTES):
            rest, number, offset = lines, first, start
            while rest:
                columns, count, bad = rows_of(rest, self.form)
                if bad is None:
                    yield Chunk(columns, count)
                    break
                error = _located(bad, file, number + bad.row, offset + _bytes(rest[: bad.row]))
                if not skips:
                    yield Chunk(columns, count, error)
                    return
                yield Chunk(columns, count, skipped=(error,))
                done = bad.row + 1
                number, offset, rest = number + done, offset + _bytes(rest[:done]), rest[done:]

    @property
    def has_index(self) -> bool:
        return not self.compression and not any(isinstance(file, RemoteFile) for file in self.files)

    def indexed(self, held: Held) -> JsonStore:
        with held.lock:
            index: LineIndex = held.found.setdefault("lines", LineIndex())
        return JsonStore(self, tuple(index.bounds(self.files)))


def _bytes(lines: Sequence[bytes]) -> int:
    return sum(map(len, lines)) + len(lines)


def _located(bad: BadLine, file: LocalFile, line: int, offset: int) -> PenstockError:
    return bad.error.at(f"{file.path}, line {line}, byte {offset + bad.byte}")


def json_stream(files: Sequence[LocalFile], compression: str, form: JsonForm | None) -> JsonStream:
    """The stream of these files; what a line looks like is read off the first line of all, where it is not said.

    Raises: ReadError, DecodeError: a file cannot be read, or its first line is no element, or there is no line.
    """
    return JsonStream(tuple(files), _first_form(files, compression) if form is None else form, compression)


def _first_form(files: Sequence[LocalFile], compression: str) -> JsonForm:
    for file in files:
        for lines, _, _ in raw_lines(file, compression, CHUNK_BYTES):
            try:
                value = parsed(lines[0])
                structure = structure_of(value)
                leaves = structure.flatten(value)
                specs = [leaf_spec(as_leaf(leaf)) for leaf in leaves]
            except JsonError as error:
                raise _located(BadLine(0, error.byte, error.error), file, 1, 0) from None
            except PenstockError as error:
                raise _located(BadLine(0, 0, error), file, 1, 0) from None
            varying = (Spec((None,) * len(spec.shape or ()), spec.dtype) for spec in specs)
            return JsonForm(structure, tuple(varying), chosen=False)
    raise DecodeError(
        "no line in any file", expected="an object a line", where=files[0].path,
        remedy="output_signature={...} says what lines look like",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class JsonStore(StreamStore[JsonStream, Bounds]):
    """The lines of files by position. Of each file, where each line begins, and where the last one ends."""

    @property
    def counts(self) -> list[int]:
        return [len(bounds) - 1 for bounds in self.indices]

    def open(self) -> _OpenJson:
        return _OpenJson(self)


class _OpenJson(OpenPieces):
    """Lines read by position."""

    def __init__(self, store: JsonStore) -> None:
        super().__init__(store.files, store.counts)
        self._store = store

    def read(self, positions: Indices, memory: Memory) -> Found:
        lines = np.empty(len(positions), dtype=object)
        where = np.empty((len(positions), 2), dtype=np.int64)
        for number, places, within in self.by_file(positions):
            starts = self._store.indices[number][within]
            lengths = self._store.indices[number][within + 1] - starts
            pieces = self.file(number).pieces(starts, lengths, is_line=True)
            for place, piece in zip(places.tolist(), pieces, strict=True):
                lines[place] = piece
            where[places, 0], where[places, 1] = number, within
        columns, count, bad = rows_of(lines.tolist(), self._store.stream.form)
        if bad is None:
            return Found(columns, count)
        number, line = where[bad.row].tolist()
        offset = int(self._store.indices[number][line])
        return Found(columns, count, _located(bad, self._store.files[number], line + 1, offset))
