"""TFRecord files: what is written and read, by number and in order, and what is told of damaged ones."""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset, Options, TFRecordDataset
from penstock.engine.operators import files as operators
from penstock.errors import (
    ClosedError,
    DecodeError,
    InvalidArgumentError,
    NotIndexableError,
    ReadError,
    WriteError,
)
from penstock.formats import record_index, record_places
from penstock.formats.files import measured
from penstock.formats.turns import Turns
from penstock.graph.nodes import IndexedTFRecords
from penstock.graph.walk import nodes_of
from penstock.optimize.index_files import with_indices
from penstock.options import AUTOTUNE
from tests.unit.failing import failing

HOSTILE = Path(__file__).parents[1] / "golden" / "hostile" / "tfrecords"
RECORDS = [b"record %d" % number * (number % 7) for number in range(100)]
KINDS = [None, "GZIP", "ZLIB"]


def write(path: Path, records: list[bytes], options: Any = None) -> str:
    with ps.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return str(path)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return write(tmp_path / "records", RECORDS)


@pytest.fixture
def shards(tmp_path: Path) -> list[str]:
    counts = (4, 0, 3, 1)
    return [write(tmp_path / f"{n}", [b"%d-%d" % (n, i) for i in range(count)]) for n, count in enumerate(counts)]


# --- in order ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("buffer_size", [None, 1, 17, 0])
def test_what_was_written_is_read(tmp_path: Path, kind: str | None, buffer_size: int | None) -> None:
    name = write(tmp_path / "file", RECORDS, kind)
    assert list(TFRecordDataset(name, kind, buffer_size)) == RECORDS
    assert list(TFRecordDataset(write(tmp_path / "none", [], kind), kind)) == []
    assert list(TFRecordDataset([name, name], kind).batch(200).map(len)) == [200]


@pytest.mark.parametrize("kind", KINDS)
def test_record_larger_than_what_is_read_at_once(tmp_path: Path, kind: str | None) -> None:
    records = [b"a", bytes(2_500_000), b"", np.random.default_rng(0).bytes(700_000), b"end"]
    assert list(TFRecordDataset(write(tmp_path / "file", records, kind), kind)) == records
    assert list(TFRecordDataset(write(tmp_path / "file", records, kind), kind, 1000)) == records


def test_packed_members_one_after_another_are_one_file(tmp_path: Path) -> None:
    content = [gzip.compress(Path(write(tmp_path / "part", [b"%d" % n])).read_bytes()) for n in range(3)]
    (tmp_path / "file").write_bytes(b"".join(content) + bytes(500))
    assert list(TFRecordDataset(tmp_path / "file", "GZIP")) == [b"0", b"1", b"2"]


def test_files_one_after_another_or_in_turns(shards: list[str]) -> None:
    one_by_one = [b"0-0", b"0-1", b"0-2", b"0-3", b"2-0", b"2-1", b"2-2", b"3-0"]
    assert list(TFRecordDataset(shards)) == one_by_one
    assert list(TFRecordDataset(Dataset.from_tensor_slices(shards))) == one_by_one
    for reads in (2, AUTOTUNE):
        assert sorted(TFRecordDataset(shards, num_parallel_reads=reads)) == one_by_one
    in_turns = TFRecordDataset([shards[0], shards[2]], num_parallel_reads=2)
    assert list(in_turns) == [b"0-0", b"2-0", b"0-1", b"2-1", b"0-2", b"2-2", b"0-3"]


