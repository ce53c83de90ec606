"""Arrays and tokens in files: what is read, and what a file that does not fit gets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset
from penstock.errors import DecodeError, InvalidArgumentError, PenstockError, ReadError

TOKENS = np.arange(1000, dtype=np.uint16)


@pytest.fixture
def tokens(tmp_path: Path) -> Path:
    TOKENS.tofile(tmp_path / "tokens.bin")
    return tmp_path / "tokens.bin"


def test_rows_of_npy(tmp_path: Path) -> None:
    rows = np.arange(24, dtype=np.int16).reshape(4, 2, 3)
    np.save(tmp_path / "rows.npy", rows)
    dataset = Dataset.from_array_file(tmp_path / "rows.npy")
    assert dataset.element_spec == ps.Spec((2, 3), "int16")
    assert np.array_equal(np.stack(list(dataset)), rows)


@pytest.mark.parametrize("shape", [(500, 2), (-1, 2), (None, 2)])
def test_raw_file_has_the_shape_said(tokens: Path, shape: Any) -> None:
    dataset = Dataset.from_array_file(str(tokens), "uint16", shape)
    assert len(dataset) == 500
    assert dataset[-1].tolist() == [998, 999]


def test_other_byte_order_is_made_native(tmp_path: Path) -> None:
    np.save(tmp_path / "big.npy", np.arange(5, dtype=">f8"))
    batch = next(iter(Dataset.from_array_file(tmp_path / "big.npy").batch(5)))
    assert batch.dtype.isnative
    assert batch.tolist() == [0, 1, 2, 3, 4]


def test_bfloat16_of_npy_is_said(tmp_path: Path) -> None:
    ml_dtypes = pytest.importorskip("ml_dtypes")
    np.save(tmp_path / "half.npy", np.arange(4).astype(ml_dtypes.bfloat16))
    dataset = Dataset.from_array_file(tmp_path / "half.npy", ml_dtypes.bfloat16)
    assert [float(x) for x in dataset] == [0, 1, 2, 3]


def test_npy_without_rows_is_empty(tmp_path: Path) -> None:
    np.save(tmp_path / "none.npy", np.empty((0, 3)))
    assert list(Dataset.from_array_file(tmp_path / "none.npy").batch(2)) == []


@pytest.mark.parametrize(("length", "stride", "count"), [(100, None, 10), (101, 100, 9), (1000, None, 1), (3, 1, 998)])
def test_windows_of_tokens(tokens: Path, length: int, stride: int | None, count: int) -> None:
    dataset = Dataset.tokens(tokens, "uint16", length, stride)
    assert len(dataset) == count
    for place in (0, count // 2, count - 1):
        start = place * (stride or length)
        assert np.array_equal(dataset[place], TOKENS[start : start + length])


def test_batches_are_aligned_and_writable(tokens: Path) -> None:
    for batch in Dataset.tokens(tokens, "uint16", 33).shuffle().batch(4):
        assert batch.ctypes.data % 64 == 0
        assert batch.flags.writeable


def test_shuffled_windows_are_all_of_them(tokens: Path) -> None:
    batches = list(Dataset.tokens(tokens, "uint16", 10).shuffle().batch(7))
    starts = sorted(int(row[0]) for batch in batches for row in batch)
    assert starts == list(range(0, 1000, 10))
    assert all(np.array_equal(row, TOKENS[row[0] : row[0] + 10]) for batch in batches for row in batch)


def _bad_header(path: Path) -> None:
    path.write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': 1}    ")


def _cut(path: Path) -> None:
    np.save(path, np.arange(100))
    path.write_bytes(path.read_bytes()[:-9])


BAD_FILES: dict[str, tuple[Callable[[Path], Any], dict[str, Any], type[PenstockError], str]] = {
    "missing": (lambda path: None, {"dtype": "u2"}, ReadError, "No such file"),
    "directory": (lambda path: path.mkdir(), {"dtype": "u2"}, ReadError, "a directory"),
    "empty": (lambda path: path.touch(), {"dtype": "u2"}, DecodeError, "the file is empty"),
    "odd size": (
        lambda path: path.write_bytes(b"123"),
        {"dtype": "u2"},
        DecodeError,
        "got 3 bytes, expected a multiple",
    ),
    "odd rows": (
        lambda path: path.write_bytes(b"123456"),
        {"dtype": "u2", "shape": (-1, 2)},
        DecodeError,
        "got 6 bytes, expected a multiple of 4",
    ),
    "few rows": (lambda path: path.write_bytes(b"1234"), {"dtype": "u1", "shape": (5,)}, DecodeError, "expected 5"),
    "no dtype": (lambda path: path.write_bytes(b"1234"), {}, InvalidArgumentError, "needs its dtype"),
    "text dtype": (lambda path: path.write_bytes(b"1234"), {"dtype": "S2"}, InvalidArgumentError, "dtype of numbers"),
    "no dtype at all": (
        lambda path: path.write_bytes(b"1"),
        {"dtype": "nothing"},
        InvalidArgumentError,
        "a NumPy dtype",
    ),
    "bad header": (_bad_header, {}, DecodeError, "a broken .npy header"),
    "cut short": (_cut, {}, DecodeError, "cut short"),
    "objects": (lambda path: np.save(path, np.array([{}])), {}, DecodeError, "text or objects"),
    "text": (lambda path: np.save(path, np.array(["a"])), {}, DecodeError, "text or objects"),
    "records": (lambda path: np.save(path, np.zeros(3, "i4,f4")), {}, InvalidArgumentError, "dtype of numbers"),
    "Fortran": (lambda path: np.save(path, np.zeros((3, 2), order="F")), {}, DecodeError, "Fortran"),
    "one number": (lambda path: np.save(path, np.float32(3)), {}, DecodeError, "no rows"),
    "another dtype": (lambda path: np.save(path, np.zeros(3)), {"dtype": "f4"}, InvalidArgumentError, "another dtype"),
    "another shape": (
        lambda path: np.save(path, np.zeros((3, 2))),
        {"shape": (-1, 3)},
        InvalidArgumentError,
        "another shape",
    ),
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_file_that_does_not_fit_is_named(tmp_path: Path, name: str) -> None:
    make, arguments, kind, text = BAD_FILES[name]
    path = tmp_path / "file.npy"
    make(path)
    with pytest.raises(kind, match=text) as caught:
        Dataset.from_array_file(path, **arguments)
    assert "test_array_files.py" in str(caught.value.where)
    assert "nothing" in str(caught.value) or str(path) in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"length": 0}, "length"),
        ({"length": 1001}, "less than one window"),
        ({"length": 3, "stride": 0}, "stride"),
        ({"length": 2.5}, "length"),
    ],
)
def test_windows_that_cannot_be_are_refused(tokens: Path, arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(InvalidArgumentError, match=text):
        Dataset.tokens(tokens, "uint16", **arguments)


def test_tokens_are_flat(tmp_path: Path) -> None:
    np.save(tmp_path / "rows.npy", np.zeros((4, 2), np.uint16))
    with pytest.raises(InvalidArgumentError, match="not a flat file"):
        Dataset.tokens(tmp_path / "rows.npy", None, 2)


def test_path_that_is_none_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="a path"):
        Dataset.from_array_file(3)  # type: ignore[arg-type]


def test_file_changed_before_it_is_read_is_told(tokens: Path) -> None:
    dataset = Dataset.tokens(tokens, "uint16", 10)
    tokens.write_bytes(b"12")
    with pytest.raises(ReadError, match="has changed since the dataset was made; got 2 bytes, expected 2000") as caught:
        list(dataset)
    assert "tokens at" in str(caught.value)
    tokens.unlink()
    with pytest.raises(ReadError, match="No such file"):
        list(dataset)


def test_file_cut_while_it_is_read_is_told(tokens: Path) -> None:
    iterator = iter(Dataset.tokens(tokens, "uint16", 10).with_options(ps.Options(executor="inline", block_size=1)))
    assert next(iterator)[0] == 0
    with tokens.open("r+b") as file:
        file.truncate(100)
    with pytest.raises(ReadError, match="has changed"):
        list(iterator)
