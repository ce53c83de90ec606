"""Text, record and CSV files read by both: the same elements, and an error where tf.data has one."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import penstock as ps
from tests.differential.twins import LIMIT, Twin, assert_twins_agree, plain

PACK: dict[str, Callable[[bytes], bytes]] = {"": bytes, "GZIP": gzip.compress, "ZLIB": zlib.compress}


def assert_same_until_an_error(ours: ps.Dataset, theirs: Any) -> None:
    """The same elements; where one side ends with an error, so does the other, after the same elements."""
    (left, left_failed), (right, right_failed) = until_an_error(iter(ours)), until_an_error(theirs.as_numpy_iterator())
    assert [plain(element) for element in left] == [plain(element) for element in right]
    assert left_failed == right_failed


def until_an_error(elements: Iterator[Any]) -> tuple[list[Any], bool]:
    found = []
    try:
        for element in islice(elements, LIMIT):
            found.append(element)  # noqa: PERF402  # what came before the error counts
    except Exception:  # noqa: BLE001  # each side has its own
        return found, True
    return found, False


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("content", [b"", b"\n", b"a", b"a\nb\n", b"a\r\n\r\nb", b"\n\na\xff\0\n"])
def test_lines(tf: ModuleType, tmp_path: Path, content: bytes, kind: str) -> None:
    path = str(tmp_path / "file")
    Path(path).write_bytes(PACK[kind](content))
    names = [path, path]
    twin = Twin(ps.TextLineDataset(names, kind), tf.data.TextLineDataset(names, kind), "any", f"lines({content!r})")
    assert_twins_agree(twin)
    assert_twins_agree(twin.verb("batch", 2).verb("repeat", 2))
    assert_twins_agree(twin.verb("skip", 1).verb("take", 3))


@pytest.mark.parametrize("kind", PACK)
@pytest.mark.parametrize("layout", [(2, 2, 1), (3, 2, 1), (9,), (1,), (4, 2, 1), (2,)])
def test_records(tf: ModuleType, tmp_path: Path, layout: tuple[int, ...], kind: str) -> None:
    path = str(tmp_path / "file")
    Path(path).write_bytes(PACK[kind](b"HHabcdefF"))
    theirs = tf.data.FixedLengthRecordDataset(path, *layout, compression_type=kind)
    if (9 - sum(layout[1:])) % layout[0]:
        with pytest.raises(tf.errors.OpError):
            list(theirs)
        with pytest.raises(ps.errors.DecodeError):
            list(ps.FixedLengthRecordDataset(path, *layout, compression_type=kind))
        return
    assert_twins_agree(
        Twin(ps.FixedLengthRecordDataset(path, *layout, compression_type=kind), theirs, "any", "records")
    )


@pytest.mark.parametrize("reads", [None, 1, 2, 3, 5])
def test_several_files(tf: ModuleType, tmp_path: Path, reads: int | None) -> None:
    names = []
    for number, count in enumerate((4, 2, 0, 3, 1, 5)):
        names.append(str(tmp_path / f"{number}"))
        Path(names[-1]).write_text("".join(f"{number}{line}\n" for line in range(count)))
    theirs, ours = tf.data.Dataset.from_tensor_slices(names), ps.Dataset.from_tensor_slices(names)
    for left, right in ((names, names), (ours, theirs)):
        lines = tf.data.TextLineDataset(right, num_parallel_reads=reads)
        assert_twins_agree(Twin(ps.TextLineDataset(left, num_parallel_reads=reads), lines, "any", f"lines {reads}"))
        records = tf.data.FixedLengthRecordDataset(right, 3, num_parallel_reads=reads)
        found = ps.FixedLengthRecordDataset(left, 3, num_parallel_reads=reads)
        assert_twins_agree(Twin(found, records, "any", f"records {reads}"))


@pytest.mark.parametrize("kind", PACK)
def test_tfrecords_written_by_either(tf: ModuleType, tmp_path: Path, kind: str) -> None:
    records = [b"", b"one", bytes(range(256)) * 5, b"\0", b"last"]
    ours, theirs = str(tmp_path / "ours"), str(tmp_path / "theirs")
    with ps.io.TFRecordWriter(ours, kind) as left, tf.io.TFRecordWriter(theirs, kind) as right:
        for record in records:
            left.write(record)
            right.write(record)
    with ps.io.TFRecordWriter(str(tmp_path / "options"), tf.io.TFRecordOptions(kind, compression_level=1)) as writer:
        writer.write(b"by TensorFlow's options")
    if not kind:
        assert Path(ours).read_bytes() == Path(theirs).read_bytes()
    names = [theirs, ours, str(tmp_path / "options")]
    twin = Twin(ps.TFRecordDataset(names, kind), tf.data.TFRecordDataset(names, kind), "any", f"tfrecords {kind}")
    assert_twins_agree(twin)
    assert_twins_agree(twin.verb("batch", 2).verb("repeat", 2))
    assert_twins_agree(twin.verb("skip", 1).verb("take", 3))
    assert list(ps.TFRecordDataset(theirs, kind)) == records


@pytest.mark.parametrize("reads", [None, 1, 2, 3, 5])
def test_several_tfrecord_files(tf: ModuleType, tmp_path: Path, reads: int | None) -> None:
    names = []
    for number, count in enumerate((4, 2, 0, 3, 1, 5)):
        names.append(str(tmp_path / f"{number}"))
        with ps.io.TFRecordWriter(names[-1]) as writer:
            for record in range(count):
                writer.write(b"%d%d" % (number, record))
    theirs, ours = tf.data.Dataset.from_tensor_slices(names), ps.Dataset.from_tensor_slices(names)
    for left, right in ((names, names), (ours, theirs)):
        found = tf.data.TFRecordDataset(right, num_parallel_reads=reads)
        assert_twins_agree(Twin(ps.TFRecordDataset(left, num_parallel_reads=reads), found, "any", f"tfrecords {reads}"))


def test_damaged_tfrecords(tf: ModuleType) -> None:
    """As tf.data has them, but for what it takes for an end: one within a header; of packed files, any."""
    for path in sorted((Path(__file__).parents[1] / "golden" / "hostile" / "tfrecords").iterdir()):
        kind = {".gz": "GZIP", ".zlib": "ZLIB"}.get(path.suffix, "")
        ours, theirs = ps.TFRecordDataset(path, kind), tf.data.TFRecordDataset(str(path), kind)
        (left, left_failed), (right, right_failed) = (until_an_error(iter(each)) for each in (ours, theirs))
        assert left_failed
        if not kind:
            assert [*map(plain, left)] == [*map(plain, right)], path.name
            assert right_failed == (path.name != "cut_in_header"), path.name


FIELDS = st.sampled_from(
    ["", "1", "-7", "2.5", "x", "NA", " 3 ", '"q"', '"a,b"', '"a""b"', '"l\nm"', '""', "1e2", "+4"]
)
DEFAULTS: list[tuple[Any, Any]] = [
    (np.int32, "int32"),
    (np.int64, "int64"),
    (np.float32, "float32"),
    (bytes, "string"),
    ([np.int32(5)], [5]),
    ([np.float32(1.5)], [1.5]),
    ([b"none"], ["none"]),
]


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_rows(tf: ModuleType, tmp_path: Path, data: st.DataObject) -> None:
    columns = data.draw(st.lists(st.sampled_from(DEFAULTS), min_size=1, max_size=3))
    widths = st.sampled_from([len(columns)] * 6 + [1, 3])
    rows = data.draw(st.lists(widths.flatmap(lambda n: st.lists(FIELDS, min_size=n, max_size=n)), max_size=5))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(map(",".join, rows)) + (end if rows and data.draw(st.booleans()) else "")
    options: dict[str, Any] = {"na_value": data.draw(st.sampled_from(["", "NA"])), "header": data.draw(st.booleans())}
    path = str(tmp_path / "rows.csv")
    Path(path).write_bytes(text.encode())
    theirs = [getattr(tf, kind) if isinstance(kind, str) else tf.constant(kind[0]) for _, kind in columns]
    assert_same_until_an_error(
        ps.CsvDataset(path, [default for default, _ in columns], **options),
        tf.data.experimental.CsvDataset(path, theirs, **options),
    )


@pytest.mark.parametrize(
    ("content", "options"),
    [
        (b"a,1,2\nb,3,4\n", {"select_cols": [1, 2]}),
        (b"a,1,2\nb,3\nc,4,5\n", {"select_cols": [1, 2]}),
        (b"a,1,2\nb,3,4\n", {"exclude_cols": [0]}),
        (b"1;2\n3;4\n", {"field_delim": ";"}),
        (b"1\t2\n\t4\n", {"field_delim": "\t"}),
        (b"1,2\r3,4\r", {}),
    ],
)
def test_forms_of_rows(tf: ModuleType, tmp_path: Path, content: bytes, options: dict[str, Any]) -> None:
    path = str(tmp_path / "rows.csv")
    Path(path).write_bytes(content)
    ours = ps.CsvDataset(path, [np.int32, np.int32], **options)
    assert_same_until_an_error(ours, tf.data.experimental.CsvDataset(path, [tf.int32, tf.int32], **options))
