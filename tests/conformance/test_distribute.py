"""All ranks together receive what one would; a state taken at one world size resumes at another."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import (
    AutoShardPolicy,
    Dataset,
    DistributeOptions,
    FixedLengthRecordDataset,
    Options,
    Spec,
    TextLineDataset,
)
from penstock.errors import InvalidArgumentError, StateMismatchError
from penstock.testing import assert_resumable, assert_same_elements, collect
from tests.conformance.registry import double, is_even, noisy, numbers, stream

PIPELINES: dict[str, Callable[[], Dataset]] = {
    "shuffled": lambda: numbers(96).shuffle(seed=3).batch(12),
    "random": lambda: numbers(96).shuffle().random_map(noisy).batch(12).map(lambda x, y, z: (x, y)),
    "dropped": lambda: numbers(100).map(double).batch(12, drop_remainder=True),
    "short at the end": lambda: numbers(104).shuffle().batch(12),
    "repeated": lambda: numbers(30).shuffle().repeat(3).batch(12, drop_remainder=True).prefetch(2),
    "stream": lambda: stream(100).filter(is_even).shuffle(7).batch(12, drop_remainder=True),
    "stream, short": lambda: stream(104).batch(12).map(double),
}


def _joined(parts: list[list[Any]]) -> list[Any]:
    """The global batches: the rows of all ranks, in the order of ranks."""
    batches = zip(*parts, strict=True)
    return [
        tuple(map(np.concatenate, zip(*rows, strict=True))) if isinstance(rows[0], tuple) else np.concatenate(rows)
        for rows in batches
    ]


@pytest.mark.parametrize("world_size", [1, 2, 3, 5])
@pytest.mark.parametrize("name", PIPELINES)
def test_ranks_together_receive_what_one_would(name: str, world_size: int) -> None:
    make = PIPELINES[name]
    parts = [collect(make().distribute("data", rank, world_size), 1) for rank in range(world_size)]
    assert_same_elements(_joined(parts), collect(make(), 1))
    for rank, part in enumerate(parts):
        dataset = make().distribute("data", rank, world_size)
        assert dataset.cardinality() in (-2, len(part))


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("block_size", [1, 5])
def test_a_part_is_the_same_however_it_runs(name: str, block_size: int) -> None:
    part = PIPELINES[name]().distribute("data", 1, 3)
    options = Options(block_size=block_size, executor="inline")
    assert_same_elements(collect(part.with_options(options), 1), collect(part, 1))


@pytest.mark.parametrize("name", PIPELINES)
def test_a_part_resumes(name: str) -> None:
    assert_resumable(lambda: PIPELINES[name]().distribute("data", 1, 3), epoch=1)


@pytest.mark.parametrize("later", [2, 3, 8])
@pytest.mark.parametrize("name", ["shuffled", "random", "stream"])
def test_state_of_four_ranks_resumes_at_another_number(name: str, later: int) -> None:
    make = PIPELINES[name]
    whole = collect(make(), 1)
    with make().distribute("data", 2, 4).iterator(epoch=1) as iterator:
        list(islice(iterator, 3))
        state = json.loads(json.dumps(iterator.state_dict()))
    parts = []
    for rank in range(later):
        with make().distribute("data", rank, later).iterator() as iterator:
            iterator.load_state_dict(state)
            parts.append(list(iterator))
    assert_same_elements(_joined(parts), whole[3:])


def test_without_batch_elements_are_dealt_out() -> None:
    parts = [collect(numbers(11).distribute("data", rank, 3)) for rank in range(3)]
    assert_same_elements(sorted(np.concatenate(parts).tolist()), list(range(11)))
    assert [int(x) for x in parts[1]] == [1, 4, 7, 10]


def test_a_batch_that_ranks_do_not_divide_is_split_evenly() -> None:
    sizes = [len(next(iter(numbers(20).batch(10).distribute("data", rank, 4)))) for rank in range(4)]
    assert sizes == [2, 3, 2, 3]


def _files(root: Path) -> Dataset:
    return Dataset.list_files(str(root / "classes" / "*" / "*.txt"), shuffle=False)


@pytest.mark.usefixtures("uneven_files")
def test_by_file_each_rank_has_files_of_its_own(files: Path) -> None:
    everything = collect(_files(files))
    parts = [collect(_files(files).distribute("file", rank, 2)) for rank in range(2)]
    assert sorted(parts[0] + parts[1]) == sorted(everything)
    assert parts[0] == everything[::2]


@pytest.mark.usefixtures("uneven_files")
def test_by_file_readers_share_their_files(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.txt").write_bytes(f"{number}a\n{number}b\n".encode())
    names = sorted(map(str, tmp_path.iterdir()))
    lines = TextLineDataset(names)
    assert collect(lines.distribute("auto", 0, 2)) == [b"0a", b"0b", b"2a", b"2b", b"4a", b"4b"]
    assert collect(lines.distribute("auto", 1, 2)) == [b"1a", b"1b", b"3a", b"3b"]
    records = FixedLengthRecordDataset(names, 3).distribute("file", 1, 2)
    assert collect(records) == [b"1a\n", b"1b\n", b"3a\n", b"3b\n"]


@pytest.mark.usefixtures("uneven_files")
def test_by_file_shuffled_lines_are_those_of_own_files(tmp_path: Path) -> None:
    names = [str(tmp_path / str(number)) for number in range(5)]
    for number, name in enumerate(names):
        Path(name).write_text("".join(f"{number}:{line}\n" for line in range(number + 2)))
    parts = [list(TextLineDataset(names).shuffle().distribute("file", rank, 2)) for rank in range(2)]
    assert [sorted({line[:1] for line in part}) for part in parts] == [[b"0", b"2", b"4"], [b"1", b"3"]]
    assert sorted(parts[0] + parts[1]) == sorted(TextLineDataset(names))


def test_by_file_a_batch_is_global_too(files: Path) -> None:
    batches = collect(_files(files).batch(4).distribute("file", 0, 2))
    assert len(batches[0]) == 2


@pytest.mark.usefixtures("uneven_files")
def test_auto_is_by_file_where_there_are_enough(files: Path) -> None:
    text = _files(files).distribute(AutoShardPolicy.AUTO, 0, 2).explain()
    assert "policy=file" in text
    assert "policy=data" in numbers().batch(4).distribute("auto", 0, 2).explain()
    assert "policy=data" in _files(files).distribute("auto", 0, 500).explain()


@pytest.mark.usefixtures("uneven_files")
def test_state_of_files_is_refused_at_another_number_of_ranks(files: Path) -> None:
    with _files(files).distribute("file", 0, 2).iterator() as iterator:
        state = iterator.state_dict()
    with (
        _files(files).distribute("file", 0, 3).iterator() as iterator,
        pytest.raises(StateMismatchError, match=r"distribute at .*: world_size 2 became 3"),
    ):
        iterator.load_state_dict(state)


def test_off_is_everything() -> None:
    assert_same_elements(collect(numbers().batch(4).distribute("off", 1, 2)), collect(numbers().batch(4)))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: numbers().distribute("rows", 0, 2), r"policy; got 'rows', expected one of \['off', 'auto'"),
        (lambda: numbers().distribute("data", 2, 2), "rank; got 2, expected below world_size=2"),
        (lambda: numbers().distribute("data", rank=1), "one of rank and world_size"),
        (lambda: numbers().batch(2).distribute("data", 0, 3), "smaller than the number of ranks; got batch_size=2"),
        (
            lambda: numbers(25).batch(4).distribute("data", 0, 3),
            "global batch is smaller.*got 1 rows.*drop_remain",
        ),
        (lambda: numbers().distribute("file", 0, 2), "reads no list of files"),
    ],
)
def test_what_cannot_be_distributed_is_told(make: Callable[[], Dataset], says: str) -> None:
    with pytest.raises(InvalidArgumentError, match=says) as caught:
        make()
    assert "test_distribute.py" in str(caught.value)


def test_too_few_files_are_told(files: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"at least as many files as ranks.*expected at least 500"):
        _files(files).distribute("file", 0, 500)


def test_a_stream_whose_last_batch_is_too_small_is_told() -> None:
    dataset = stream(25).batch(4).distribute("data", 0, 3)
    with pytest.raises(InvalidArgumentError, match="last global batch is smaller"):
        list(dataset)


def test_entropy_is_refused() -> None:
    dataset = numbers().shuffle().batch(4).distribute("data", 0, 2).with_options(Options(seed="entropy"))
    with pytest.raises(InvalidArgumentError, match="ranks would shuffle apart"):
        list(dataset)


def test_tf_data_names_are_accepted() -> None:
    import tensorflow as tf

    part = numbers(8).batch(4).distribute(tf.data.experimental.AutoShardPolicy.DATA, 1, 2)
    assert_same_elements(collect(part), [np.array([2, 3]), np.array([6, 7])])


def test_spec_is_that_of_the_part() -> None:
    assert numbers(16).batch(8).distribute("data", 0, 2).element_spec == Spec((4,), np.int64)


def test_the_policy_of_the_options_is_the_default() -> None:
    said = Options(experimental_distribute=DistributeOptions(auto_shard_policy=AutoShardPolicy.OFF))
    assert len(collect(numbers(8).with_options(said).distribute(rank=0, world_size=2))) == 8
    assert len(collect(numbers(8).with_options(said).distribute("data", 0, 2))) == 4
