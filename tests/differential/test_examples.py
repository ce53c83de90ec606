"""Examples against TensorFlow's: what its parsers make of drawn protos, odd ones too, ours make."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import DecodeError
from penstock.kernels.example import Field
from tests.unit.kernels.examples import Drawn, Maker

pytestmark = [pytest.mark.framework, pytest.mark.slow]

OURS = {"float": np.float32, "int": np.int64, "bytes": bytes}


def ours_of(field: Field, role: str) -> Any:
    dtype = OURS[field.kind]
    if field.form == "fixed":
        shape = (field.items,) if field.items > 1 else ()
        default = field.default if field.items > 1 or field.default is None else field.default[0]
        return ps.io.FixedLenFeature(shape, dtype, default)
    if field.form == "steps":
        return ps.io.FixedLenSequenceFeature((field.items,), dtype, allow_missing=not field.flag)
    is_sequence = field.form == "varying" and not field.flag and (role == "batch" or field.items > 1)
    if is_sequence and role != "context":
        return ps.io.FixedLenSequenceFeature(
            (field.items,), dtype, allow_missing=True, default_value=PADDING[field.kind]
        )
    return ps.io.VarLenFeature(dtype)


PADDING = {"float": 2.5, "int": -3, "bytes": "pad"}


def theirs_of(tf: ModuleType, feature: Any, in_lists: bool = False) -> Any:
    dtype = {"float": tf.float32, "int": tf.int64, "bytes": tf.string}[feature.kind]
    if isinstance(feature, ps.io.FixedLenFeature):
        default = feature.default_value
        return tf.io.FixedLenFeature(feature.shape, dtype, None if default is None else default.tolist())
    if isinstance(feature, ps.io.FixedLenSequenceFeature):
        default = None if feature.default_value is None else feature.default_value.item()
        return tf.io.FixedLenSequenceFeature(feature.shape, dtype, feature.allow_missing, default)
    return tf.io.RaggedFeature(dtype) if in_lists else tf.io.VarLenFeature(dtype)


def names(fields: list[Field], role: str) -> dict[str, Any]:
    return {field.name.decode(): ours_of(field, role) for field in fields}


def same(tf: ModuleType, ours: Any, theirs: Any, name: str) -> None:
    """One value of each: arrays, or what is ragged of us and sparse or ragged of them."""
    if isinstance(theirs, tf.SparseTensor):
        rows = len(ours) if theirs.shape.rank > 1 else 1
        lengths = np.bincount(
            theirs.indices.numpy()[:, 0] if theirs.shape.rank > 1 else np.zeros(len(theirs.values), int), minlength=rows
        )
        flat = ours.values if isinstance(ours, ps.Ragged) else ours
        equal(flat, theirs.values, name)
        assert (ours.row_lengths() if isinstance(ours, ps.Ragged) else [len(ours)]) == pytest.approx(lengths), name
    elif isinstance(theirs, tf.RaggedTensor):
        equal(ours.flat_values, theirs.flat_values, name)
        for split, other in zip(ours.nested_row_splits, theirs.nested_row_splits, strict=True):
            equal(split, tf.cast(other, tf.int64), name)
    else:
        equal(ours, theirs, name)


def equal(ours: Any, theirs: Any, name: str) -> None:
    theirs = theirs.numpy()
    ours = np.asarray(ours, dtype=object if isinstance(ours, bytes) else None)
    assert ours.shape == np.shape(theirs), name
    if ours.dtype == object:
        assert ours.ravel().tolist() == np.asarray(theirs, dtype=object).ravel().tolist(), name
    else:
        assert ours.dtype == theirs.dtype, name
        assert ours.tobytes() == theirs.tobytes(), name


def compare(tf: ModuleType, drawn: Drawn, role: str, lenient: bool) -> bool:
    """Whether both parsed it, to the same. Lenient: where TensorFlow may pass over what a length cuts short."""
    ours, theirs = parses(tf, drawn, role)
    try:
        expected = theirs()
    except (tf.errors.OpError, UnicodeDecodeError):  # the latter from a message with the record in it
        with pytest.raises(DecodeError):
            ours()
        return False
    try:
        got = ours()
    except DecodeError as error:
        if (lenient and "at byte" in str(error)) or "more than one list" in str(error):
            return False
        raise
    for of_ours, of_theirs in zip(got, expected, strict=True):
        assert set(of_ours) == set(of_theirs)
        for name, value in of_ours.items():
            same(tf, value, of_theirs[name], name)
    return True


def parses(tf: ModuleType, drawn: Drawn, role: str) -> Any:
    features = names(drawn.fields, role)
    records = drawn.records
    twins = {name: theirs_of(tf, feature) for name, feature in features.items()}
    batch = tf.constant(records, dtype=tf.string, shape=[len(records)])
    if role == "context":
        lists = names(drawn.lists or [], role)
        list_twins = {name: theirs_of(tf, feature, in_lists=True) for name, feature in lists.items()}

        def of_theirs() -> Any:
            context, steps, lengths = tf.io.parse_sequence_example(batch, twins, list_twins)
            return (
                context,
                steps,
                {
                    name: lengths[name]
                    for name in lengths
                    if name in steps and isinstance(lists[name], ps.io.FixedLenSequenceFeature)
                },
            )

        return lambda: ps.io.parse_sequence_example(records, features, lists), of_theirs
    if role == "single":
        return (
            lambda: [ps.io.parse_single_example(records[0], features)],
            lambda: [tf.io.parse_single_example(records[0], twins)],
        )
    return lambda: [ps.io.parse_example(records, features)], lambda: [tf.io.parse_example(batch, twins)]


@settings(max_examples=200)
@given(st.integers(0, 2**32), st.sampled_from(["batch", "single", "context"]), st.sampled_from([0.0, 0.02, 0.05]))
def test_parsed_as_tensorflow_parses(tf: ModuleType, seed: int, role: str, oddity: float) -> None:
    drawn = Maker(np.random.default_rng(seed), oddity).drawn(role)
    if role == "context" and not (drawn.fields and drawn.lists and drawn.records):
        return  # TensorFlow asks for some of each
    compare(tf, drawn, role, lenient=False)


@settings(max_examples=100)
@given(st.integers(0, 2**32), st.sampled_from(["batch", "single", "context"]))
def test_damaged_records_are_refused_or_parsed_as_tensorflow_parses(tf: ModuleType, seed: int, role: str) -> None:
    drawn = Maker(np.random.default_rng(seed), 0.02).drawn(role, damage=0.5)
    if role == "context" and not (drawn.fields and drawn.lists and drawn.records):
        return
    compare(tf, drawn, role, lenient=True)


def rows() -> list[dict[str, Any]]:
    generator = np.random.default_rng(5)
    return [
        {
            "id": int(generator.integers(-(2**40), 2**40)),
            "pair": generator.standard_normal(2).astype(np.float32),
            "tags": [b"tag%d" % tag for tag in range(row % 4)],
        }
        for row in range(40)
    ]


FEATURES = {
    "id": ps.io.FixedLenFeature([], np.int64),
    "pair": ps.io.FixedLenFeature([2], np.float32),
    "tags": ps.io.VarLenFeature(bytes),
}


def proto(tf: ModuleType, row: dict[str, Any]) -> bytes:
    """As TensorFlow writes it."""
    lists = {
        "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[row["id"]])),
        "pair": tf.train.Feature(float_list=tf.train.FloatList(value=row["pair"])),
        "tags": tf.train.Feature(bytes_list=tf.train.BytesList(value=row["tags"])),
    }
    return bytes(tf.train.Example(features=tf.train.Features(feature=lists)).SerializeToString())


@pytest.mark.parametrize("kind", ["", "GZIP"])
def test_files_of_either_are_read_alike_by_both(tf: ModuleType, tmp_path: Path, kind: str) -> None:
    theirs, ours = str(tmp_path / "theirs"), str(tmp_path / "ours")
    with tf.io.TFRecordWriter(theirs, tf.io.TFRecordOptions(compression_type=kind)) as writer:
        for row in rows():
            writer.write(proto(tf, row))
    with ps.io.TFRecordWriter(ours, kind) as mine:
        for row in rows():
            mine.write(ps.io.serialize_example(row))
    twins = {name: theirs_of(tf, feature) for name, feature in FEATURES.items()}
    read = []
    for path in (theirs, ours):
        by_us = ps.TFRecordDataset(path, kind).map(lambda r: ps.io.parse_single_example(r, FEATURES))
        by_them = tf.data.TFRecordDataset(path, kind).map(lambda r: tf.io.parse_single_example(r, twins))
        pairs = list(zip(by_us, by_them, strict=True))
        for mine_of, theirs_of_it in pairs:
            for name, value in mine_of.items():
                same(tf, value, theirs_of_it[name], name)
        read.append([{name: np.asarray(value).tolist() for name, value in row.items()} for row, _ in pairs])
    expected = [{name: np.asarray(value).tolist() for name, value in row.items()} for row in rows()]
    assert read == [expected, expected]
