"""The slow twin of `kernels.example`: the same results and faults, a value at a time, in the order one would read."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.packed import Packed
from penstock.kernels.example import Column, Fault, Field, Kind, Records, Values

_TAGS: dict[int, Kind] = {0x0A: "bytes", 0x12: "float", 0x1A: "int"}
_DTYPES = {"float": np.float32, "int": np.int64}


class _BrokenError(Exception):
    """No message of this kind, or no such list."""


class _ProblemError(Exception):
    """A feature that is not as asked for: the problem, its detail, and the step it is in."""

    def __init__(self, problem: str, detail: str = "", step: int | None = None) -> None:
        super().__init__(problem)
        self.problem, self.detail, self.step = problem, detail, step


class _Reader:
    """What is left of a message."""

    def __init__(self, message: bytes) -> None:
        self.rest = message

    def take(self, count: int) -> bytes:
        if count > len(self.rest):
            raise _BrokenError
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def varint(self) -> int:
        value = 0
        for place in range(10):
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value & (2**64 - 1)
        raise _BrokenError

    def piece(self) -> bytes:
        return self.take(self.varint())

    def starts(self, tag: int) -> bool:
        """Whether the next byte is `tag`, which is read then."""
        if self.rest[:1] != bytes([tag]):
            return False
        self.take(1)
        return True

    def demand(self, tag: int) -> None:
        if not self.starts(tag):
            raise _BrokenError

    def skip_field(self) -> None:
        match self.varint() & 7:
            case 0:
                self.varint()
            case 1:
                self.take(8)
            case 2:
                self.piece()
            case 5:
                self.take(4)
            case _:
                raise _BrokenError


def _entry(entry: bytes, in_order: bool) -> tuple[bytes, bytes]:
    reader = _Reader(entry)
    found = {0x0A: b"", 0x12: b""}
    for expected in (0x0A, 0x12):
        tag = reader.take(1)[0] if in_order else reader.varint() & (2**32 - 1)
        if tag not in found or (in_order and tag != expected):
            raise _BrokenError
        found[tag] = reader.piece()
    if reader.rest:
        raise _BrokenError
    return found[0x0A], found[0x12]


def _collect(body: bytes, fields: Sequence[Field], found: dict[bytes, bytes], is_sequence: bool) -> None:
    """Note in `found` what each field's key stands for, of a map."""
    by_name = {field.name: field for field in fields}
    reader = _Reader(body)
    while reader.rest:
        reader.demand(0x0A)
        key, value = _entry(reader.piece(), is_sequence)
        field = by_name.get(key)
        if field is None:
            continue
        if not is_sequence and value and value[0] not in _TAGS:
            raise _BrokenError
        if is_sequence or value or (field.form == "varying" and field.flag):
            found[key] = value


def _list(feature: bytes, kind: Kind) -> tuple[_Reader, bytes]:
    """The list in a feature, and what follows it."""
    got = _TAGS.get(feature[0])
    if got is None:
        raise _BrokenError
    if got != kind:
        raise _ProblemError("kind", got)
    reader = _Reader(feature[1:])
    return _Reader(reader.piece()), reader.rest


def _float(data: bytes) -> np.float32:
    """Bit for bit, which Python's own float is not of every NaN."""
    value: np.float32 = np.frombuffer(data, "<f4")[0]
    return value


def _values(reader: _Reader, kind: Kind, is_sequence: bool) -> list[Any]:
    values: list[Any] = []
    if kind == "bytes":
        while reader.rest:
            reader.demand(0x0A)
            values.append(reader.piece())
    elif reader.starts(0x0A):
        packed = _Reader(reader.piece())
        if kind == "float":
            if is_sequence and len(packed.rest) % 4:
                raise _BrokenError
            while len(packed.rest) >= 4:
                values.append(_float(packed.take(4)))
        else:
            while packed.rest:
                values.append(packed.varint())
    else:
        while reader.rest:
            reader.demand(0x0D if kind == "float" else 0x08)
            values.append(_float(reader.take(4)) if kind == "float" else reader.varint())
    return values if kind != "int" else [value - 2**64 if value >= 2**63 else value for value in values]


def _feature(field: Field, found: bytes | None, is_sequence: bool) -> list[Any]:
    if found is None and field.form == "fixed":
        if field.default is None:
            raise _ProblemError("missing")
        return list(field.default)
    values = _values(_list(found, field.kind)[0], field.kind, is_sequence) if found else []
    fits = len(values) == field.items if field.form == "fixed" else len(values) % field.items == 0
    if not fits:
        raise _ProblemError("count", str(len(values)))
    return values