def test_records_are_bytes(path: str) -> None:
    dataset = TFRecordDataset(path)
    assert dataset.element_spec == ps.Spec((), bytes)
    batch = next(iter(dataset.batch(3)))
    assert batch.dtype == object
    assert batch.tolist() == RECORDS[:3]
    batch[0] = b"mine"
    assert next(iter(dataset)) == RECORDS[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("taken", [0, 1, 57, 99])
def test_a_stream_resumes_where_it_was(tmp_path: Path, kind: str | None, taken: int) -> None:
    names = [write(tmp_path / f"{n}", RECORDS[n::3], kind) for n in range(3)]

    def dataset() -> Dataset:
        return TFRecordDataset(names, kind, 100, index=False)

    with dataset().iterator() as iterator:
        before = [next(iterator) for _ in range(taken)]
        state = iterator.state_dict()
    with dataset().iterator() as iterator:
        iterator.load_state_dict(state)
        assert [*before, *iterator] == list(dataset())


# --- by number --------------------------------------------------------------------------------------------------------


def is_indexed(dataset: Dataset) -> bool:
    return any(isinstance(node, IndexedTFRecords) for node in nodes_of(with_indices(dataset._node)))


PIPELINES: dict[str, tuple[Callable[[Dataset], Dataset], bool]] = {
    "nothing": (lambda records: records, False),
    "stream": (lambda records: records.map(len).filter(bool).batch(4).repeat(), False),
    "take": (lambda records: records.skip(2).take(3), False),
    "shuffle": (lambda records: records.shuffle(10), True),
    "shuffle of what is filtered": (lambda records: records.filter(bool).shuffle(10), False),
    "slice": (lambda records: records[3:9], True),
    "shard": (lambda records: records.map(len).shard(3, 1), True),
    "shard of what is filtered": (lambda records: records.filter(bool).shard(3, 1), False),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_records_are_indexed_where_their_numbers_are_wanted(path: str, name: str) -> None:
    make, expected = PIPELINES[name]
    assert is_indexed(make(TFRecordDataset(path))) is expected
    if name != "slice":
        assert not is_indexed(make(TFRecordDataset(path, index=False)))
        assert not is_indexed(make(TFRecordDataset(path, on_error="skip")))


@pytest.fixture(params=["mapped", "read", "file by file"])
def by_place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ways to get records by their places: from a map, by reading, and where each lies looked up file by file."""
    monkeypatch.setattr(record_places, "_MAPPED_BELOW_BYTES", 0 if request.param == "read" else 2**40)
    if request.param == "file by file":
        monkeypatch.setattr(operators, "_JOINED_BOUNDS_BYTES", -1)


@pytest.mark.usefixtures("by_place")
def test_records_are_had_by_number(shards: list[str]) -> None:
    every = list(TFRecordDataset(shards))
    records = TFRecordDataset(shards)
    assert [records[number] for number in range(len(every))] == every
    assert records[-1] == every[-1]
    assert list(records[6:0:-2]) == every[6:0:-2]
    assert list(records.shard(3, 1)) == every[1::3]
    assert records.cardinality() == ps.UNKNOWN_CARDINALITY
    with pytest.raises(IndexError):
        _ = records[len(every)]


@given(st.lists(st.integers(0, 9), max_size=9), st.integers(1, 5))
def test_turns_are_those_of_an_interleave(counts: list[int], cycle_length: int) -> None:
    sources = Dataset.range(len(counts)) if counts else Dataset.range(0)
    stream = sources.interleave(
        lambda file: Dataset.range(counts[int(file)]).map(lambda record: (file, record)), cycle_length
    )
    files, records = Turns(counts, cycle_length).locate(np.arange(sum(counts), dtype=np.int64))
    assert list(zip(files.tolist(), records.tolist(), strict=True)) == [(int(f), int(r)) for f, r in stream]


@pytest.mark.parametrize("reads", [1, 2, 3, AUTOTUNE])
def test_records_in_turns_are_had_by_number(shards: list[str], reads: int) -> None:
    records = TFRecordDataset(shards, num_parallel_reads=reads)
    every = list(records)
    assert list(records[:]) == every
    assert list(records.shard(3, 1)) == every[1::3]
    assert sorted(records.shuffle(2)) == sorted(every)
    assert is_indexed(records.shuffle(2))
    assert not is_indexed(TFRecordDataset(shards, num_parallel_reads=reads, index=False).shuffle(2))
    assert not is_indexed(records.ignore_errors().shuffle(2))


@pytest.mark.parametrize("kind", ["GZIP", "ZLIB"])
def test_packed_records_have_no_index(tmp_path: Path, kind: str) -> None:
    records = TFRecordDataset(write(tmp_path / "file", RECORDS, kind), kind)
    assert not is_indexed(records.shuffle(3))
    assert sorted(records.shuffle(3)) == sorted(RECORDS)
    with pytest.raises(NotIndexableError, match="reads its files from their start"):
        _ = records[0]
    with pytest.raises(NotIndexableError, match="index=False"):
        _ = TFRecordDataset(write(tmp_path / "plain", RECORDS), index=False)[0]


@pytest.mark.parametrize("skip_rules", [frozenset[str](), frozenset(["shuffle_to_permutation"])])
def test_shuffle_permutes_all_records(path: str, skip_rules: frozenset[str]) -> None:
    options = Options(skip_rules=skip_rules)
    small, whole = (list(TFRecordDataset(path).shuffle(n, seed=3).with_options(options)) for n in (2, None))
    assert small == whole
    assert sorted(small) == sorted(RECORDS)
    assert small != RECORDS


def test_shuffled_records_resume_by_position(path: str) -> None:
    with TFRecordDataset(path).shuffle().batch(7).iterator(epoch=2) as iterator:
        before = [record for _ in range(5) for record in next(iterator)]
        state = iterator.state_dict()
    with TFRecordDataset(path).shuffle().batch(7).iterator() as iterator:
        iterator.load_state_dict(state)
        assert sorted([*before, *(record for batch in iterator for record in batch)]) == sorted(RECORDS)


# --- what is kept of an index -----------------------------------------------------------------------------------------


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that were looked through for an index."""
    names: list[str] = []

    class Watched(record_index.PieceFile):
        def record_bounds(self) -> Any:
            names.append(self._file.path)
            return super().record_bounds()

    monkeypatch.setattr(record_index, "PieceFile", Watched)
    return names


def test_index_is_kept_in_a_folder(path: str, tmp_path: Path, built: list[str]) -> None:
    folder = tmp_path / "made" / "by need"
    for _ in range(3):
        assert sorted(TFRecordDataset(path, index=folder).shuffle()) == sorted(RECORDS)
    assert built == [path]
    assert [entry.suffix for entry in folder.iterdir()] == [".npy"]


def test_index_is_built_anew_when_the_file_has_changed(path: str, tmp_path: Path, built: list[str]) -> None:
    assert TFRecordDataset(path, index=tmp_path / "index")[1] == RECORDS[1]
    write(Path(path), RECORDS[::-1])
    os.utime(path, ns=(1, 1))
    records = TFRecordDataset(path, index=tmp_path / "index")
    assert records[1] == RECORDS[-2]
    assert len(built) == 2
    write(Path(path), [*RECORDS, b"more"])
    with pytest.raises(ReadError, match="has changed since the dataset was made"):
        _ = records[1]
    assert TFRecordDataset(path, index=tmp_path / "index")[100] == b"more"


@pytest.mark.parametrize("content", [b"", b"no array", b"\x93NUMPY\x01\x00 cut", None])
def test_index_that_is_damaged_is_built_anew(path: str, tmp_path: Path, built: list[str], content: Any) -> None:
    kept = record_index.index_path(measured(path), str(tmp_path / "index"))
    assert TFRecordDataset(path, index=kept.parent)[1] == RECORDS[1]
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-8] if content is None else content)
    assert TFRecordDataset(path, index=kept.parent)[2] == RECORDS[2]
    assert len(built) == 2
    assert kept.read_bytes() == whole


