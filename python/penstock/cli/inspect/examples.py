"""What is in a `tf.train.Example` of which nobody said the features: names and values, for looking at a few of them.

A reader of protobuf's wire format as far as an Example needs it; `penstock.io.parse_example` is for reading many.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class NotAnExampleError(ValueError):
    """The bytes are something else."""


def features_of(record: bytes) -> dict[str, Any]:
    """{name: an array of numbers, or of bytes; one value alone is itself}. Raises: NotAnExampleError."""
    found: dict[str, Any] = {}
    for number, features in _fields(record):
        if number != 1 or not isinstance(features, bytes):
            raise NotAnExampleError("another field")
        for tag, entry in _fields(features):
            if tag != 1 or not isinstance(entry, bytes):
                raise NotAnExampleError("no map")
            parts = dict(_fields(entry))
            name, value = parts.get(1, b""), parts.get(2, b"")
            if not isinstance(name, bytes) or not isinstance(value, bytes):
                raise NotAnExampleError("no name")
            found[name.decode("utf-8", "replace")] = _values(value)
    if not found:
        raise NotAnExampleError("no features")
    return dict(sorted(found.items()))


def _values(feature: bytes) -> Any:
    for kind, content in _fields(feature):
        if not isinstance(content, bytes) or kind not in (1, 2, 3):
            raise NotAnExampleError("no list")
        values: list[Any] = []
        for _, value in _fields(content):
            values += [value] if kind == 1 or not isinstance(value, bytes) else _packed(kind, value)
        if kind == 1:
            return values[0] if len(values) == 1 else np.array([*values, None], dtype=object)[:-1]
        array = np.array(values, dtype=np.float32 if kind == 2 else np.int64)
        return array[0] if len(array) == 1 else array
    return np.zeros(0, dtype=np.float32)


def _packed(kind: int, content: bytes) -> list[Any]:
    if kind == 2:
        if len(content) % 4:
            raise NotAnExampleError("floats")
        return np.frombuffer(content, "<f4").tolist()  # type: ignore[no-any-return]  # a list of floats
    values, at = [], 0
    while at < len(content):
        value, at = _varint(content, at)
        values.append(value - 2**64 if value >= 2**63 else value)
    return values


def _fields(content: bytes) -> Iterator[tuple[int, Any]]:
    """(number, value) of each field of a message: bytes, a float, or an integer."""
    at = 0
    while at < len(content):
        tag, at = _varint(content, at)
        kind = tag & 7
        if kind == _VARINT:
            value, at = _varint(content, at)
            yield tag >> 3, value - 2**64 if value >= 2**63 else value
        elif kind in (_FIXED32, _FIXED64):
            size = 4 if kind == _FIXED32 else 8
            if at + size > len(content):
                raise NotAnExampleError("cut short")
            yield tag >> 3, struct.unpack("<f" if size == 4 else "<d", content[at : at + size])[0]
            at += size
        elif kind == _BYTES:
            length, at = _varint(content, at)
            if at + length > len(content):
                raise NotAnExampleError("cut short")
            yield tag >> 3, content[at : at + length]
            at += length
        else:
            raise NotAnExampleError("another wire type")


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64 and at < len(content):
        byte = content[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value & (2**64 - 1), at
        shift += 7
    raise NotAnExampleError("a number without end")
