"""ArrayRecord files by their own package."""

from __future__ import annotations

from pathlib import Path

import pytest

module = pytest.importorskip("array_record.python.array_record_module")

from penstock import Dataset, Spec  # noqa: E402  # array_record may be missing
from penstock.errors import DecodeError, ReadError  # noqa: E402


def write(path: Path, records: list[bytes], options: str = "group_size:1") -> str:
    writer = module.ArrayRecordWriter(str(path), options)
    for record in records:
        writer.write(record)
    writer.close()
    return str(path)


@pytest.fixture
def names(tmp_path: Path) -> list[str]:
    records = [b"r%d" % n for n in range(30)]
    return [write(tmp_path / "a", records[:17]), write(tmp_path / "b", records[17:], "group_size:4")]


def test_records_by_position(names: list[str]) -> None:
    dataset = Dataset.from_array_record(names)
    expected = [b"r%d" % n for n in range(30)]
    assert list(dataset) == expected
    assert dataset.element_spec == Spec((), bytes)
    assert list(dataset[25:3:-4]) == expected[25:3:-4]
    assert sorted(dataset.shuffle(seed=1)) == sorted(expected)
    assert list(dataset.distribute("file", rank=1, world_size=2)) == expected[17:]


@pytest.mark.parametrize("keep", [0, 100, -50])
def test_file_that_is_none_is_told(names: list[str], keep: int) -> None:
    Path(names[0]).write_bytes(Path(names[0]).read_bytes()[:keep])
    with pytest.raises(DecodeError, match="not readable as ArrayRecord"):
        Dataset.from_array_record(names)


def test_file_that_changes_is_told(names: list[str]) -> None:
    dataset = Dataset.from_array_record(names)
    write(Path(names[1]), [b"x" * 1000] * 500)
    with pytest.raises(ReadError, match="has changed"):
        list(dataset)
