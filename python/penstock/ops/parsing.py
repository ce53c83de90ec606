"""From features to what the kernel parses, and from its columns to values: of a batch, of one record, of rows.

A plan is made once for the same features; what it raises names record, feature, what was found and what to do.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from penstock.block.columns import Array, object_array
from penstock.block.packed import Packed
from penstock.block.ragged import Ragged, splits_of
from penstock.errors import DecodeError, InvalidArgumentError
from penstock.kernels.example import (
    Column,
    Fault,
    Field,
    Kind,
    Records,
    Schema,
    parse_examples,
    parse_sequence_examples,
)
from penstock.ops.features import Feature, FixedLenFeature, FixedLenSequenceFeature, VarLenFeature, as_feature

Features = Mapping[str, Feature]
Place = Callable[[Sequence[int], tuple[int, ...], np.dtype[Any]], list[Array]]
"""Numbers of features, shape [records, ...] and dtype of each -> memory for the rows of each."""

Role = Literal["batch", "single", "context", "lists"]
"""Features of Examples in a batch, or of one alone; of the context, or the feature lists, of SequenceExamples."""

_KNOWN: dict[Role, tuple[type[Feature], ...]] = {
    "batch": (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature),
    "single": (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature),
    "context": (FixedLenFeature, VarLenFeature),
    "lists": (VarLenFeature, FixedLenSequenceFeature),
}
_DTYPE_NAMES: dict[Kind, str] = {"float": "np.float32", "int": "np.int64", "bytes": "bytes"}


@dataclass(frozen=True, slots=True)
class Plan:
    """Features under their names, and the compiled fields of the kernel.

    alike: the numbers of features whose rows have a place from the start, those of one shape and dtype together.
    """

    names: tuple[str, ...]
    features: tuple[Feature, ...]
    schema: Schema
    alike: tuple[tuple[int, ...], ...]

    def outs(self, count: int, place: Place) -> list[Array | None]:
        """Memory for the features whose rows have a place from the start; asked for once for those that are alike."""
        outs: list[Array | None] = [None] * len(self.features)
        for numbers in self.alike:
            first = self.features[numbers[0]]
            assert isinstance(first, FixedLenFeature)
            for number, rows in zip(numbers, place(numbers, (count, *first.shape), first.dtype), strict=True):
                outs[number] = rows
        return outs


def plan(op: str, features: Mapping[str, Any] | None, role: Role) -> Plan:
    """The plan of these features. Raises: InvalidArgumentError: none, or of a kind that cannot stand there."""
    items = tuple((name, as_feature(feature)) for name, feature in (features or {}).items())
    try:
        return _plan(op, items, role)
    except TypeError:  # what is not hashable is no feature
        raise _unknown(op, next(pair for pair in items if not isinstance(pair[1], Feature)), role) from None


@lru_cache(256)
def _plan(op: str, items: tuple[tuple[str, Feature], ...], role: Role) -> Plan:
    if not items and role in ("batch", "single"):
        raise InvalidArgumentError(f"{op}: features", got="none", expected="a dict of names and features")
    for name, feature in items:
        if not isinstance(feature, _KNOWN[role]) or not isinstance(name, str):
            raise _unknown(op, (name, feature), role)
        if role != "lists" and isinstance(feature, FixedLenSequenceFeature) and not feature.allow_missing:
            raise InvalidArgumentError(
                f'{op}: feature "{name}"', got=repr(feature), expected="allow_missing=True, as an Example has no steps"
            )
    fields = [_field(name, feature, role) for name, feature in items]
    features = tuple(feature for _, feature in items)
    return Plan(tuple(name for name, _ in items), features, Schema(fields), _alike(features))


def _alike(features: Sequence[Feature]) -> tuple[tuple[int, ...], ...]:
    groups: dict[tuple[Any, ...], list[int]] = {}
    for number, feature in enumerate(features):
        if isinstance(feature, FixedLenFeature) and feature.kind != "bytes":
            groups.setdefault((feature.shape, feature.dtype), []).append(number)
    return tuple(map(tuple, groups.values()))


def _unknown(op: str, item: tuple[Any, Any], role: Role) -> InvalidArgumentError:
    expected = " or ".join(kind.__name__ for kind in _KNOWN[role])
    return InvalidArgumentError(f'{op}: feature "{item[0]}"', got=f"{item[1]!r:.80}", expected=expected)


def _field(name: str, feature: Feature, role: Role) -> Field:
    key, kind = name.encode(), feature.kind
    if isinstance(feature, FixedLenFeature):
        default = feature.default_value
        given = None if default is None or not default.size else tuple(default.ravel().tolist())
        return Field(key, kind, "fixed", feature.items, default=given)
    if isinstance(feature, FixedLenSequenceFeature):
        if role == "lists":
            return Field(key, kind, "steps", feature.items, flag=not feature.allow_missing)
        return Field(key, kind, "varying", feature.items)
    if role == "lists":
        return Field(key, kind, "ragged_steps")
    return Field(key, kind, "varying", flag=role == "batch")


def parsed(op: str, plan: Plan, records: Records, outs: Sequence[Array | None], *, is_lone: bool) -> list[Any]:
    """What the kernel makes of Examples: a column of each feature, None where it is in `outs`. Raises: DecodeError."""
    columns = parse_examples(plan.schema, records, outs)
    if isinstance(columns, Fault):
        raise _error(op, columns, plan, records, is_lone=is_lone)
    return columns


def parsed_sequences(
    op: str, plans: tuple[Plan, Plan], records: Records, outs: Sequence[Array | None], *, is_lone: bool
) -> tuple[list[Any], list[Any]]:
    """Likewise of SequenceExamples: the columns of the context, and of the feature lists."""
    columns = parse_sequence_examples(plans[0].schema, plans[1].schema, records, outs)
    if isinstance(columns, Fault):
        raise _error(op, columns, plans[columns.in_lists], records, is_lone=is_lone)
    return columns[: len(plans[0].names)], columns[len(plans[0].names) :]


def _error(op: str, fault: Fault, plan: Plan, records: Records, *, is_lone: bool) -> DecodeError:
    where = None if is_lone else f"record {fault.record}"
    if fault.field is None:
        return _broken(f"{op}: not a {_message(op)}", fault, records, where)
    name, feature = plan.names[fault.field], plan.features[fault.field]
    what = f'{op}: feature "{name}"' + (f", step {fault.step}" if fault.step is not None else "")
    if fault.problem == "broken":
        return _broken(what, fault, records, where)
    if fault.problem == "missing":
        remedy = "allow_missing=True" if fault.in_lists else "give it a default_value, or parse it as a VarLenFeature"
        return DecodeError(f"{what} is required", got="none in the record", where=where, remedy=remedy)
    if fault.problem == "kind":
        names = {"float": "float32", "int": "int64", "bytes": "bytes"}
        return DecodeError(
            what, got=f"values of {names[fault.detail]}", expected=names[feature.kind], where=where,
            remedy=f"say dtype {_DTYPE_NAMES[fault.detail]}",  # type: ignore[index]  # a kind
        )  # fmt: skip
    if fault.problem == "count":
        field = plan.schema.fields[fault.field]
        expected = f"{'a multiple of ' if field.form == 'varying' else ''}{field.items}"
        return DecodeError(
            what, got=f"{fault.detail} values", expected=f"{expected}, for shape {getattr(feature, 'shape', ())}",
            where=where, remedy="what varies in length is a VarLenFeature or a FixedLenSequenceFeature",
        )  # fmt: skip
    return DecodeError(what, got="more values than memory holds", where=where)


def _message(op: str) -> str:
    return "tf.train.SequenceExample" if "sequence" in op else "tf.train.Example"


def _broken(what: str, fault: Fault, records: Records, where: str | None) -> DecodeError:
    if isinstance(records, Packed):
        size = int(records.stops[fault.record] - records.starts[fault.record])
    else:
        size = len(records[fault.record])
    return DecodeError(
        what, got=f"{fault.detail}, at byte {fault.at} of {size}", where=where,
        remedy="was it cut short, or is it another kind of record?",
    )  # fmt: skip


# --- values --------------------------------------------------------------------------------------------------------


def flat_of(column: Column) -> Array:
    """The values of a column, texts as objects."""
    values: Array = object_array(column.values) if isinstance(column.values, list) else column.values
    return values


def of_batch(feature: Feature, out: Array | None, column: Column | None, count: int) -> Any:
    """The value of a feature of a whole batch."""
    if column is None:
        return out
    flat = flat_of(column)
    if isinstance(feature, FixedLenFeature):
        return flat.reshape(count, *feature.shape)
    if isinstance(feature, FixedLenSequenceFeature):
        items = flat.reshape(-1, *feature.shape)
        return Ragged(items, splits_of(column.lengths // feature.items)).to_padded(feature.padding)
    return Ragged(flat, splits_of(column.lengths))


def of_one(feature: Feature, out: Array | None, column: Column | None) -> Any:
    """The value of a feature of a lone record."""
    if column is None:
        assert out is not None
        return out[0]
    flat = flat_of(column)
    if isinstance(feature, FixedLenFeature):
        return flat[0] if not feature.shape else flat.reshape(feature.shape)
    return flat.reshape(-1, *feature.shape) if isinstance(feature, FixedLenSequenceFeature) else flat


def steps_of_batch(feature: Feature, column: Column) -> Any:
    """The value of a feature list of a whole batch."""
    flat = flat_of(column)
    if isinstance(feature, FixedLenSequenceFeature):
        return Ragged(flat.reshape(-1, *feature.shape), splits_of(column.lengths)).to_padded(feature.padding)
    return Ragged(Ragged(flat, splits_of(column.steps)), splits_of(column.lengths))


def steps_of_one(feature: Feature, column: Column) -> Any:
    """The value of a feature list of a lone record."""
    flat = flat_of(column)
    if isinstance(feature, FixedLenSequenceFeature):
        return flat.reshape(-1, *feature.shape)
    return Ragged(flat, splits_of(column.steps))
