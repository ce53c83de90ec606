"""Entries of a directory: what is written comes back, complete or not at all, and what is damaged is told."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import Ragged
from penstock.block.block import Block
from penstock.block.collate import column_of
from penstock.block.origin import SourceOrigins
from penstock.block.tree import structure_of
from penstock.errors import DecodeError, PenstockError, ReadError, UnsupportedValueError, WriteError
from penstock.formats.stored.data import StoredData, StoredWriter, checksum, open_entry, open_stored
from penstock.formats.stored.directory import entries

COUNT = 10


class Named(NamedTuple):
    left: Any
    right: Any


ROWS: dict[str, list[Any]] = {
    "numbers": list(range(COUNT)),
    "arrays": [np.full((2, 3), n) for n in range(COUNT)],
    "shapes that differ": [np.full((n + 1, 2), n) for n in range(COUNT)],
    "shapes that come to differ": [np.full((2, n // 5 + 1), n) for n in range(COUNT)],
    "large": [np.full(1000, n) for n in range(COUNT)],
    "empty": [np.zeros((0, 3)) for _ in range(COUNT)],
    "dates": [np.datetime64("2020-01-01") + n for n in range(COUNT)],
    "half": [np.float16(n) for n in range(COUNT)],
    "text": [f"row {n} \udc80é" for n in range(COUNT)],
    "bytes": [b"\0" * n for n in range(COUNT)],
    "text arrays": [np.array([f"a{n}", ""], dtype=object) for n in range(COUNT)],
    "ragged text arrays": [np.array(["a"] * (n + 1), dtype=object) for n in range(COUNT)],
    "ragged": [Ragged.from_rows([np.arange(n), np.arange(3)], np.int32) for n in range(COUNT)],
    "ragged of ragged": [Ragged.from_rows([Ragged.from_rows([np.arange(n), np.ones(2, int)])]) for n in range(COUNT)],
    "ragged text": [Ragged.from_rows([["a"] * n, ["b", "é"]]) for n in range(COUNT)],
    "dicts": [{"a": (n, f"{n}"), 3: np.ones(2) * n} for n in range(COUNT)],
    "named": [Named(n, n / 2) for n in range(COUNT)],
}


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def _indices(values: Any) -> Any:
    return np.array(values, dtype=np.int64)


def _block(rows: list[Any]) -> Block:
    structure = structure_of(rows[0])
    leaves = zip(*(structure.flatten(row) for row in rows), strict=True)
    index = np.arange(len(rows), dtype=np.int64)
    return Block(structure, tuple(column_of(list(leaf)) for leaf in leaves), SourceOrigins(0, "", index))


def _written(directory: Path, rows: list[Any], order: list[int], size: int) -> StoredWriter:
    writer = StoredWriter(directory, has_ids=True)
    for start in range(0, len(order), size):
        chosen = order[start : start + size]
        writer.write(_indices(chosen), _block([rows[i] for i in chosen]))
    return writer


def _elements(data: StoredData, positions: Any) -> list[Any]:
    index = _indices(positions)
    return list(Block(data.structure, data.columns(index), SourceOrigins(0, "", index)).elements())


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return [type(value).__name__, *map(_plain, value)]
    if isinstance(value, Ragged):
        return [str(value.dtype), str(value.row_splits.dtype), value.to_list()]
    array = np.asarray(value)
    return [str(array.dtype if array.dtype.kind != "U" else "str"), list(array.shape), array.tolist()]


@pytest.mark.parametrize("kind", ROWS)
@settings(max_examples=max(4, settings().max_examples // 20))
@given(order=st.permutations(range(COUNT)), size=st.integers(1, COUNT))
def test_rows_come_back_as_they_were(kind: str, order: list[int], size: int, tmp_path_factory: Any) -> None:
    directory = tmp_path_factory.mktemp("kept")
    writer = _written(directory, ROWS[kind], order, size)
    index = _indices(order)
    before = [_plain(row) for row in writer.read(index, SourceOrigins(0, "", index)).elements()]
    assert before == [_plain(ROWS[kind][i]) for i in order]
    assert writer.commit("entry", COUNT)
    data = open_stored(directory)
    assert [_plain(row) for row in _elements(data, range(COUNT))] == [_plain(row) for row in ROWS[kind]]
    assert [_plain(row) for row in _elements(data, order[:3])] == [_plain(ROWS[kind][i]) for i in order[:3]]
    part = Block(data.structure, data.slices(3, 7), SourceOrigins(0, "", _indices(range(3, 7))))
    assert [_plain(row) for row in part.elements()] == [_plain(row) for row in ROWS[kind][3:7]]


def _entry(directory: Path, rows: list[Any] | None = None) -> Path:
    rows = ROWS["arrays"] if rows is None else rows
    assert _written(directory, rows, list(range(len(rows))), 4).commit("entry", len(rows))
    return directory / "entry"


def test_numpy_reads_the_files(tmp_path: Path) -> None:
    entry = _entry(tmp_path)
    found = np.load(entry / "0.element.npy", mmap_mode="r")
    assert np.array_equal(found, np.stack(ROWS["arrays"]))


def test_what_is_read_is_read_only(tmp_path: Path) -> None:
    data = open_entry(_entry(tmp_path))
    (column,) = data.slices(0, 3)
    assert not column.row(0).flags.writeable


def test_checksums_are_those_of_the_files(tmp_path: Path) -> None:
    entry = _entry(tmp_path)
    sums = open_entry(entry).manifest.sums
    assert sums == {name: checksum(entry / name) for name in ("0.element.npy", "ids.npy")}


def test_an_open_entry_outlives_its_files(tmp_path: Path) -> None:
    entry = _entry(tmp_path)
    data = open_entry(entry)
    for path in entry.iterdir():
        path.unlink()
    assert _plain(_elements(data, [4])[0]) == _plain(ROWS["arrays"][4])


def test_nothing_is_there_before_it_is_complete(tmp_path: Path) -> None:
    writer = _written(tmp_path, ROWS["text"], list(range(COUNT)), 3)
    assert entries(tmp_path) == []
    with pytest.raises(ReadError, match="nothing is kept there"):
        open_stored(tmp_path)
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_the_first_of_two_writers_wins(tmp_path: Path) -> None:
    first = _written(tmp_path, ROWS["text"], list(range(COUNT)), 3)
    second = _written(tmp_path, ROWS["text"], list(range(COUNT)), 3)
    assert len(list(tmp_path.glob(".writing-*.lock"))) == 2
    assert second.commit("entry", COUNT)
    assert not first.commit("entry", COUNT)
    assert [path.name for path in tmp_path.iterdir()] == ["entry"]
    assert _elements(open_stored(tmp_path), [2]) == [ROWS["text"][2]]


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1])


def _append(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"\0")


def _other_header(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content.replace(b"(10, 2, 3)", b"(12, 2, 3)"))


@pytest.mark.parametrize("damage", [_cut, _append, _other_header])
@pytest.mark.parametrize("name", ["0.element.npy", "ids.npy"])
def test_a_damaged_file_is_found_when_it_is_opened(damage: Any, name: str, tmp_path: Path) -> None:
    if damage is _other_header and name == "ids.npy":
        return
    entry = _entry(tmp_path)
    damage(entry / name)
    with pytest.raises(DecodeError, match=name):
        open_entry(entry)


def test_a_span_beyond_the_items_is_told(tmp_path: Path) -> None:
    entry = _entry(tmp_path, ROWS["bytes"])
    path = entry / "0.element.spans.npy"
    content = bytearray(path.read_bytes())
    content[-8:] = (10**9).to_bytes(8, "little")
    path.write_bytes(bytes(content))
    data = open_entry(entry)
    assert _elements(data, [3]) == [ROWS["bytes"][3]]
    with pytest.raises(DecodeError, match="kept elements are damaged"):
        _elements(data, [COUNT - 1])


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    entry = _entry(tmp_path)
    (entry / "ids.npy").unlink()
    with pytest.raises(ReadError, match=r"ids\.npy"):
        open_entry(entry)


def test_a_newer_version_is_told(tmp_path: Path) -> None:
    path = _entry(tmp_path) / "manifest.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": 2}))
    with pytest.raises(DecodeError, match=r"another version.*got 2, expected 1.*Penstock that wrote it"):
        open_stored(tmp_path)


@settings(max_examples=max(30, settings().max_examples // 3))
@given(data=st.data())
def test_a_manifest_of_anything_is_refused_or_read(data: st.DataObject, tmp_path_factory: Any) -> None:
    directory = tmp_path_factory.mktemp("kept")
    path = _entry(directory, ROWS["ragged text"]) / "manifest.json"
    document = json.loads(path.read_text())
    place: Any = document
    for _ in range(data.draw(st.integers(0, 4))):
        keys = list(place) if isinstance(place, dict) else list(range(len(place))) if isinstance(place, list) else []
        inner = [key for key in keys if isinstance(place[key], dict | list)]
        if not inner:
            break
        place = place[data.draw(st.sampled_from(inner))]
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    if keys:
        junk = st.sampled_from([None, -1, 2**62, "x", "../../etc/passwd", [], {}, [1], "0.element.npy", "O", 0.5, True])
        place[data.draw(st.sampled_from(keys))] = data.draw(junk)
    path.write_text(json.dumps(document))
    try:
        opened = open_entry(path.parent)
        _elements(opened, range(min(opened.count, COUNT)))
    except PenstockError:
        pass


def test_a_directory_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(WriteError, match=r"cannot write what is kept.*Not a directory"):
        StoredWriter(tmp_path / "file" / "kept", has_ids=False)


def test_keys_that_json_does_not_know_are_refused(tmp_path: Path) -> None:
    writer = _written(tmp_path, [{(1, 2): 3}], [0], 1)
    with pytest.raises(UnsupportedValueError, match=r"\(1, 2\)"):
        writer.commit("entry", 1)
    assert list(tmp_path.iterdir()) == []


def test_no_elements_are_kept_too(tmp_path: Path) -> None:
    assert StoredWriter(tmp_path, has_ids=True).commit("entry", 0)
    assert open_stored(tmp_path).count == 0


def test_a_named_tuple_is_of_its_class_where_it_is_known(tmp_path: Path) -> None:
    entry = _entry(tmp_path, ROWS["named"])
    (first,) = _elements(open_entry(entry), [1])
    assert type(first) is Named
    text = (entry / "manifest.json").read_text().replace(__name__, "nowhere")
    (entry / "manifest.json").write_text(text)
    (other,) = _elements(open_entry(entry), [1])
    assert (type(other).__name__, other._fields) == ("Named", ("left", "right"))
