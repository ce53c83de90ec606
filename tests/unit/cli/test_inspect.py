"""`penstock inspect`: what it says of each format, and that it finds what is damaged."""

from __future__ import annotations

import contextlib
import io
import os
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock import Dataset, Ragged
from penstock.cli.app import run
from penstock.cli.inspect.examples import NotAnExampleError, features_of
from penstock.cli.inspect.look import look_at, picture_of, text_of


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


def _png(value: int = 9) -> bytes:
    return ps.io.encode_png(np.full((20, 30, 3), value, np.uint8))


def _element(n: Any) -> dict[str, Any]:
    return {"image": np.full((8, 200, 3), n, np.uint8), "n": n, "text": "a" * int(n), "png": _png(int(n))}


def _example(number: int) -> bytes:
    """A tf.train.Example by hand: bytes "name", int64 "n" (packed), float "x" (packed)."""

    def field(tag: int, content: bytes) -> bytes:
        return bytes([tag << 3 | 2, len(content)]) + content

    features = {
        b"n": field(3, field(1, bytes([number, 0x81, 0x01]))),
        b"name": field(1, field(1, b"a" * number)),
        b"x": field(2, field(1, np.array([number / 2], "<f4").tobytes())),
    }
    return field(1, b"".join(field(1, field(1, name) + field(2, value)) for name, value in features.items()))


@pytest.fixture
def here(tmp_path: Path) -> Path:
    Dataset.range(20).map(_element).save(tmp_path / "saved")
    np.save(tmp_path / "a.npy", np.arange(30.0).reshape(10, 3))
    (tmp_path / "t.txt").write_text("one\ntwo é\n")
    (tmp_path / "t.csv").write_text("n,x,s\n1,2.5,a\n2,3,b\n")
    with ps.io.TFRecordWriter(tmp_path / "r.tfrecord") as writer:
        for number in range(6):
            writer.write(_example(number))
    (tmp_path / "l.jsonl").write_text('{"a": 1, "s": "x"}\n{"a": 2, "s": "yy"}\n')
    with tarfile.open(tmp_path / "s.tar", "w") as tar:
        for number in range(3):
            for field, data in (("png", _png(number)), ("txt", b"x" * number)):
                info = tarfile.TarInfo(f"{number:04}.{field}")
                info.size = len(data)
                tar.addfile(info, io.BytesIO(data))
    for name in ("cat", "dog"):
        (tmp_path / "photos" / name).mkdir(parents=True)
        (tmp_path / "photos" / name / "1.png").write_bytes(_png())
    return tmp_path


SAID: dict[str, list[str]] = {
    "saved": ["kept elements (.npy)", "elements  20", "uint8[8, 200, 3]", "str[]", "0 B to 19 B, median", "0 to 19"],
    "a.npy": ["NumPy array (.npy)", "float64 (10, 3)", "0 to 29", "[3] 0.0, 1.0, 2.0"],
    "t.txt": ["text", "lines         2", "4 to 7, median 6", "'two é'"],
    "t.csv": ["CSV", "2 and a header", "int64[]", "float64[]", "'b'"],
    "r.tfrecord": ["TFRecord", "tf.train.Example", "int64[2]", "float32[]", "0 to 129", "bytes[]", "0 to 2.5"],
    "l.jsonl": ["JSON lines", "int64[]", "1 to 2", "'yy'"],
    "s.tar": ["tar of samples", "__key__", "png", "0 B to 2 B", "'0001'"],
    "photos": ["folder of classes", "2: cat 1, dog 1", "bytes[]", "'cat'"],
    "photos/cat/1.png": ["image", "bytes[]"],
}


@pytest.mark.parametrize("name", SAID)
def test_inspect_says_what_it_is(name: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = here / "page.html"
    assert run(["inspect", str(here / name), "--verify", "--html", str(page)]) == 0
    told = capsys.readouterr().out
    assert [said for said in SAID[name] if said not in told] == []
    assert "right" in told
    html = page.read_text(encoding="utf-8")
    assert html.startswith("<!doctype html>")
    assert ("data:image/png;base64," in html) == (name in ("saved", "s.tar", "photos", "photos/cat/1.png"))


def test_inspect_reads_parquet(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"id": range(9), "word": [f"w{n}" for n in range(9)]}), tmp_path / "t.parquet")
    assert run(["inspect", str(tmp_path / "t.parquet"), "--verify"]) == 0
    told = capsys.readouterr().out
    assert [said for said in ("Parquet", "elements  9", "int64[]", "0 to 8", "'w1'", "right") if said not in told] == []


