"""Examples natively: what the slow twin gives, or a fault where it has one; and what is written is read."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.block.packed import Packed
from penstock.kernels import example, reference_example
from penstock.kernels.example import Fault, Field, Schema
from tests.unit.kernels.examples import Drawn, Maker

DTYPES = {"float": np.float32, "int": np.int64}


def outs(drawn: Drawn) -> list[Any]:
    return [np.full((len(drawn.records), f.items), 99, DTYPES[f.kind]) if f.has_rows else None for f in drawn.fields]


def native(drawn: Drawn, records: Any, rows: list[Any]) -> Any:
    context = Schema(drawn.fields)
    if drawn.lists is None:
        return example.parse_examples(context, records, rows)
    return example.parse_sequence_examples(context, Schema(drawn.lists), records, rows)


def check(drawn: Drawn, packed: bool = False) -> bool:
    """Native equals reference, or both find the same fault; whether there was none."""
    records: Any = drawn.records
    if packed:
        bounds = np.cumsum([3, *map(len, records)])
        records = Packed(np.frombuffer(b"---" + b"".join(records) + b"--", np.uint8), bounds[:-1], bounds[1:])
    ours, theirs = outs(drawn), outs(drawn)
    got = native(drawn, records, ours)
    expected = reference_example.parse(drawn.fields, drawn.lists, drawn.records, theirs)
    if isinstance(expected, Fault) or isinstance(got, Fault):
        assert isinstance(expected, Fault), got
        assert isinstance(got, Fault), expected
        same = ("record", "in_lists", "field", "problem") + (() if got.problem == "broken" else ("step", "detail"))
        if got.field is None:
            same = ("record", "field", "problem")
        assert [getattr(got, name) for name in same] == [getattr(expected, name) for name in same]
        assert 0 <= got.at <= len(drawn.records[got.record])
        return False
    for out, twin in zip(ours, theirs, strict=True):
        assert (out is None and twin is None) or out.tobytes() == twin.tobytes()
    for column, other in zip(got, expected, strict=True):
        assert (column is None) == (other is None)
        if column is not None:
            np.testing.assert_array_equal(column.lengths, other.lengths)
            np.testing.assert_array_equal(column.steps, other.steps)
            if isinstance(column.values, list):
                assert column.values == other.values
            else:
                assert column.values.dtype == other.values.dtype
                assert column.values.tobytes() == other.values.tobytes()
    return True


@settings(max_examples=150)
@given(st.integers(0, 2**32), st.sampled_from(["batch", "single", "context"]), st.sampled_from([0.0, 0.02, 0.1]))
def test_native_gives_what_the_reference_gives(seed: int, role: str, oddity: float) -> None:
    random = np.random.default_rng(seed)
    check(Maker(random, oddity).drawn(role, damage=0.3 if oddity > 0.05 else 0.0), packed=bool(seed % 2))


@given(st.integers(0, 2**32), st.sampled_from(["batch", "context"]))
def test_what_is_plain_has_no_fault_but_missing_or_empty_features(seed: int, role: str) -> None:
    drawn = Maker(np.random.default_rng(seed), 0.0).drawn(role)
    got = native(drawn, drawn.records, outs(drawn))
    assert not isinstance(got, Fault) or got.problem in ("missing", "count")


FEATURES = st.dictionaries(
    st.sampled_from([b"a", b"bb", b"", "é".encode(), b"long" * 40]),
    st.one_of(
        st.none(),
        st.lists(st.floats(width=32), max_size=40).map(lambda values: np.array(values, np.float32)),
        st.lists(st.integers(-(2**63), 2**63 - 1), max_size=40).map(lambda values: np.array(values, np.int64)),
        st.lists(st.binary(max_size=200), max_size=5),
    ),
)


@given(FEATURES)
def test_serialize_example_gives_what_the_reference_gives(features: dict[bytes, Any]) -> None:
    entries = list(features.items())
    record = example.serialize_example(entries)
    assert record == reference_example.serialize(entries)
    kinds = {name: kind_of(values) for name, values in entries}
    schema = Schema([Field(name, kind, "varying") for name, kind in kinds.items()])
    columns = example.parse_examples(schema, [record], [None] * len(entries))
    assert not isinstance(columns, Fault)
    for column, (_, values) in zip(columns, entries, strict=True):
        assert column is not None
        if isinstance(column.values, list):
            assert column.values == (values or [])
        else:
            assert column.values.tobytes() == values.tobytes()


def kind_of(values: Any) -> Any:
    if values is None or not isinstance(values, np.ndarray):
        return "bytes"
    return "float" if values.dtype == np.float32 else "int"


@given(
    FEATURES,
    st.dictionaries(
        st.sampled_from([b"x", b"y"]), st.lists(FEATURES.map(lambda f: next(iter(f.values()), None)), max_size=3)
    ),
)
def test_serialize_sequence_example_gives_what_the_reference_gives(
    context: dict[bytes, Any], lists: dict[bytes, list[Any]]
) -> None:
    entries = list(context.items()), list(lists.items())
    assert example.serialize_sequence_example(*entries) == reference_example.serialize(*entries)


@pytest.mark.parametrize(
    "call",
    [
        lambda schema: example.parse_examples(schema, [b""], []),
        lambda schema: example.parse_examples(schema, [b""], [None]),
        lambda schema: example.parse_examples(schema, [b""], [np.empty(2, np.int64)]),
        lambda schema: example.parse_examples(schema, [b""], [np.empty(1, np.int32)]),
        lambda schema: example.parse_examples(schema, [b""], [np.broadcast_to(np.int64(1), 1)]),
        lambda schema: example.parse_examples(schema, [1], [np.empty(1, np.int64)]),
        lambda schema: example.parse_examples(
            schema, Packed(np.zeros(3, np.uint8), np.array([0]), np.array([4])), [np.empty(1, np.int64)]
        ),
        lambda schema: example.parse_examples(
            schema, Packed(np.zeros(3, np.uint8), np.array([2]), np.array([1])), [np.empty(1, np.int64)]
        ),
        lambda schema: Schema([Field(b"a", "int", "fixed", 2, default=(1,))]),
        lambda schema: Schema([Field(b"a", "int", "fixed"), Field(b"a", "int", "varying")]),
        lambda schema: example.parse_sequence_examples(schema, schema, [b""], [None]),
    ],
)
def test_what_does_not_fit_together_is_refused(call: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        call(Schema([Field(b"a", "int", "fixed")]))


def test_many_unknown_keys_are_passed_over() -> None:
    features = [(b"%d" % number, np.array([number])) for number in range(3000)]
    record = example.serialize_example(features)
    out = np.empty(2, np.int64)
    assert example.parse_examples(Schema([Field(b"2999", "int", "fixed")]), [record, record], [out]) == [None]
    assert out.tolist() == [2999, 2999]


def test_no_records_give_empty_columns_of_one_piece_of_memory() -> None:
    schema = Schema([Field(name, "float", "fixed", 2) for name in (b"a", b"b")])
    whole = np.empty((2, 0, 2), np.float32)
    assert example.parse_examples(schema, [], list(whole)) == [None, None]
