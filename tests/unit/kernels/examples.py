"""Drawn Examples: features to ask for, and records that hold them as anybody may write them, odd ones too."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np

from penstock.kernels.example import Field

NAMES = (b"a", b"b", b"cc", b"a long name", "é".encode(), b"")
TAGS = {"bytes": 0x0A, "float": 0x12, "int": 0x1A}
DEFAULTS = {"bytes": (b"x", b"", b"yz"), "float": (1.5, -0.0, 2.0), "int": (7, -1, 0)}


def varint(value: int, padding: int = 0) -> bytes:
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    if not padding:
        return bytes([*out, value])
    return bytes([*out, value | 0x80, *[0x80] * (padding - 1), 0])


def put(tag: int, content: bytes, padding: int = 0) -> bytes:
    return bytes([tag]) + varint(len(content), padding) + content


@dataclass
class Drawn:
    """What to ask for and of whom; `lists` is None for Examples."""

    fields: list[Field]
    lists: list[Field] | None
    records: list[bytes]


class Maker:
    """Draws from `random`; with `oddity` 0 only what every writer writes."""

    def __init__(self, random: np.random.Generator, oddity: float = 0.1) -> None:
        self.random = random
        self.oddity = oddity

    def odd(self) -> bool:
        return bool(self.random.random() < self.oddity)

    def pick(self, choices: tuple) -> object:
        return choices[int(self.random.integers(len(choices)))]

    # -- what is asked for ---------------------------------------------------------------------------------------

    def fields(self, role: str) -> list[Field]:
        names = [name for name in NAMES if self.random.random() < 0.6] if self.random.random() < 0.9 else []
        if not names and role in ("batch", "single"):
            names = [b"a"]
        return [self.field(name, role) for name in names]

    def field(self, name: bytes, role: str) -> Field:
        kind = self.pick(("bytes", "float", "int"))
        if role == "lists":
            form = self.pick(("steps", "ragged_steps"))
            items = int(self.random.integers(1, 3)) if form == "steps" else 1
            return Field(name, kind, form, items, flag=form == "steps" and bool(self.random.integers(2)))
        form = self.pick(("fixed", "fixed", "varying"))
        if form == "fixed":
            items = int(self.random.integers(1, 4))
            return Field(
                name, kind, form, items, default=DEFAULTS[kind][:items] if self.random.random() < 0.9 else None
            )
        sequence = role != "context" and bool(self.random.integers(2))
        items = int(self.random.integers(1, 3)) if sequence else 1
        return Field(name, kind, form, items, flag=role == "batch" and not sequence)

    # -- what is there -------------------------------------------------------------------------------------------

    def feature(self, field: Field | None) -> bytes:
        """A Feature, mostly as asked for."""
        if self.random.random() < 0.03:
            return b""
        kind = field.kind if field is not None and not self.odd() else self.pick(("bytes", "float", "int"))
        count = int(self.random.integers(0, 5))
        if field is not None and field.form in ("fixed", "steps") and not self.odd():
            count = field.items
        if field is not None and field.form == "varying" and not self.odd():
            count = field.items * int(self.random.integers(0, 4))
        content = put(TAGS[kind], self.list(kind, count), self.padding())
        if self.odd():
            content += put(TAGS[self.pick(("bytes", "float", "int"))], self.list("int", 2))  # a second list
        if self.odd() and self.odd():
            content = put(int(self.random.integers(1, 128)), content)
        return content

    def padding(self) -> int:
        return int(self.random.integers(1, 4)) if self.odd() else 0

    def list(self, kind: str, count: int) -> bytes:
        if kind == "bytes":
            return b"".join(
                put(0x0A, self.random.bytes(int(self.pick((0, 1, 3, 130)))), self.padding()) for _ in range(count)
            )
        packs = not self.odd()
        if kind == "float":
            numbers = [struct.pack("<f", self.pick((0.0, -0.0, 1.5, float("inf"), 3e38))) for _ in range(count)]
            tag = b"\x0d"
        else:
            numbers = [
                varint(int(self.pick((0, 1, -1, 127, 128, 2**31, 2**63 - 1, -(2**63)))), self.padding())
                for _ in range(count)
            ]
            tag = b"\x08"
        if not packs:
            return b"".join(tag + number for number in numbers)
        content = b"".join(numbers)
        if kind == "float" and self.odd():
            content += b"xy"  # a part of a float
        if not content and not self.odd():
            return b""
        packed = put(0x0A, content, self.padding())
        if self.odd():
            packed += put(0x0A, content) + tag  # more behind it
        return packed

    def feature_list(self, field: Field | None) -> bytes:
        return b"".join(put(0x0A, self.feature(field), self.padding()) for _ in range(int(self.random.integers(0, 4))))

    def map(self, fields: list[Field], lists: bool) -> bytes:
        by_name = {field.name: field for field in fields}
        names = [name for name in NAMES if self.random.random() < 0.93]
        if self.random.random() < 0.3:
            self.random.shuffle(names)
        if self.odd():
            names += [self.pick(NAMES)]
        return b"".join(self.entry(name, by_name.get(name), lists) for name in names)

    def entry(self, name: bytes, field: Field | None, lists: bool) -> bytes:
        key = put(0x0A, name, self.padding())
        value = put(0x12, self.feature_list(field) if lists else self.feature(field), self.padding())
        content = key + value
        if self.odd():
            content = self.pick(
                (value + key, key + key, value + value, key, content + b"\x18\x01", b"\x8a\x00" + content[1:])
            )
        return put(0x0A, content, self.padding())

    def record(self, fields: list[Field], lists: list[Field] | None) -> bytes:
        parts = [put(0x0A, self.map(fields, lists=False), self.padding())]
        if self.odd():
            parts.append(put(0x0A, self.map(fields, lists=False)))
        if lists is not None and not self.odd():
            parts.append(put(0x12, self.map(lists, lists=True), self.padding()))
        if self.odd():
            unknown = (
                b"\x18\x85\x01",
                b"\x19" + bytes(8),
                b"\x22\x03abc",
                b"\x25" + bytes(4),
                b"\x00\x01",
                b"\x8a\x00\x00",
            )
            parts.insert(int(self.random.integers(len(parts) + 1)), self.pick(unknown))
        return b"" if self.odd() else b"".join(parts)

    def damaged(self, record: bytes) -> bytes:
        data = bytearray(record)
        for _ in range(int(self.random.integers(1, 3)) if data else 0):
            place = int(self.random.integers(len(data))) if data else 0
            match int(self.random.integers(4)):
                case 0:
                    del data[place:]
                case 1 if data:
                    data[place] ^= 1 << int(self.random.integers(8))
                case 2:
                    del data[place : place + int(self.random.integers(1, 4))]
                case _:
                    data[place:place] = self.random.bytes(int(self.random.integers(1, 4)))
        return bytes(data)

    def drawn(self, role: str, damage: float = 0.0) -> Drawn:
        """role: "batch" or "single" of Examples, "context" of SequenceExamples."""
        fields = self.fields(role)
        lists = self.fields("lists") if role == "context" else None
        count = 1 if role == "single" else int(self.random.integers(0, 6))
        records = [self.record(fields, lists) for _ in range(count)]
        return Drawn(fields, lists, [self.damaged(r) if self.random.random() < damage else r for r in records])
