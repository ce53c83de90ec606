"""Examples as values: shapes and dtypes of each kind of feature, what is asked of arguments, what errors say."""

from __future__ import annotations

import pickle
from collections import namedtuple
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import io
from penstock.errors import DecodeError, InvalidArgumentError

FEATURES = {
    "id": io.FixedLenFeature([], np.int64),
    "pair": io.FixedLenFeature([2], np.float32, [1.0, 2.0]),
    "name": io.FixedLenFeature([], bytes, "none"),
    "tags": io.VarLenFeature(bytes),
    "path": io.FixedLenSequenceFeature([2], np.int64, allow_missing=True, default_value=-1),
}


def record(number: int) -> bytes:
    value: dict[str, Any] = {"id": number, "tags": [b"t"] * (number % 3), "path": np.arange(number % 3 * 2)}
    return io.serialize_example(value | ({"pair": [number + 0.5, 0.0], "name": f"n{number}"} if number % 2 else {}))


RECORDS = [record(number) for number in range(5)]


def test_parse_example_gives_columns_of_a_batch():
    parsed = io.parse_example(RECORDS, FEATURES)
    assert list(parsed) == list(FEATURES)
    np.testing.assert_array_equal(parsed["id"], np.arange(5))
    np.testing.assert_array_equal(parsed["pair"], np.float32([[1, 2], [1.5, 0], [1, 2], [3.5, 0], [1, 2]]))
    assert parsed["pair"].dtype == np.float32
    assert parsed["name"].tolist() == [b"none", b"n1", b"none", b"n3", b"none"]
    assert parsed["tags"] == ps.Ragged(np.array([b"t"] * 4, object), np.array([0, 0, 1, 3, 3, 4]))
    assert parsed["path"].tolist() == [
        [[-1, -1]] * 2, [[0, 1], [-1, -1]], [[0, 1], [2, 3]], [[-1, -1]] * 2, [[0, 1], [-1, -1]],
    ]  # fmt: skip


def test_parse_single_example_gives_the_values_of_one_record():
    parsed = io.parse_single_example(RECORDS[1], FEATURES)
    assert isinstance(parsed["id"], np.int64)
    assert (parsed["id"], parsed["name"], parsed["tags"].tolist()) == (1, b"n1", [b"t"])
    np.testing.assert_array_equal(parsed["pair"], np.float32([1.5, 0]))
    assert parsed["path"].tolist() == [[0, 1]]


def test_parse_example_takes_arrays_nothing_and_lone_bytes():
    batch = np.array(RECORDS, dtype=object)
    assert io.parse_example(batch, FEATURES)["id"].tolist() == [0, 1, 2, 3, 4]
    nothing = io.parse_example([], FEATURES)
    assert [np.shape(nothing[name]) for name in ("id", "pair", "path")] == [(0,), (0, 2), (0, 0, 2)]
    assert len(nothing["tags"]) == 0
    assert io.parse_example(RECORDS[3], FEATURES)["id"] == 3


SEQUENCES = [
    io.serialize_sequence_example({"id": n}, {"x": [[1.0, 2.0]] * n, "w": [[b"a"] * k for k in range(n)]})
    for n in (2, 0, 1)
]
CONTEXT = {"id": io.FixedLenFeature([], np.int64)}
LISTS = {"x": io.FixedLenSequenceFeature([2], np.float32), "w": io.VarLenFeature(bytes)}


def test_parse_sequence_example_gives_padded_and_ragged_steps():
    context, lists, lengths = io.parse_sequence_example(SEQUENCES, CONTEXT, LISTS)
    assert context["id"].tolist() == [2, 0, 1]
    assert lists["x"].tolist() == [[[1, 2], [1, 2]], [[0, 0], [0, 0]], [[1, 2], [0, 0]]]
    assert lists["w"].to_list() == [[[], [b"a"]], [], [[]]]
    assert {name: length.tolist() for name, length in lengths.items()} == {"x": [2, 0, 1]}


def test_parse_single_sequence_example_gives_steps():
    context, lists = io.parse_single_sequence_example(SEQUENCES[0], CONTEXT, LISTS)
    assert context == {"id": 2}
    assert lists["x"].tolist() == [[1, 2], [1, 2]]
    assert lists["w"].to_list() == [[], [b"a"]]


def one(value: Any) -> bytes:
    return io.serialize_example({} if value is None else {"a": value})


@pytest.mark.parametrize(
    ("bad", "feature", "says"),
    [
        (one(1.5), io.FixedLenFeature([], np.int64), "values of float32, expected int64; say dtype np.float32"),
        (one([1, 2]), io.FixedLenFeature([3], np.int64), r"2 values, expected 3, for shape \(3,\)"),
        (one([1]), io.FixedLenSequenceFeature([2], np.int64, True), "1 values, expected a multiple of 2"),
        (one(None), io.FixedLenFeature([], np.int64), 'feature "a" is required; got none .* default_value'),
        (one([1])[:-1], io.VarLenFeature(np.int64), "longer than the record, at byte 1 of 13"),
        (b"record", io.VarLenFeature(np.int64), "not a tf.train.Example; .* at byte 0 of 6; was it"),
    ],
)
def test_parse_example_names_what_is_wrong(bad, feature, says):
    features = {"a": feature}
    with pytest.raises(DecodeError, match=f"parse_single_example: .*{says}"):
        io.parse_single_example(bad, features)
    good = io.serialize_example({"a": np.zeros(getattr(feature, "items", 1), int)})
    with pytest.raises(DecodeError, match=f"record 1: parse_example: .*{says}"):
        io.parse_example([good, bad], features)


