"""JSON lines: values and their types, streamed and by position, and lines that are no element."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from penstock import Dataset, Options, Spec
from penstock.errors import DecodeError, InvalidArgumentError, PenstockError, StructureError


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., str]:
    def put(content: bytes, name: str = "a.jsonl") -> str:
        (tmp_path / name).write_bytes(content)
        return str(tmp_path / name)

    return put


def lines(rows: list[Any], end: str = "\n") -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + end for row in rows).encode()


def failing(dataset: Dataset) -> tuple[list[Any], PenstockError]:
    """The elements that came and the error that ended them: streamed, in blocks of one, and by position."""
    ends = []
    for way in (dataset.with_options(Options(block_size=1)), dataset, dataset[:]):
        elements: list[Any] = []
        with pytest.raises(PenstockError) as caught:
            elements.extend(way)
        ends.append((elements, caught.value))
    assert ends[0][0] == ends[1][0] == ends[2][0]
    assert str(ends[0][1]) == str(ends[1][1]) == str(ends[2][1])
    return ends[0]


ROWS = [{"n": n, "x": n / 4, "t": f"é{n}", "l": list(range(n % 3)), "o": {"b": n % 2 == 0}} for n in range(1, 300)]


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_dicts_of_values(write: Callable[..., str], end: str) -> None:
    dataset = Dataset.from_json_lines(write(lines(ROWS, end)))
    elements = [{**e, "l": e["l"].tolist()} for e in dataset]
    assert elements == ROWS
    assert dataset.element_spec["l"] == Spec((None,), np.int64)
    assert dataset.element_spec["o"] == {"b": Spec((), np.bool_)}
    assert [int(e["n"]) for e in dataset[200:3:-50]] == [201, 151, 101, 51]
    assert sorted(int(e["n"]) for e in dataset.shuffle(7)) == list(range(1, 300))


def test_packed_lines_stream(write: Callable[..., str]) -> None:
    dataset = Dataset.from_json_lines(write(gzip.compress(lines(ROWS))), compression_type="GZIP")
    assert [int(e["n"]) for e in dataset] == list(range(1, 300))
    assert "a buffer of 7" in dataset.shuffle(7).explain()


def test_files_come_one_after_another(write: Callable[..., str], tmp_path: Path) -> None:
    for first in (0, 10):
        write(lines([{"n": n} for n in range(first, first + 10)]), f"{first:02d}.jsonl")
    dataset = Dataset.from_json_lines(str(tmp_path / "*.jsonl"))
    assert [int(e["n"]) for e in dataset] == list(range(20))
    assert int(dataset[15]["n"]) == 15


def test_signature_says_dtypes_and_keys(write: Callable[..., str]) -> None:
    name = write(b'{"a": 1, "b": [], "c": null}\n{"b": [1.5, 2], "a": 2.0, "d": "x"}\n')
    spec = {"a": Spec((), np.int32), "b": Spec((None,), np.float32)}
    first, second = Dataset.from_json_lines(name, output_signature=spec)
    assert (first["a"].dtype, first["b"].dtype, first["b"].tolist()) == (np.int32, np.float32, [])
    assert (int(second["a"]), second["b"].tolist()) == (2, [1.5, 2.0])


def test_integers_may_stand_for_floats(write: Callable[..., str]) -> None:
    values = [e["x"] for e in Dataset.from_json_lines(write(b'{"x": 1.5}\n{"x": 2}\n'))]
    assert [(type(value), float(value)) for value in values] == [(np.float64, 1.5), (np.float64, 2.0)]


@pytest.mark.parametrize(
    ("line", "kind", "message"),
    [
        (b'{"n": 3,}', DecodeError, r"line 3, byte 26: not JSON: .*property name"),
        (b'{"n": "x"}', DecodeError, r"line 3, byte 18: 'n' is no such value; got 'x', expected int64"),
        (b'{"n": 1.5}', DecodeError, r"'n' is no such value; got 1.5"),
        (b'{"n": null}', DecodeError, r"line 3, byte 18: 'n' is null"),
        (b"", DecodeError, r"line 3, byte 18: not JSON"),
        (b"[1]", DecodeError, r"line 3, byte 18: not an object; got \[1\]"),
        (b'{"m": 1}', StructureError, r"line 3, byte 18: another structure"),
        (b'{"n": 1, "m": 1}', StructureError, r"line 3, byte 18: another structure"),
        (b'{"n": 123456789012345678901234}', PenstockError, r"line 3, byte 18: 'n': an integer beyond int64"),
        (b'{"n": "\xff"}', DecodeError, r"line 3, byte 25: invalid utf-8"),
        (b"[" * 100_000, DecodeError, r"line 3, byte 18: not JSON"),
        (b'{"n": 1}, {"n": 2}', DecodeError, r"line 3, byte 26: not JSON: Extra data"),
        (b'{"n": ' + b"9" * 5000 + b"}", DecodeError, r"line 3, byte 18: not JSON"),
    ],
    ids=lambda value: repr(value)[:20] if isinstance(value, bytes) else "",
)
def test_line_that_is_no_element_is_told_with_its_place(
    write: Callable[..., str], line: bytes, kind: type[Exception], message: str
) -> None:
    name = write(b'{"n": 1}\n{"n": 2}\n' + line + b'\n{"n": 4}\n')
    elements, error = failing(Dataset.from_json_lines(name))
    assert [int(e["n"]) for e in elements] == [1, 2]
    assert isinstance(error, kind)
    with pytest.raises(PenstockError, match=message):
        raise error
    assert name in str(error)
    iterator = iter(Dataset.from_json_lines(name, on_error="skip"))
    assert [int(e["n"]) for e in iterator] == [1, 2, 4]
    assert len(iterator.skipped) == 1


def test_first_line_that_is_no_element_is_told_at_once(write: Callable[..., str]) -> None:
    with pytest.raises(DecodeError, match=r"test_json_lines.py:\d+: .*a.jsonl, line 1, byte 1"):
        Dataset.from_json_lines(write(b"{\n"))
    with pytest.raises(DecodeError, match="no line in any file"):
        Dataset.from_json_lines(write(b""))
    with pytest.raises(InvalidArgumentError, match="expected a dict"):
        Dataset.from_json_lines(write(b"{}"), output_signature=Spec((), np.int64))


def test_resumes(write: Callable[..., str]) -> None:
    dataset = Dataset.from_json_lines(write(lines(ROWS)))
    iterator = iter(dataset)
    for _ in range(123):
        next(iterator)
    other = iter(dataset)
    other.load_state_dict(iterator.state_dict())
    assert int(next(other)["n"]) == 124
