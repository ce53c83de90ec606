"""tf.train.Example and SequenceExample: records into columns, values into records. Slow twin: `reference_example`.

Valid, and what wins where a record says a thing twice, is what TensorFlow's own parsers of batches say; but a length
that reaches past the message around it is a fault, where TensorFlow may cut it short.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from penstock import _native
from penstock.block.packed import Packed

Kind = Literal["bytes", "float", "int"]
Form = Literal["fixed", "varying", "steps", "ragged_steps"]
Records = Sequence[bytes] | Packed


@dataclass(frozen=True, slots=True)
class Field:
    """A feature to parse.

    form: "fixed": `items` values in every record, or the default, flat; "varying": any multiple of `items`, where
    `flag` says that a feature without a list hides an earlier one of its name; "steps", "ragged_steps": of the
    feature lists, `items` values or any number in every step, where `flag` says that a record without it is at fault.
    """

    name: bytes
    kind: Kind
    form: Form
    items: int = 1
    flag: bool = False
    default: tuple[Any, ...] | None = None

    @property
    def has_rows(self) -> bool:
        """Whether its values have a place before they are known."""
        return self.form == "fixed" and self.kind != "bytes"


@dataclass(frozen=True, slots=True)
class Column:
    """One field of all records: its values, flat; how many each record has, or how many steps; how many each step has.

    values: an array of float32 or int64, or a list of bytes.
    """

    values: Any
    lengths: NDArray[np.int64]
    steps: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with the first record that is not as asked for.

    field: its number, of the context or (`in_lists`) of the feature lists; None where no field is at fault.
    problem: "broken" (detail says how, at byte `at` of the record), "missing", "kind" (detail: the one it has), "count"
    (detail: how many values it has), "memory".
    """

    record: int
    in_lists: bool
    field: int | None
    step: int | None
    problem: str
    detail: str
    at: int


class Schema:
    """Fields of distinct names, compiled once. Safe to use from several threads."""

    __slots__ = ("fields", "native")

    def __init__(self, fields: Sequence[Field]) -> None:
        self.fields = tuple(fields)
        self.native = _native.ExampleSchema(
            [(field.name, field.kind, field.form, field.items, field.flag, _listed(field)) for field in self.fields]
        )


def _listed(field: Field) -> list[Any] | None:
    return None if field.default is None else list(field.default)


def parse_examples(
    schema: Schema, records: Records, outs: Sequence[NDArray[Any] | None]
) -> list[Column | None] | Fault:
    """The fields of all records, in the order of the schema; None where they were written to `outs`.

    Shapes: outs[i] [records, ...], C-contiguous and writable, float32 or int64, for a field with `has_rows`; else None.
    Cost: one pass over the records, 0.5 us for 39 numbers (benchmarks/compare/examples.py); releases the GIL.
    """
    columns, fault = _native.parse_examples(schema.native, _given(records), list(map(_flat, outs)))
    return _columns(columns) if fault is None else Fault(*fault)


def parse_sequence_examples(
    context: Schema, lists: Schema, records: Records, outs: Sequence[NDArray[Any] | None]
) -> list[Column | None] | Fault:
    """Likewise of SequenceExamples: the fields of the context, to which `outs` belong, then those of feature lists."""
    columns, fault = _native.parse_sequence_examples(
        context.native, lists.native, _given(records), list(map(_flat, outs))
    )
    return _columns(columns) if fault is None else Fault(*fault)


def _given(records: Records) -> Any:
    return records if isinstance(records, Packed) else list(records)


def _flat(out: NDArray[Any] | None) -> NDArray[Any] | None:
    if out is None or out.size:
        return None if out is None else out.reshape(-1)
    return np.empty(0, out.dtype)  # empty parts of one piece of memory begin at one place, so they look lent twice


def _columns(columns: list[Any]) -> list[Column | None]:
    return [None if column is None else Column(*column) for column in columns]


Values = NDArray[np.float32] | NDArray[np.int64] | Sequence[bytes] | None
"""Of one feature: numbers, C-contiguous and flat; texts; or None for a feature without a list."""


def serialize_example(features: Sequence[tuple[bytes, Values]]) -> bytes:
    """An Example of these features, in this order. Cost: one pass."""
    return _native.serialize_example(list(features))


def serialize_sequence_example(
    context: Sequence[tuple[bytes, Values]], lists: Sequence[tuple[bytes, Sequence[Values]]]
) -> bytes:
    """A SequenceExample of these features and lists of features, in this order."""
    return _native.serialize_example(list(context), [(name, list(steps)) for name, steps in lists])