def test_parse_sequence_example_names_list_and_step():
    lists = {"w": io.FixedLenSequenceFeature([1], bytes)}
    with pytest.raises(DecodeError, match=r'record 0: .*: feature "w", step 0; got 0 values, expected 1'):
        io.parse_sequence_example(SEQUENCES, None, lists)
    with pytest.raises(DecodeError, match=r'feature "y" is required; .*allow_missing=True'):
        io.parse_single_sequence_example(SEQUENCES[0], None, {"y": io.FixedLenSequenceFeature([], bytes)})


@pytest.mark.parametrize(
    "call",
    [
        lambda: io.FixedLenFeature([None], np.int64),
        lambda: io.FixedLenFeature([], np.int32),
        lambda: io.FixedLenFeature([], str),
        lambda: io.FixedLenFeature([2], np.int64, 1),
        lambda: io.FixedLenFeature([], np.int64, 1.5),
        lambda: io.FixedLenFeature([], bytes, 1),
        lambda: io.FixedLenSequenceFeature([0], np.int64),
        lambda: io.parse_example(RECORDS, {}),
        lambda: io.parse_example(RECORDS, {"a": np.int64}),
        lambda: io.parse_example(RECORDS, {"a": []}),
        lambda: io.parse_example([1], FEATURES),
        lambda: io.parse_example(RECORDS, {"a": io.FixedLenSequenceFeature([], np.int64)}),
        lambda: io.parse_single_example(RECORDS, FEATURES),
        lambda: io.parse_sequence_example(SEQUENCES, LISTS, None),
        lambda: io.serialize_example({"a": None}),
        lambda: io.serialize_example({"a": 2**64}),
        lambda: io.serialize_example({"a": object()}),
        lambda: io.serialize_example([1]),
        lambda: io.serialize_sequence_example({}, {"a": 1}),
    ],
)
def test_arguments_that_say_nothing_are_refused(call):
    with pytest.raises(InvalidArgumentError):
        call()


def test_features_are_equal_by_what_they_say():
    feature = io.FixedLenFeature([2], "int64", [1, 2])
    assert feature == io.FixedLenFeature((2,), np.int64, (1, 2)) != io.FixedLenFeature([2], np.int64)
    assert len({feature, pickle.loads(pickle.dumps(feature)), io.VarLenFeature(bytes)}) == 2
    with pytest.raises(ValueError, match="read-only"):
        feature.default_value[0] = 3


@pytest.mark.parametrize(
    ("value", "feature", "expected"),
    [
        (True, io.FixedLenFeature([], np.int64), 1),
        (np.uint8([1, 2]), io.VarLenFeature(np.int64), [1, 2]),
        (np.float16(0.5), io.FixedLenFeature([], np.float32), 0.5),
        ([[1.5, 2], [3, 4]], io.FixedLenFeature([2, 2], np.float32), [[1.5, 2], [3, 4]]),
        ("é", io.FixedLenFeature([], bytes), "é".encode()),
        ([b"a\0", "b"], io.VarLenFeature(bytes), [b"a\0", b"b"]),
        (np.array([], np.float32), io.VarLenFeature(np.float32), []),
        ([], io.VarLenFeature(bytes), []),
        (-1, io.FixedLenFeature([], np.int64), -1),
    ],
)
def test_serialize_example_takes(value, feature, expected):
    parsed = io.parse_single_example(io.serialize_example({"é": value}), {"é": feature})["é"]
    assert (parsed.tolist() if hasattr(parsed, "tolist") else parsed) == expected


# --- in pipelines --------------------------------------------------------------------------------------------------


def test_map_of_parse_single_example_is_one_call_a_block():
    dataset = ps.Dataset.from_source(RECORDS).map(lambda r: io.parse_single_example(r, FEATURES))
    assert "compiled, 6 on whole blocks" in str(dataset.explain())
    for number, element in enumerate(dataset):
        expected = io.parse_single_example(RECORDS[number], FEATURES)
        assert list(element) == list(expected)
        for name, value in expected.items():
            assert type(element[name]) is type(value)
            np.testing.assert_array_equal(element[name], value)


def test_features_may_be_made_in_the_function_and_parts_picked():
    def label(serialized):
        parsed = io.parse_single_example(serialized, {"id": io.FixedLenFeature([], np.int64), "tags": FEATURES["tags"]})
        return parsed["id"] * 2

    dataset = ps.Dataset.from_source(RECORDS).map(ps.function(label)).batch(5)
    assert next(iter(dataset)).tolist() == [0, 2, 4, 6, 8]


