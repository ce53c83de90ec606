"""Text, CSV and record files: what is read, and what is told of files that do not fit."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import CsvDataset, Dataset, FixedLengthRecordDataset, TextLineDataset
from penstock.errors import DecodeError, InvalidArgumentError, ReadError
from tests.unit.failing import failing

HERE = r"test_readers\.py:\d+"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def put(content: bytes, name: str = "file") -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return put


# --- lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "lines"),
    [
        (b"", []),
        (b"\n", [b""]),
        (b"a", [b"a"]),
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\n\r\nb\r", [b"a", b"", b"b"]),
        (b"a\n\nb", [b"a", b"", b"b"]),
        (b"a\rb\n\xff\0\n", [b"a\rb", b"\xff\0"]),
    ],
)
@pytest.mark.parametrize("buffer_size", [None, 1, 3])
def test_lines_have_no_ends(write: Callable[..., str], content: bytes, lines: list[bytes], buffer_size: Any) -> None:
    assert list(TextLineDataset(write(content), buffer_size=buffer_size)) == lines


def test_lines_of_files_one_after_another(write: Callable[..., str]) -> None:
    names = [write(b"1\n2", "a"), write(b"", "b"), write(b"3\n", "c")]
    assert list(TextLineDataset(names)) == [b"1", b"2", b"3"]
    assert list(TextLineDataset([Path(names[2]), names[0]])) == [b"3", b"1", b"2"]
    assert list(TextLineDataset([])) == []


def test_line_longer_than_what_is_read_at_once(write: Callable[..., str]) -> None:
    lines = [b"x" * 700_000, b"", b"y" * 300_000]
    assert list(TextLineDataset(write(b"\n".join(lines)))) == lines


@pytest.mark.parametrize(("pack", "kind"), [(gzip.compress, "GZIP"), (zlib.compress, "ZLIB")])
def test_packed_lines(write: Callable[..., str], pack: Callable[[bytes], bytes], kind: str) -> None:
    lines = [b"line %d" % number for number in range(50_000)]
    assert list(TextLineDataset(write(pack(b"\n".join(lines))), kind)) == lines
    assert list(TextLineDataset(write(b""), kind)) == []


def test_text_is_text_where_an_encoding_is_said(write: Callable[..., str]) -> None:
    dataset = TextLineDataset(write("é\r\n日本\n".encode()), encoding="utf-8")
    assert dataset.element_spec == ps.Spec((), str)
    assert list(dataset) == ["é", "日本"]
    assert list(TextLineDataset(write(b"\xe9\n"), encoding="latin-1")) == ["é"]


@pytest.mark.parametrize("buffer_size", [None, 2])
def test_invalid_text_names_file_line_and_byte(write: Callable[..., str], buffer_size: Any) -> None:
    name = write(b"ok\r\nfine\nbad \xff\xfe\nok\n")
    elements, error = failing(TextLineDataset(name, buffer_size=buffer_size, encoding="utf-8"))
    assert elements == ["ok", "fine"]
    assert type(error) is DecodeError
    assert f"{name}, line 3, byte 13" in str(error)
    assert error.got.startswith("ff")


@pytest.mark.parametrize("encoding", ["utf-16", "none", 3])
def test_encoding_that_breaks_lines_is_refused(write: Callable[..., str], encoding: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=f"{HERE}.*encoding"):
        TextLineDataset(write(b"a"), encoding=encoding)


@pytest.mark.parametrize(
    ("content", "kind", "text"),
    [
        (gzip.compress(bytes(range(256)) * 99)[:-9], "GZIP", "it is cut short"),
        (zlib.compress(bytes(range(256)) * 99)[:-9], "ZLIB", "it is cut short"),
        (b"plain text", "GZIP", "Not a gzipped file"),
        (b"plain text", "ZLIB", "incorrect header check"),
    ],
)
def test_packed_file_that_is_none_is_named(write: Callable[..., str], content: bytes, kind: str, text: str) -> None:
    name = write(content)
    _, error = failing(TextLineDataset(name, kind))
    assert type(error) is DecodeError
    assert text in str(error)
    assert name in str(error)


def test_missing_file_is_told_where_the_dataset_is_made(tmp_path: Path) -> None:
    for bad, text in ((tmp_path / "none", "No such file"), (tmp_path, "a directory")):
        with pytest.raises(ReadError, match=rf"TextLineDataset at .*{HERE}.*{bad}.*{text}"):
            TextLineDataset(bad)


def test_file_that_changes_is_told(write: Callable[..., str]) -> None:
    dataset = TextLineDataset(write(b"a\nb\n"))
    write(b"a\n")
    _, error = failing(dataset)
    assert isinstance(error, ReadError)
    assert "has changed since the dataset was made" in str(error)


@pytest.mark.parametrize("names", [3, None, [None], ["a", 3]])
def test_names_that_are_no_paths_are_refused(names: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="filenames"):
        TextLineDataset(names)


def test_compression_that_is_unknown_is_refused(write: Callable[..., str]) -> None:
    with pytest.raises(InvalidArgumentError, match="compression_type"):
        TextLineDataset(write(b"a"), "LZMA")


def test_names_may_be_a_dataset(write: Callable[..., str]) -> None:
    names = [write(b"1\n2", "a"), write(b"", "b"), write(b"3\n", "c")]
    dataset = TextLineDataset(Dataset.from_tensor_slices(names))
    assert dataset.element_spec == ps.Spec((), bytes)
    assert list(dataset) == [b"1", b"2", b"3"]
    shuffled = TextLineDataset(Dataset.from_tensor_slices(names).shuffle(seed=1)).repeat(3)
    assert sorted(shuffled) == [b"1"] * 3 + [b"2"] * 3 + [b"3"] * 3


def test_several_files_at_a_time_take_turns(write: Callable[..., str]) -> None:
    names = [write(b"1\n2\n3\n4", "a"), write(b"5\n6", "b"), write(b"7\n8", "c")]
    assert list(TextLineDataset(names, num_parallel_reads=2)) == [b"1", b"5", b"2", b"6", b"3", b"4", b"7", b"8"]
    records = FixedLengthRecordDataset(names, 1, num_parallel_reads=ps.AUTOTUNE)
    assert list(records.take(4)) == [b"1", b"5", b"7", b"\n"]


def test_missing_file_of_a_dataset_of_names_is_told(tmp_path: Path, write: Callable[..., str]) -> None:
    names = Dataset.from_tensor_slices([write(b"1\n2", "a"), str(tmp_path / "none")])
    elements, error = failing(TextLineDataset(names))
    assert elements == [b"1", b"2"]
    assert "none" in str(error)
    assert isinstance(error.__cause__, ReadError)


# --- records ----------------------------------------------------------------------------------------------------------


def test_records_lie_between_header_and_footer(write: Callable[..., str]) -> None:
    names = [write(b"HHabcdefF", "a"), write(b"", "b"), write(b"HHghF", "c")]
    dataset = FixedLengthRecordDataset(names, 2, 2, 1)
    assert list(dataset) == [b"ab", b"cd", b"ef", b"gh"]
    assert len(dataset) == 4
    assert dataset[-1] == b"gh"
    assert sorted(dataset.shuffle()) == list(dataset)


@pytest.mark.parametrize("buffer_size", [None, 1, 7])
def test_packed_records(write: Callable[..., str], buffer_size: int | None) -> None:
    records = [b"%05d" % number for number in range(1000)]
    name = write(gzip.compress(b"head" + b"".join(records) + b"foot!"))
    dataset = FixedLengthRecordDataset(name, 5, 4, 5, buffer_size, "GZIP")
    assert list(dataset) == records
    assert dataset.cardinality() == ps.UNKNOWN_CARDINALITY


def test_records_that_do_not_fit_are_told(write: Callable[..., str]) -> None:
    for arguments in ((4, 2, 1), (2, 20, 0)):
        with pytest.raises(DecodeError, match="the size of the file does not fit; got 9 bytes"):
            FixedLengthRecordDataset(write(b"HHabcdefF"), *arguments)
        _, error = failing(
            FixedLengthRecordDataset(write(gzip.compress(b"HHabcdefF")), *arguments, compression_type="GZIP")
        )
        assert "got 9 bytes" in str(error)


def test_records_cut_while_they_are_read_are_told(write: Callable[..., str]) -> None:
    dataset = FixedLengthRecordDataset(write(b"abcdef"), 2)
    write(b"ab")
    _, error = failing(dataset)
    assert isinstance(error, ReadError)


@pytest.mark.parametrize("arguments", [(0,), (-1,), (2, -1), (2, 0, -1), ("2",)])
def test_record_sizes_that_cannot_be_are_refused(write: Callable[..., str], arguments: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="_bytes"):
        FixedLengthRecordDataset(write(b"ab"), *arguments)


# --- rows -------------------------------------------------------------------------------------------------------------


def test_rows_have_the_dtypes_said(write: Callable[..., str]) -> None:
    dataset = CsvDataset(write(b"1,2.5,abc,x\n-4,5e1,d,y"), [np.int32, 0.0, bytes, ""])
    assert dataset.element_spec == tuple(ps.Spec((), kind) for kind in (np.int32, np.float64, bytes, str))
    assert list(dataset) == [(1, 2.5, b"abc", "x"), (-4, 50, b"d", "y")]


def test_quotes_hold_delimiters_quotes_and_line_breaks(write: Callable[..., str]) -> None:
    dataset = CsvDataset(write(b'"a,b","c""d"\r\n"e\r\nf",\n'), [bytes, [b"none"]])
    assert list(dataset) == [(b"a,b", b'c"d'), (b"e\r\nf", b"none")]
    plain = CsvDataset(write(b'"a;b\n'), [bytes, bytes], field_delim=";", use_quote_delim=False)
    assert list(plain) == [(b'"a', b"b")]


def test_columns_are_selected_or_excluded(write: Callable[..., str]) -> None:
    name = write(b"h,i,j\n1,2,3\n4,5,6\n")
    assert list(CsvDataset(name, [int], header=True, select_cols=[1])) == [(2,), (5,)]
    assert list(CsvDataset(name, [int, int], header=True, exclude_cols=[1])) == [(1, 3), (4, 6)]


def test_many_rows_of_packed_files(write: Callable[..., str]) -> None:
    text = b"n,text\n" + b"".join(b"%d,row %d\n" % (n, n) for n in range(5000))
    names = [write(gzip.compress(text), name) for name in "ab"]
    dataset = CsvDataset(names, [np.int64, bytes], "GZIP", header=True)
    assert list(dataset) == [(n, b"row %d" % n) for n in range(5000)] * 2


BAD_ROWS: dict[str, tuple[bytes, list[Any], dict[str, Any], str]] = {
    "few": (b"1,2\n3\n", [int, int], {}, "line 2: a row of another number of fields; got 1 fields, expected 2"),
    "many": (b"1,2\n3,4,5\n", [int, int], {}, "got 3 fields, expected 2"),
    "few selected": (b"1,2\n3\n", [int], {"select_cols": [1]}, "got 1 fields, expected at least 2"),
    "missing": (b"1,2\n3,\n", [int, int], {}, "line 2, column 1: a required field is empty"),
    "na": (b"1,2\nNA,3\n", [int, int], {"na_value": "NA"}, "column 0: a required field is empty; got 'NA'"),
    "no int": (b"1,2\n3,x\n", [int, int], {}, "column 1: a field that is no such value; got 'x', expected int64"),
    "underscore": (b"1,2\n3,1_0\n", [int, float], {}, "got '1_0', expected float64"),
    "fraction": (b"1,2\n3,1.0\n", [int, int], {}, "got '1.0', expected int64"),
    "too large": (b"1,2\n3,300\n", [int, np.uint8], {}, "got '300', expected uint8"),
    "no text": (b"1,2\n3,\xff\n", [int, str], {}, "expected UTF-8"),
    "open quote": (b'1,2\n3,"abc\n', [int, bytes], {}, "line 2: not CSV; got unexpected end of data"),
    "after quote": (b'1,2\n3,"a"b\n', [int, bytes], {}, "line 2: not CSV"),
    "line in row": (b'1,2\n"3\n4",x\n', [bytes, int], {}, "line 3, column 1"),
    "line after rows": (b'"1\n\n0",2\n"3",x\n', [bytes, int], {}, "line 4, column 1"),
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_row_is_told_with_its_line(write: Callable[..., str], name: str) -> None:
    content, defaults, arguments, text = BAD_ROWS[name]
    path = write(content)
    elements, error = failing(CsvDataset(path, defaults, **arguments))
    assert len(elements) == 1
    assert type(error) is DecodeError
    assert text in str(error)
    assert f"{path}, line" in str(error)
    assert "CsvDataset at" in str(error)


def test_bad_rows_are_dropped_and_told(write: Callable[..., str]) -> None:
    path = write(b'1,2\n3\nx,5\n6,7,8\n9,10\n11,"a"b\n12,13\n')
    with CsvDataset(path, [int, int], on_error="skip").iterator() as iterator:
        assert list(iterator) == [(1, 2), (9, 10), (12, 13)]
        lines = [skipped.origin.rpartition("line ")[2][0] for skipped in iterator.skipped]
    assert lines == ["2", "3", "4", "6"]


def test_header_is_a_row(write: Callable[..., str]) -> None:
    path = write(b'"a\nb",c\n1,2\nx,3\n')
    elements, error = failing(CsvDataset(path, [int, int], header=True))
    assert elements == [(1, 2)]
    assert f"{path}, line 4, column 0" in str(error)
    _, error = failing(CsvDataset(write(b'"a'), [int], header=True))
    assert "line 1: not CSV" in str(error)


def test_header_of_an_empty_file_is_told(write: Callable[..., str]) -> None:
    _, error = failing(CsvDataset(write(b""), [int], header=True))
    assert "no header line" in str(error)


@pytest.mark.parametrize(
    "arguments",
    [
        {"record_defaults": []},
        {"record_defaults": int},
        {"record_defaults": [None]},
        {"record_defaults": [[1, 2]]},
        {"record_defaults": [bool]},
        {"field_delim": ",,"},
        {"field_delim": '"'},
        {"select_cols": [1, 0]},
        {"select_cols": [0]},
        {"select_cols": [0, -1]},
        {"select_cols": [0, 1], "exclude_cols": [2]},
        {"on_error": "ignore"},
    ],
)
def test_csv_arguments_that_cannot_be_are_refused(write: Callable[..., str], arguments: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=f"CsvDataset.*{HERE}|{HERE}.*CsvDataset"):
        CsvDataset(write(b"1,2\n"), **{"record_defaults": [int, int], **arguments})


@pytest.mark.parametrize("text", [b"", b"\n", b"a", b"a\n\nbc\r\n\r\n", b"a\r", b"\r\n\rx\r", b"xx\nyyyyyyyyy\nz"])
@pytest.mark.parametrize("chunk", [1, 3, 100])
def test_lines_are_cut_as_bytes_are_split(tmp_path: Path, text: bytes, chunk: int) -> None:
    (tmp_path / "a.txt").write_bytes(text)
    lines = text.split(b"\n")[: None if not text.endswith(b"\n") else -1] if text else []
    dataset = ps.TextLineDataset(tmp_path / "a.txt", buffer_size=chunk)
    assert list(dataset) == [line.removesuffix(b"\r") for line in lines]