def test_inspect_says_who_made_a_cache(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    list(Dataset.range(3).map(lambda x: x + 1).cache(tmp_path / "c"))
    assert run(["inspect", str(tmp_path / "c")]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert "made by range at" in told
    assert "map at" in told


def _flip(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))


def test_verify_finds_a_flipped_bit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (file,) = (here / "saved").glob("*/0.image.npy")
    _flip(file)
    assert run(["inspect", str(here / "saved")]) == 0
    assert run(["inspect", str(here / "saved"), "--verify"]) == 1
    told = capsys.readouterr()
    assert "0.image.npy: CRC-32" in "".join(told.out.split("\n"))
    assert "it is damaged; got 1 faults" in told.err


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("t.txt", b"good\n\xff\xfe bad\n", "invalid start byte"),
        ("t.csv", b"a,b\n1,2\n3\n", "row 3: 1 fields, expected 2"),
        ("photos/cat/1.png", None, "1.png"),
    ],
)
def test_verify_tells_what_is_wrong(
    name: str, content: bytes | None, says: str, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = here / name
    path.write_bytes(path.read_bytes()[:-30] if content is None else content)
    target = here / "photos" if content is None else path
    assert run(["inspect", str(target), "--verify"]) == 1
    told = capsys.readouterr()
    assert says in told.out.replace("\n", "")


def test_verify_finds_a_damaged_record(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _flip(here / "r.tfrecord")
    assert run(["inspect", str(here / "r.tfrecord"), "--verify"]) == 1
    assert "r.tfrecord" in capsys.readouterr().out


@given(st.binary(max_size=40))
def test_bytes_are_an_example_or_not(data: bytes) -> None:
    with contextlib.suppress(NotAnExampleError):
        features_of(data)


@given(st.integers(0, 20), st.integers(0, 60))
def test_an_example_that_is_cut_is_none(number: int, length: int) -> None:
    whole = _example(number)
    if 0 < length < len(whole):
        with pytest.raises(NotAnExampleError):
            features_of(whole[:length])
    assert features_of(whole)["n"].tolist() == [number, 129]


def test_inspect_tells_what_it_does_not_know(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "b.bin").write_bytes(bytes(range(256)))
    assert run(["inspect", str(tmp_path / "b.bin")]) == 1
    assert "nothing that is known" in capsys.readouterr().err
    assert run(["inspect", str(tmp_path / "none")]) == 1
    assert "no such file or directory" in capsys.readouterr().err
    assert run(["inspect", str(tmp_path / "b.bin"), "--samples", "-1"]) == 2


def test_a_page_that_cannot_be_written_is_one_line(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["inspect", str(here / "a.npy"), "--html", str(here / "no" / "page.html")]) == 1
    assert "page.html: cannot write" in capsys.readouterr().err


def test_look_merges_shapes_and_ranges() -> None:
    look = look_at(
        Dataset.range(5).map(lambda n: {"a": np.arange(n + 1), "r": Ragged.from_rows([np.arange(n), [7]])}), 2
    )
    assert look.count == 5
    first, ragged = look.features
    assert (str(first.spec), first.range_text, first.size_text) == ("int64[?]", "0 to 4", "8 B to 40 B, median 24 B")
    assert ragged.range_text == "0 to 7"
    assert len(look.samples) == 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"\0\1", r"2 B: b'\x00\x01'"),
        ("a" * 200, "'" + "a" * 59 + "..."),
        (np.float32(1.5), "1.5"),
        (np.arange(20).reshape(4, 5), "[4x5] 0, 1, 2, 3, 4, 5, ..."),
    ],
)
def test_leaves_are_shown_on_part_of_a_line(value: Any, text: str) -> None:
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (np.zeros((300, 150, 3), np.uint8), (128, 64, 3)),
        (np.zeros((20, 30), np.uint8), (20, 30, 3)),
        (_png(), (20, 30, 3)),
        (b"\x89PNG broken", None),
        (np.zeros((300, 150, 3), np.float32), None),
        (np.zeros((3, 2), np.uint8), None),
        ("text", None),
    ],
)
def test_pictures_are_small(value: Any, size: tuple[int, ...] | None) -> None:
    data = picture_of(value)
    assert (None if data is None else ps.io.decode_png(data, 3).shape) == size
