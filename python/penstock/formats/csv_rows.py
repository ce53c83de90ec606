"""CSV files as rows of typed columns: fields by Python's csv module, numbers by column.

Follows tf.data.experimental.CsvDataset, after RFC 4180: quoted fields may hold delimiters, quotes (doubled) and line
breaks; an empty field, or one that is `na_value`, takes its column's default, and is an error where there is none. An
empty line is a row of one empty field.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from penstock.block.columns import ArrayColumn, BytesColumn, Column, object_array
from penstock.block.spec import STR
from penstock.errors import DecodeError
from penstock.formats.files import LocalFile
from penstock.formats.streams import CHUNK_BYTES, ByteStream

_ROWS = 1024
_BREAK = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class CsvColumn:
    """A column that is wanted: its place in a row, its dtype, and what an empty field is (None: an error)."""

    place: int
    dtype: np.dtype[Any]
    default: Any = None


@dataclass(frozen=True, slots=True)
class CsvForm:
    """How rows are written, and what is wanted of them. `width`: fields of a row; None: enough for all columns."""

    columns: tuple[CsvColumn, ...]
    width: int | None
    header: bool
    delimiter: str
    quotes: bool
    na_value: str


@dataclass(frozen=True, slots=True)
class CsvChunk:
    """Rows by column, then what ended them; and what was dropped on the way."""

    columns: tuple[Column, ...]
    count: int
    error: DecodeError | None
    skipped: tuple[DecodeError, ...]


@dataclass(slots=True)
class _Raw:
    """Rows as split into fields, the line the first begins at, and the fault after them."""

    rows: list[list[str]]
    line: int
    fault: DecodeError | None = None


def read_rows(file: LocalFile, compression: str, form: CsvForm, *, skips: bool) -> Iterator[CsvChunk]:
    """The rows of a file, some at a time. `skips`: bad rows are dropped and told, else the first is the last.

    Raises: ReadError, DecodeError: the file cannot be read or unpacked, or has no header line.
    """
    raw = io.BufferedReader(ByteStream(file, compression), CHUNK_BYTES)
    with io.TextIOWrapper(raw, encoding="latin-1", newline="") as text:  # latin-1: bytes come through unchanged
        fields = csv.reader(
            text, delimiter=form.delimiter, strict=True,
            quoting=csv.QUOTE_MINIMAL if form.quotes else csv.QUOTE_NONE,
        )  # fmt: skip
        if form.header:
            _skip_header(file, fields)
        while True:
            found = _split(file, fields)
            if not found.rows and found.fault is None:
                return
            chunk = _typed(file, found, form, skips=skips)
            if chunk.count or chunk.error is not None or chunk.skipped:
                yield chunk
            if chunk.error is not None:
                return


def _skip_header(file: LocalFile, fields: Any) -> None:
    """Read the first row, as tf.data does: a quoted name may hold a line break."""
    try:
        if next(fields, None) is None:
            raise DecodeError("no header line", got="an empty file", where=file.path)
    except csv.Error as error:
        raise DecodeError("not CSV", got=str(error), where=f"{file.path}, line 1") from error


def _split(file: LocalFile, fields: Any) -> _Raw:
    """The next rows."""
    found = _Raw([], fields.line_num + 1)
    try:
        found.rows.extend(islice(fields, _ROWS))  # keeps those before one that raises
    except csv.Error as error:
        line = found.line + sum(map(_lines_of, found.rows))
        found.fault = DecodeError("not CSV", got=str(error), where=f"{file.path}, line {line}")
    if not all(found.rows):
        found.rows = [row or [""] for row in found.rows]
    return found


def _lines_of(row: list[str]) -> int:
    """How many lines a row takes."""
    return 1 + sum(len(_BREAK.findall(field)) for field in row)


def _typed(file: LocalFile, found: _Raw, form: CsvForm, *, skips: bool) -> CsvChunk:
    """Fields as columns; rows that cannot be are the end of it, or dropped."""
    try:
        columns = _columns(found.rows, form)
        bad: dict[int, DecodeError] = {}
    except (ValueError, OverflowError, IndexError):
        bad = _bad_rows(file, found, form)
        stop = len(found.rows) if skips else min(bad)
        columns = _columns([row for number, row in enumerate(found.rows[:stop]) if number not in bad], form)
    count = len(columns[0])
    errors = [bad[number] for number in sorted(bad)]
    if skips:
        return CsvChunk(columns, count, None, (*errors, *(() if found.fault is None else (found.fault,))))
    return CsvChunk(columns, count, errors[0] if errors else found.fault, ())


def _columns(rows: Sequence[list[str]], form: CsvForm) -> tuple[Column, ...]:
    """All fields of all rows. Raises: ValueError, OverflowError, IndexError: some row is bad."""
    widths = set(map(len, rows))
    if form.width is not None and widths - {form.width}:
        raise ValueError("width")
    if len(widths) == 1:
        fields = list(zip(*rows, strict=True))
        return tuple(_column(fields[column.place], column, form.na_value) for column in form.columns)
    return tuple(_column([row[column.place] for row in rows], column, form.na_value) for column in form.columns)


def _column(fields: Sequence[str], column: CsvColumn, na_value: str) -> Column:
    empty: list[int] = []
    if "" in fields or na_value in fields:
        empty = [place for place, field in enumerate(fields) if field in ("", na_value)]
        if column.default is None:
            raise ValueError("missing")
        fields = list(fields)
        for place in empty:
            fields[place] = "0"  # any value of every dtype: the default takes its place
    values = _CONVERT[column.dtype.kind](fields)
    for place in empty:
        values[place] = column.default
    if column.dtype.kind in "SU":
        return BytesColumn(object_array(values), column.dtype)
    with np.errstate(over="ignore"):
        return ArrayColumn(np.array(values, dtype=column.dtype))


def _plain(fields: Sequence[str]) -> Sequence[str]:
    """The fields, if none has an underscore, which Python takes in a number and CSV does not."""
    if "_" in "".join(fields):
        raise ValueError("underscore")
    return fields


def _bytes(fields: Sequence[str]) -> list[bytes]:
    joined = "\0".join(fields).encode("latin-1").split(b"\0")  # at once, where no field has the separator
    return joined if len(joined) == len(fields) else [field.encode("latin-1") for field in fields]


_CONVERT: dict[str, Callable[[Sequence[str]], list[Any]]] = {
    "i": lambda fields: list(map(int, _plain(fields))),
    "u": lambda fields: list(map(int, _plain(fields))),
    "f": lambda fields: list(map(float, _plain(fields))),
    "S": _bytes,
    "U": lambda fields: [field.decode() for field in _bytes(fields)],
}


def _bad_rows(file: LocalFile, found: _Raw, form: CsvForm) -> dict[int, DecodeError]:
    """What is wrong with each row that cannot be read, by its number."""
    bad: dict[int, DecodeError] = {}
    first = found.line
    for number, row in enumerate(found.rows):
        fault = _fault(row, form)
        if fault is not None:
            what, got, expected, column, line = fault
            place = f"{file.path}, line {first + line}"
            where = place if column is None else f"{place}, column {column}"
            bad[number] = DecodeError(what, got=got, expected=expected, where=where)
        first += _lines_of(row)
    return bad


def _fault(row: list[str], form: CsvForm) -> tuple[str, str, str | None, int | None, int] | None:
    """What, got, expected, column, and lines after the first of the row."""
    width = form.width
    if width is not None and len(row) != width:
        return "a row of another number of fields", f"{len(row)} fields", str(width), None, 0
    enough = max(column.place for column in form.columns) + 1
    if len(row) < enough:
        return "a row with too few fields", f"{len(row)} fields", f"at least {enough}", None, 0
    for column in form.columns:
        field = row[column.place]
        line = sum(len(_BREAK.findall(before)) for before in row[: column.place])
        if field in ("", form.na_value) and column.default is None:
            return "a required field is empty", repr(field), "a value, or a default for it", column.place, line
        try:
            _column([field], column, form.na_value)
        except (ValueError, OverflowError):
            expected = "UTF-8" if column.dtype == STR else str(column.dtype)
            return "a field that is no such value", repr(field[:80]), expected, column.place, line
    return None