def test_map_of_parse_example_follows_batch():
    function = ps.function(lambda batch: io.parse_example(batch, FEATURES))
    batches = list(ps.Dataset.from_source(RECORDS).batch(2).map(function))
    assert [batch["id"].tolist() for batch in batches] == [[0, 1], [2, 3], [4]]
    assert [batch["tags"].to_list() for batch in batches] == [[[], [b"t"]], [[b"t", b"t"], []], [[b"t"]]]


def test_a_bad_record_is_located_or_left_out():
    records = [*RECORDS[:3], RECORDS[3][:-1], *RECORDS[4:]]
    dataset = ps.Dataset.from_source(records)
    with pytest.raises(ps.errors.UserFunctionError, match=r"element 3 of from_source .*at byte 1 of") as raised:
        list(dataset.map(lambda r: io.parse_single_example(r, FEATURES)))
    assert isinstance(raised.value.__cause__, DecodeError)
    left = dataset.map(lambda r: io.parse_single_example(r, FEATURES)["id"], on_error="skip")
    assert list(left) == [0, 1, 2, 4]


@pytest.mark.parametrize("way", ["in order", "by number", "shuffled", "in turns", "packed", "in processes"])
def test_a_bad_record_is_told_with_file_and_byte(tmp_path, way):
    names = [str(tmp_path / "one"), str(tmp_path / "two")]
    bad = io.serialize_example({"id": np.float32(1)})
    for name, records in zip(names, (RECORDS, [RECORDS[0], bad, *RECORDS]), strict=True):
        with io.TFRecordWriter(name, "GZIP" if way == "packed" else None) as writer:
            for record in records:
                writer.write(record)
    kind = "GZIP" if way == "packed" else None
    dataset = ps.TFRecordDataset(names, kind, num_parallel_reads=2 if way == "in turns" else None)
    dataset = {"by number": lambda: dataset[:], "shuffled": dataset.shuffle}.get(way, lambda: dataset)()
    executor = "processes" if way == "in processes" else "threads"
    features = {"id": io.FixedLenFeature([], np.int64)}
    parsed = dataset.map(lambda r: io.parse_single_example(r, features), executor=executor)
    with pytest.raises(ps.errors.UserFunctionError) as raised:
        list(parsed)
    text = str(raised.value)
    if way not in ("in turns", "packed", "in processes"):  # there it is known by its number alone
        assert f"({names[1]}, record at byte {len(RECORDS[0]) + 16})" in text
    for part in ("map at ", " of TFRecordDataset at ", "test_examples.py:", 'feature "id"', "say dtype np.float32"):
        assert part in text


def test_a_saved_pipeline_parses():
    records = ps.Dataset.from_tensor_slices(np.array(RECORDS, object))
    dataset = records.map(lambda r: io.parse_single_example(r, FEATURES)["pair"])
    loaded = ps.Dataset.from_bytes(dataset.to_bytes())
    np.testing.assert_array_equal(np.stack(list(loaded)), np.stack(list(dataset)))


# --- decode_raw ----------------------------------------------------------------------------------------------------


def test_decode_raw_reads_memory():
    assert io.decode_raw(b"\1\0\2\0", np.uint16).tolist() == [1, 2]
    assert io.decode_raw(b"\0\1", np.int16, little_endian=False).tolist() == [1]
    assert io.decode_raw(b"abc", np.uint8, fixed_length=5).tolist() == [97, 98, 99, 0, 0]
    assert io.decode_raw(b"abc", np.uint8, fixed_length=2).tolist() == [97, 98]
    assert io.decode_raw(np.array([b"ab", b"cd"], object), np.uint8).tolist() == [[97, 98], [99, 100]]
    assert io.decode_raw(b"", np.int32).shape == (0,)
    assert io.decode_raw(b"\x80\x3f", "bfloat16").astype(float).tolist() == [1.0]


def test_decode_raw_refuses_other_lengths():
    with pytest.raises(DecodeError, match="3 bytes, expected a multiple of 2, for int16"):
        io.decode_raw(b"abc", np.int16)
    with pytest.raises(DecodeError, match="length of element 1; got 3 bytes, expected 2, as the first"):
        io.decode_raw([b"ab", b"abc"], np.uint8)
    for arguments in ({"out_type": bytes}, {"out_type": np.int16, "fixed_length": 3}):
        with pytest.raises(InvalidArgumentError):
            io.decode_raw(b"ab", **arguments)


def test_features_of_tf_io_are_taken():
    theirs = {
        "id": namedtuple("FixedLenFeature", "shape dtype default_value")([], np.int64, None),  # as tf.io defines them
        "pair": namedtuple("FixedLenFeature", "shape dtype default_value")([2], np.float32, [1.0, 2.0]),
        "tags": namedtuple("VarLenFeature", "dtype")(bytes),
    }
    ours = io.parse_example(RECORDS, FEATURES)
    for name, column in io.parse_example(RECORDS, theirs).items():
        assert repr(column) == repr(ours[name])