def _steps(field: Field, found: bytes | None) -> list[list[Any]]:
    if found is None and field.flag:
        raise _ProblemError("missing")
    reader, steps = _Reader(found or b""), list[list[Any]]()
    while reader.rest:
        reader.demand(0x0A)
        feature, values = reader.piece(), list[Any]()
        try:
            if feature:
                listed, after = _list(feature, field.kind)
                first = _Reader(listed.rest)
                if field.kind != "bytes" and first.starts(0x0A):
                    first.piece()
                    after += first.rest
                if after:
                    raise _BrokenError
                values = _values(listed, field.kind, is_sequence=True)
            if field.form == "steps" and len(values) != field.items:
                raise _ProblemError("count", str(len(values)))
        except _ProblemError as problem:
            raise _ProblemError(problem.problem, problem.detail, len(steps)) from None
        steps.append(values)
    return steps


def _record(record: bytes, fields: Sequence[Field], lists: Sequence[Field] | None) -> list[Any] | Fault:
    """The values of each field of one record: flat, or a list for each step."""
    maps: tuple[dict[bytes, bytes], dict[bytes, bytes]] = {}, {}
    is_sequence = lists is not None
    reader = _Reader(record)
    try:
        while reader.rest:
            if reader.starts(0x0A):
                _collect(reader.piece(), fields, maps[0], is_sequence)
            elif lists is not None and reader.starts(0x12):
                _collect(reader.piece(), lists, maps[1], is_sequence)
            else:
                reader.skip_field()
    except _BrokenError:
        return Fault(0, False, None, None, "broken", "", 0)
    values: list[Any] = []
    for part, (of, found) in enumerate(zip((fields, lists or ()), maps, strict=True)):
        for number, field in enumerate(of):
            message = found.get(field.name)
            try:
                values.append(_steps(field, message) if part else _feature(field, message, is_sequence))
            except _BrokenError:
                return Fault(0, bool(part), number, None, "broken", "", 0)
            except _ProblemError as problem:
                return Fault(0, bool(part), number, problem.step, problem.problem, problem.detail, 0)
    return values


def parse(
    fields: Sequence[Field],
    lists: Sequence[Field] | None,
    records: Records,
    outs: Sequence[NDArray[Any] | None],
) -> list[Column | None] | Fault:
    """As `parse_examples`, or with `lists` as `parse_sequence_examples`.

    Of a fault, the text and the place of what is broken are left out; `step` too, where a step is broken.
    """
    if isinstance(records, Packed):
        places = zip(records.starts.tolist(), records.stops.tolist(), strict=True)
        records = [records.data[start:stop].tobytes() for start, stop in places]
    rows: list[list[Any]] = []
    for number, record in enumerate(records):
        values = _record(record, fields, lists)
        if isinstance(values, Fault):
            return Fault(number, values.in_lists, values.field, values.step, values.problem, values.detail, 0)
        rows.append(values)
    columns: list[Column | None] = []
    for place, field in enumerate((*fields, *(lists or ()))):
        of_records = [row[place] for row in rows]
        if field.has_rows:
            out = outs[place]
            assert out is not None
            out.reshape(-1)[:] = [value for values in of_records for value in values]
            columns.append(None)
            continue
        has_steps = field.form in ("steps", "ragged_steps")
        steps = [step for values in of_records for step in values] if has_steps else []
        flat = [value for values in (steps if has_steps else of_records) for value in values]
        lengths = [] if field.form == "fixed" else list(map(len, of_records))
        array = flat if field.kind == "bytes" else np.array(flat, dtype=_DTYPES[field.kind])
        columns.append(Column(array, np.array(lengths, dtype=np.int64), np.array(list(map(len, steps)), np.int64)))
    return columns


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    written = bytearray()
    while value >= 0x80:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def _put(tag: int, content: bytes) -> bytes:
    return bytes([tag]) + _varint(len(content)) + content


def _written(values: Values) -> bytes:
    """A Feature."""
    if values is None:
        return b""
    if not isinstance(values, np.ndarray):
        return _put(0x0A, b"".join(_put(0x0A, text) for text in values))
    if values.dtype == np.float32:
        packed = b"".join(struct.pack("<f", value) for value in values)
        return _put(0x12, _put(0x0A, packed) if packed else b"")
    packed = b"".join(_varint(int(value)) for value in values)
    return _put(0x1A, _put(0x0A, packed) if packed else b"")


def _map(entries: Sequence[tuple[bytes, bytes]]) -> bytes:
    return b"".join(_put(0x0A, _put(0x0A, name) + _put(0x12, value)) for name, value in entries)


def serialize(
    features: Sequence[tuple[bytes, Values]], lists: Sequence[tuple[bytes, Sequence[Values]]] | None = None
) -> bytes:
    """As `serialize_example`, or with `lists` as `serialize_sequence_example`."""
    message = _put(0x0A, _map([(name, _written(values)) for name, values in features]))
    if lists is not None:
        of = [(name, b"".join(_put(0x0A, _written(step)) for step in steps)) for name, steps in lists]
        message += _put(0x12, _map(of))
    return message
