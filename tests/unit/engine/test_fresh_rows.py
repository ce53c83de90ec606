"""What a program puts into memory of its own becomes the batch without a copy; what else lies over does not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps

ROWS, BATCH = 256, 64
FEATURES = {
    "a": ps.io.FixedLenFeature([], np.float32),
    "b": ps.io.FixedLenFeature([], np.float32),
    "c": ps.io.FixedLenFeature([2], np.int64),
}


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> str:
    path: Path = tmp_path_factory.mktemp("records") / "a.tfrecord"
    with ps.io.TFRecordWriter(str(path)) as writer:
        for row in range(ROWS):
            values = {"a": np.float32(row), "b": np.float32(-row), "c": np.array([row, 2 * row])}
            writer.write(ps.io.serialize_example(values))
    return str(path)


def _batches(path: str, function: Callable[[Any], Any], block_size: int) -> list[Any]:
    dataset = ps.TFRecordDataset(path).shuffle().map(function).batch(BATCH)  # shuffled, it is read by position
    return list(dataset.with_options(ps.Options(block_size=block_size)))


def _owner(array: np.ndarray[Any, Any]) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array.base


def test_features_of_one_kind_lie_in_one_piece_of_memory_apart_from_one_another(records: str) -> None:
    for batch in _batches(records, lambda record: ps.io.parse_single_example(record, FEATURES), ROWS):
        assert _owner(batch["a"]) is _owner(batch["b"])
        assert _owner(batch["a"]) is not _owner(batch["c"])
        assert not np.shares_memory(batch["a"], batch["b"])
        for leaf in batch.values():
            assert leaf.flags.writeable
            assert leaf.ctypes.data % 64 == 0


@pytest.mark.parametrize("block_size", [16, BATCH, ROWS])
def test_a_feature_that_is_there_twice_is_copied(records: str, block_size: int) -> None:
    def twice(record: bytes) -> tuple[Any, Any]:
        parsed = ps.io.parse_single_example(record, FEATURES)
        return parsed["a"], parsed["a"]

    def again(record: bytes) -> tuple[Any, Any]:
        parsed = ps.io.parse_single_example(record, FEATURES)
        return parsed["c"], parsed["c"].reshape(2, 1)

    for function in (twice, again):
        for first, second in _batches(records, function, block_size):
            assert not np.shares_memory(first, second)
            np.testing.assert_array_equal(first.ravel(), second.ravel())


def test_what_passes_through_another_map_is_right(records: str) -> None:
    dataset = ps.TFRecordDataset(records).shuffle()
    dataset = dataset.map(lambda record: ps.io.parse_single_example(record, FEATURES)).map(lambda row: row).batch(BATCH)
    for skipped in (frozenset[str](), frozenset({"fuse_maps", "join_maps"})):
        batches = list(dataset.with_options(ps.Options(skip_rules=skipped)))
        np.testing.assert_array_equal(np.sort([-batch["b"] for batch in batches], axis=None), np.arange(ROWS))


def test_batches_that_would_not_be_aligned_are_copied(records: str) -> None:
    dataset = ps.TFRecordDataset(records).shuffle()
    dataset = dataset.map(lambda record: ps.io.parse_single_example(record, FEATURES)).batch(10)
    batches = list(dataset.with_options(ps.Options(block_size=100)))
    assert all(batch["a"].ctypes.data % 64 == 0 for batch in batches)
    for batch in batches:
        np.testing.assert_array_equal(batch["c"], np.stack([batch["a"], -2 * batch["b"]], axis=1))
