"""tf.train.Example and SequenceExample: parsed into values, and written. Names and meaning of tf.io; no protobuf."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.columns import Array
from penstock.errors import InvalidArgumentError
from penstock.ops.features import FixedLenSequenceFeature
from penstock.ops.parsing import (
    Features,
    of_batch,
    of_one,
    parsed,
    parsed_sequences,
    plan,
    steps_of_batch,
    steps_of_one,
)
from penstock.ops.program import op

Serialized = Sequence[bytes] | NDArray[np.object_]


@op
def parse_example(serialized: Serialized | bytes, features: Features) -> dict[str, Any]:
    """Parse a batch of serialized tf.train.Examples, as tf.io.parse_example.

    features: name -> FixedLenFeature, VarLenFeature or FixedLenSequenceFeature.
    Shapes: serialized [n] bytes. Of a FixedLenFeature [n, *shape]; of a FixedLenSequenceFeature [n, most items,
    *shape], padded; of a VarLenFeature a `penstock.Ragged` of n rows (a SparseTensor in TensorFlow). Lone bytes give
    what `parse_single_example` gives.
    Raises: DecodeError: a record that is no Example, that lacks a feature without a default, or holds another type or
    number of values; names record and feature.
    Cost: one native pass for the whole batch; releases the GIL (benchmarks/compare/examples.py).
    Source: TensorFlow's fast parser: of two features of one name the last counts, an empty one is none. Differs: a
    record that is cut short is an error always.
    """
    if isinstance(serialized, bytes | bytearray | memoryview):
        return _single("parse_example", serialized, features)
    records = as_records("parse_example", serialized)
    made = plan("parse_example", features, "batch")
    outs = made.outs(len(records), fresh)
    columns = parsed("parse_example", made, records, outs, is_lone=False)
    return {
        name: of_batch(feature, out, column, len(records))
        for name, feature, out, column in zip(made.names, made.features, outs, columns, strict=True)
    }


@op
def parse_single_example(serialized: bytes, features: Features) -> dict[str, Any]:
    """Parse one serialized tf.train.Example, as tf.io.parse_single_example.

    Shapes: of a FixedLenFeature its shape; of a FixedLenSequenceFeature [items, *shape]; of a VarLenFeature [values].
    Raises: DecodeError: as `parse_example`.
    Cost: about 20 us a call; in a function of `map` one native pass for a whole block of records.
    """
    return _single("parse_single_example", serialized, features)


def _single(op: str, serialized: Any, features: Features) -> dict[str, Any]:
    made = plan(op, features, "single")
    outs = made.outs(1, fresh)
    columns = parsed(op, made, [_record(op, serialized)], outs, is_lone=True)
    each = zip(made.names, made.features, outs, columns, strict=True)
    return {name: of_one(feature, out, column) for name, feature, out, column in each}


@op
def parse_sequence_example(
    serialized: Serialized, context_features: Features | None = None, sequence_features: Features | None = None
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Parse a batch of serialized tf.train.SequenceExamples, as tf.io.parse_sequence_example.

    Returns: the context, the feature lists, and how many steps each record has.

    context_features: name -> FixedLenFeature or VarLenFeature. sequence_features: name -> FixedLenSequenceFeature or
    VarLenFeature.
    Shapes: the context as `parse_example`. Of a list, FixedLenSequenceFeature [n, most steps, *shape], padded, with its
    steps of each record in lengths, [n]; VarLenFeature a `penstock.Ragged` [n, steps, values].
    Raises: DecodeError: as `parse_example`.
    """
    name = "parse_sequence_example"
    records = as_records(name, serialized)
    plans = plan(name, context_features, "context"), plan(name, sequence_features, "lists")
    outs = plans[0].outs(len(records), fresh)
    columns, lists = parsed_sequences(name, plans, records, outs, is_lone=False)
    context = {
        name: of_batch(feature, out, column, len(records))
        for name, feature, out, column in zip(plans[0].names, plans[0].features, outs, columns, strict=True)
    }
    each = list(zip(plans[1].names, plans[1].features, lists, strict=True))
    lengths = {name: column.lengths for name, feature, column in each if isinstance(feature, FixedLenSequenceFeature)}
    return context, {name: steps_of_batch(feature, column) for name, feature, column in each}, lengths


@op
def parse_single_sequence_example(
    serialized: bytes, context_features: Features | None = None, sequence_features: Features | None = None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one serialized tf.train.SequenceExample, as tf.io.parse_single_sequence_example: (context, lists).

    Shapes: the context as `parse_single_example`. Of a list, FixedLenSequenceFeature [steps, *shape]; VarLenFeature a
    `penstock.Ragged` [steps, values].
    Raises: DecodeError: as `parse_example`.
    """
    name = "parse_single_sequence_example"
    plans = plan(name, context_features, "context"), plan(name, sequence_features, "lists")
    outs = plans[0].outs(1, fresh)
    columns, lists = parsed_sequences(name, plans, [_record(name, serialized)], outs, is_lone=True)
    each = zip(plans[0].names, plans[0].features, outs, columns, strict=True)
    context = {name: of_one(feature, out, column) for name, feature, out, column in each}
    of_lists = zip(plans[1].names, plans[1].features, lists, strict=True)
    return context, {name: steps_of_one(feature, column) for name, feature, column in of_lists}


def fresh(numbers: Sequence[int], shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Array]:
    """Memory for the rows of some features that are alike: one piece for all."""
    return list(np.empty((len(numbers), *shape), dtype))


def _record(op: str, serialized: Any) -> bytes:
    """A lone record. Raises: InvalidArgumentError: something else."""
    if isinstance(serialized, np.ndarray) and serialized.ndim == 0:
        serialized = serialized.item()
    if isinstance(serialized, bytes | bytearray | memoryview):
        return bytes(serialized)
    raise InvalidArgumentError(
        f"{op}: not a record", got=f"{type(serialized).__name__} {np.shape(serialized)}", expected="bytes",
        remedy=f"{op.replace('single_', '')} takes a batch",
    )  # fmt: skip


def as_records(op: str, serialized: Any) -> list[bytes]:
    """The records of a batch. Raises: InvalidArgumentError: not [n] bytes."""
    records = serialized.tolist() if isinstance(serialized, np.ndarray) and serialized.ndim == 1 else serialized
    if isinstance(records, list | tuple) and all(isinstance(record, bytes) for record in records):
        return list(records)
    raise InvalidArgumentError(
        f"{op}: not a batch of records", got=f"{type(serialized).__name__} {np.shape(serialized)}",
        expected="[n] bytes", remedy="parse_single_example takes one record",
    )  # fmt: skip
