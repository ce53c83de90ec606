"""Which pipelines index the text files they read, and what an index gives."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import penstock as ps
from penstock import Dataset, Options, TextLineDataset
from penstock.errors import DecodeError, NotIndexableError, ReadError
from penstock.graph.nodes import IndexedLines
from penstock.graph.walk import nodes_of
from penstock.optimize.index_files import with_indices

LINES = [b"line %d" % number for number in range(100)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "lines.txt").write_bytes(b"\n".join(LINES))
    return tmp_path / "lines.txt"


def is_indexed(dataset: Dataset) -> bool:
    return any(isinstance(node, IndexedLines) for node in nodes_of(with_indices(dataset._node)))


PIPELINES: dict[str, tuple[Callable[[Dataset], Dataset], bool]] = {
    "nothing": (lambda lines: lines, False),
    "stream": (lambda lines: lines.map(len).filter(bool).batch(4).repeat(), False),
    "shuffle": (lambda lines: lines.shuffle(10), True),
    "shuffle of batches": (lambda lines: lines.map(len).batch(4).repeat(2).skip(1).shuffle().map(str), True),
    "shuffle of what is filtered": (lambda lines: lines.filter(bool).shuffle(10), False),
    "shuffle of what has no end": (lambda lines: lines.repeat().shuffle(10), True),
    "filtered after": (lambda lines: lines.shuffle(10).filter(bool), True),
    "slice": (lambda lines: lines[3:9], True),
}


@pytest.mark.parametrize("name", PIPELINES)
def test_lines_are_indexed_where_their_numbers_are_wanted(path: Path, name: str) -> None:
    make, expected = PIPELINES[name]
    assert is_indexed(make(TextLineDataset(path))) is expected


def test_packed_lines_have_no_index(tmp_path: Path) -> None:
    (tmp_path / "empty.gz").touch()
    lines = TextLineDataset(tmp_path / "empty.gz", "GZIP")
    assert not is_indexed(lines.shuffle(3))
    with pytest.raises(NotIndexableError, match="reads its files from their start"):
        _ = lines[0]


@pytest.mark.parametrize("skip_rules", [frozenset[str](), frozenset(["shuffle_to_permutation"])])
def test_shuffle_permutes_all_lines_whatever_its_buffer(path: Path, skip_rules: frozenset[str]) -> None:
    options = Options(skip_rules=skip_rules)
    small, whole = (list(TextLineDataset(path).shuffle(n, seed=3).with_options(options)) for n in (2, None))
    assert small == whole
    assert sorted(small) == sorted(LINES)
    assert small != LINES


def test_lines_are_had_by_number(path: Path) -> None:
    lines = TextLineDataset(path)
    assert lines[17] == LINES[17]
    assert lines[-1] == LINES[-1]
    assert list(lines[90:10:-20]) == LINES[90:10:-20]
    assert lines.cardinality() == ps.UNKNOWN_CARDINALITY
    with pytest.raises(IndexError):
        _ = lines[100]


def test_shuffled_lines_resume_by_position(path: Path) -> None:
    with TextLineDataset(path).shuffle().iterator(epoch=2) as iterator:
        before = [next(iterator) for _ in range(40)]
        state = iterator.state_dict()
    with TextLineDataset(path).shuffle().iterator() as iterator:
        iterator.load_state_dict(state)
        assert sorted([*before, *iterator]) == sorted(LINES)


def test_invalid_text_by_number_names_file_line_and_byte(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"one\ntwo\n")
    (tmp_path / "b").write_bytes(b"three\nfo\xffr\n")
    lines = TextLineDataset([tmp_path / "a", tmp_path / "b"], encoding="utf-8")
    assert lines[2] == "three"
    with pytest.raises(DecodeError, match=rf"{tmp_path}/b, line 2, byte 8"):
        _ = lines[3]


def test_index_is_read_anew_when_a_file_has_changed(path: Path) -> None:
    lines = TextLineDataset(path)
    assert lines[1] == LINES[1]
    content = path.read_bytes()
    path.write_bytes(b"\n" + content[1:])
    os.utime(path, ns=(1, 1))
    assert lines[0] == b""
    path.write_bytes(content[:-3])
    for use in (lambda: lines[1], lambda: list(lines.shuffle())):
        with pytest.raises(ReadError, match="has changed since the dataset was made"):
            use()


def test_nested_lines_are_permuted_too(path: Path) -> None:
    nested: Any = Dataset.range(1).flat_map(lambda _: TextLineDataset(path).shuffle(2))
    found = list(nested)
    assert sorted(found) == sorted(LINES)
    assert max(abs(found.index(line) - place) for place, line in enumerate(LINES)) > 20