@pytest.mark.usefixtures("by_place")
def test_index_that_lies_is_found_out(path: str, tmp_path: Path) -> None:
    kept = record_index.index_path(measured(path), str(tmp_path / "index"))
    assert TFRecordDataset(path, index=kept.parent)[0] == RECORDS[0]
    content = np.load(kept)
    content[5:9] = [2**63, 3, 10**6, 0]
    np.save(kept, content)
    for number in range(1, 6):
        with pytest.raises((DecodeError, ReadError), match="record at byte"):
            _ = TFRecordDataset(path, index=kept.parent)[number]
    assert TFRecordDataset(path, index=kept.parent)[50] == RECORDS[50]


def test_small_files_leave_nothing_in_the_users_cache(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PENSTOCK_CACHE_DIR", str(tmp_path / "cache"))
    assert TFRecordDataset(path)[3] == RECORDS[3]
    assert not (tmp_path / "cache").exists()
    monkeypatch.setattr(record_index, "KEPT_FROM_BYTES", 1)
    assert TFRecordDataset(path)[3] == RECORDS[3]
    assert len(list((tmp_path / "cache" / "records").iterdir())) == 1


def test_index_that_cannot_be_kept_is_done_without(path: str, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert TFRecordDataset(path, index=tmp_path / "file" / "folder")[3] == RECORDS[3]


# --- damaged files ----------------------------------------------------------------------------------------------------

GOOD = [b"first", b"", b"third record"]
CUT = "a record is cut short; got {} bytes up to the end of the file, expected {}"
LENGTH = "byte {}: the checksum of a record's length does not fit; got"
DATA = "byte {}: the checksum of a record's data does not fit; got"
UNPACK = "cannot unpack the file as {}; got {}"
DAMAGED: dict[str, tuple[int, str, list[bytes]]] = {  # good records before, what is told, what a skip leaves
    "cut_in_header": (2, "byte 37: " + CUT.format(7, 12), GOOD[:2]),
    "cut_in_data": (2, "byte 37: " + CUT.format(15, 28), GOOD[:2]),
    "cut_in_checksum": (2, "byte 37: " + CUT.format(26, 28), GOOD[:2]),
    "bad_length_checksum": (1, LENGTH.format(21), GOOD[:1]),
    "bad_length": (2, LENGTH.format(37), GOOD[:2]),
    "bad_data": (0, DATA.format(0), GOOD[1:]),
    "bad_data_checksum": (2, DATA.format(37), GOOD[:2]),
    "length_past_the_end": (2, "byte 37: " + CUT.format(21, 516), GOOD[:2]),
    "length_2_gib": (2, "byte 37: " + CUT.format(21, 2147483664), GOOD[:2]),
    "length_of_all_bits": (2, "byte 37: " + CUT.format(21, 2**64 - 1), GOOD[:2]),
    "text": (0, 'is it a TFRecord file? A packed one needs compression_type="GZIP"', []),
    "zeros": (0, LENGTH.format(0), []),
    "cut.gz": (2, UNPACK.format("GZIP", "it is cut short"), GOOD[:2]),
    "cut_in_trailer.gz": (3, UNPACK.format("GZIP", "it is cut short"), GOOD),
    "bad_crc.gz": (0, UNPACK.format("GZIP", "Error -3 while decompressing data: incorrect data check"), []),
    "length_2_gib.gz": (2, "byte 37: " + CUT.format(21, 2147483664), GOOD[:2]),
    "cut.zlib": (3, UNPACK.format("ZLIB", "it is cut short"), GOOD),
}


def kind_of(name: str) -> str | None:
    return {".gz": "GZIP", ".zlib": "ZLIB"}.get(Path(name).suffix)


def test_every_hostile_file_is_tried() -> None:
    assert sorted(entry.name for entry in HOSTILE.iterdir()) == sorted(DAMAGED)


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_file_is_told_after_its_good_records(name: str) -> None:
    count, text, left = DAMAGED[name]
    expected = (left if name != "bad_data" else [])[:count]
    for buffer_size in (None, 3):
        elements, error = failing(TFRecordDataset(HOSTILE / name, kind_of(name), buffer_size))
        assert elements == expected or (name == "bad_crc.gz" and buffer_size)  # of what was unpacked with the fault
        assert type(error) is DecodeError
        assert text in str(error)
        assert str(HOSTILE / name) in str(error)
        assert "TFRecordDataset at " in str(error)
        assert "test_tfrecords.py:" in str(error)


@pytest.mark.usefixtures("by_place")
@pytest.mark.parametrize("name", [name for name in DAMAGED if kind_of(name) is None])
def test_damaged_file_is_told_by_number_too(name: str) -> None:
    _, text, _ = DAMAGED[name]
    with pytest.raises(DecodeError) as caught:
        list(TFRecordDataset(HOSTILE / name)[:])
    for part in (text, str(HOSTILE / name), "TFRecordDataset at ", "test_tfrecords.py:"):
        assert part in str(caught.value)


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("block_size", [None, 1])
def test_damaged_records_are_left_out_and_told(name: str, block_size: int | None) -> None:
    _, text, left = DAMAGED[name]
    dataset = TFRecordDataset([HOSTILE / name] * 2, kind_of(name), on_error="skip")
    with dataset.with_options(Options(block_size=block_size)).iterator() as iterator:
        assert list(iterator) == left * 2
        assert len(iterator.skipped) == 2
    assert all(text in skipped.error for skipped in iterator.skipped)
    assert dataset.cardinality() == ps.UNKNOWN_CARDINALITY


def test_ignored_records_are_those_a_skip_leaves_out() -> None:
    dataset = TFRecordDataset(HOSTILE / "bad_data").map(len).shuffle(3, seed=1).ignore_errors()
    assert sorted(dataset) == sorted(map(len, GOOD[1:]))


@pytest.mark.parametrize("use", [list, lambda records: list(records[:])])
def test_data_is_taken_as_it_is_where_it_is_not_verified(use: Callable[[Dataset], list[bytes]]) -> None:
    assert use(TFRecordDataset(HOSTILE / "bad_data_checksum", verify=False)) == GOOD
    assert use(TFRecordDataset(HOSTILE / "bad_data", verify=False)) == [b"fIrst".replace(b"I", b")"), *GOOD[1:]]
    with pytest.raises(DecodeError, match="length does not fit"):
        use(TFRecordDataset(HOSTILE / "bad_length", verify=False))


@pytest.mark.usefixtures("by_place")
def test_file_that_changes_is_told(path: str) -> None:
    for dataset in (TFRecordDataset(path), TFRecordDataset(path)[:]):
        content = Path(path).read_bytes()
        Path(path).write_bytes(content[:-30])
        _, error = failing(dataset)
        assert isinstance(error, ReadError)
        assert "has changed since the dataset was made" in str(error)
        Path(path).write_bytes(content)


@pytest.mark.parametrize(
    "arguments",
    [{"compression_type": "LZMA"}, {"buffer_size": -1}, {"num_parallel_reads": 0}, {"index": True}, {"on_error": "no"}],
)
def test_arguments_that_cannot_be_are_refused(path: str, arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"TFRecordDataset.*{next(iter(arguments))}"):
        TFRecordDataset(path, **arguments)


# --- writing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_flushed_can_be_read(tmp_path: Path, kind: str | None) -> None:
    writer = ps.io.TFRecordWriter(tmp_path / "file", kind)
    writer.write(b"one")
    writer.flush()
    assert next(iter(TFRecordDataset(tmp_path / "file", kind))) == b"one"
    writer.write(bytearray(b"two"))
    writer.write(memoryview(b"three"))
    writer.close()
    writer.close()
    assert list(TFRecordDataset(tmp_path / "file", kind)) == [b"one", b"two", b"three"]
    for use in (lambda: writer.write(b"four"), writer.flush):
        with pytest.raises(ClosedError):
            use()


def test_options_say_how_it_is_packed(tmp_path: Path) -> None:
    sizes = []
    for level in (0, 9):
        options = ps.io.TFRecordOptions("ZLIB", level)
        sizes.append(os.path.getsize(write(tmp_path / f"{level}", RECORDS, options)))
    assert sizes[0] > 2 * sizes[1]
    content = Path(write(tmp_path / "plain", RECORDS)).read_bytes()
    assert zlib.decompress((tmp_path / "9").read_bytes()) == content
    assert gzip.decompress(Path(write(tmp_path / "gz", RECORDS, "GZIP")).read_bytes()) == content


@pytest.mark.parametrize("options", ["LZMA", 3, ("GZIP", 10)])
def test_options_that_cannot_be_are_refused(tmp_path: Path, options: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r"TFRecord(Options|Writer): (options|compression_)"):
        ps.io.TFRecordWriter(
            tmp_path / "file", ps.io.TFRecordOptions(*options) if isinstance(options, tuple) else options
        )


def test_what_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match=f"{tmp_path}.*cannot write the file.*directory"):
        ps.io.TFRecordWriter(tmp_path)
    with ps.io.TFRecordWriter(tmp_path / "file") as writer, pytest.raises(InvalidArgumentError, match="record"):
        writer.write("text")  # type: ignore[arg-type]


def test_full_disk_is_told() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("no /dev/full here")
    for kind in KINDS:
        with pytest.raises(WriteError, match=r"/dev/full.*No space left"):
            write(Path("/dev/full"), [bytes(1000)], kind)
