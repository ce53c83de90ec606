"""TensorBoard's event files, written by hand: records of `Event` messages, with neither TensorFlow nor protobuf.

A record is framed as a TFRecord; a message is its fields, each a tag (number and wire type) and a value.
Source: tensorflow/core/util/event.proto, framework/summary.proto, framework/tensor.proto.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

from penstock.kernels.record import frame_record

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_DT_STRING = 7


def version_event(wall_time: float) -> bytes:
    """The record that a file begins with."""
    return _record(_wall_time(wall_time) + _text(3, "brain.Event:2"))


def scalars_event(wall_time: float, step: int, scalars: Mapping[str, float]) -> bytes:
    """Scalars of one step, by tag."""
    values = b"".join(_message(1, _text(1, tag) + _float(2, value)) for tag, value in scalars.items())
    return _record(_wall_time(wall_time) + _integer(2, step) + _message(5, values))


def text_event(wall_time: float, tag: str, text: str) -> bytes:
    """A text, shown by the plugin of that name (as Markdown)."""
    metadata = _message(9, _message(1, _text(1, "text")))
    shape = _message(2, _message(2, _integer(1, 1)))
    tensor = _message(8, _integer(1, _DT_STRING) + shape + _text(8, text))
    return _record(_wall_time(wall_time) + _message(5, _message(1, _text(1, tag) + tensor + metadata)))


def _record(message: bytes) -> bytes:
    header, footer = frame_record(message)
    return header + message + footer


def _wall_time(seconds: float) -> bytes:
    return _tag(1, _FIXED64) + struct.pack("<d", seconds)


def _float(number: int, value: float) -> bytes:
    return _tag(number, _FIXED32) + struct.pack("<f", value)


def _integer(number: int, value: int) -> bytes:
    return _tag(number, _VARINT) + _varint(value)


def _text(number: int, text: str) -> bytes:
    return _message(number, text.encode("utf-8", "replace"))


def _message(number: int, content: bytes) -> bytes:
    return _tag(number, _BYTES) + _varint(len(content)) + content


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _varint(value: int) -> bytes:
    digits = bytearray()
    while value > 0x7F:
        digits.append(value & 0x7F | 0x80)
        value >>= 7
    digits.append(value)
    return bytes(digits)
