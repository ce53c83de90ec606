"""`penstock convert`: what comes out is what went in, a run goes on where one ended, and what changed is refused."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.cli.app import INTERRUPTED, run
from penstock.cli.convert import command
from penstock.cli.convert.encoding import as_members, resized
from penstock.cli.inspect.examples import features_of

COUNT = 12


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    """Two classes of JPEGs, 40 x 60."""
    for number in range(COUNT):
        folder = tmp_path / "photos" / ("cat", "dog")[number % 2]
        folder.mkdir(parents=True, exist_ok=True)
        image = np.full((40, 60, 3), number * 20, np.uint8)
        (folder / f"{number}.jpg").write_bytes(ps.io.encode_jpeg(image))
    return tmp_path / "photos"


def _shards(folder: Path) -> list[str]:
    return sorted(str(path) for path in folder.iterdir() if path.name != "convert.json")


def _examples(folder: Path, compression: str | None = None) -> list[dict[str, Any]]:
    return [features_of(record) for record in ps.TFRecordDataset(_shards(folder), compression)]


def _files(photos: Path) -> dict[str, bytes]:
    return {str(path.relative_to(photos)): path.read_bytes() for path in photos.rglob("*.jpg")}


def test_a_folder_becomes_examples(photos: Path, tmp_path: Path) -> None:
    assert run(["convert", str(photos), str(tmp_path / "out"), "--shards", "3"]) == 0
    names = [Path(name).name for name in _shards(tmp_path / "out")]
    assert names == [f"out-{number:05d}-of-00003.tfrecord" for number in range(3)]
    examples = _examples(tmp_path / "out")
    assert {one["image/filename"].decode(): one["image/encoded"] for one in examples} == _files(photos)
    for one in examples:
        assert one["image/filename"].startswith(one["image/class/text"])
        assert (one["image/format"], one["image/class/label"]) == (b"jpeg", one["image/class/text"] == b"dog")
    in_order = sorted(_files(photos))
    assert [one["image/filename"].decode() for one in examples] != in_order
    assert run(["convert", str(photos), str(tmp_path / "ordered"), "--no-shuffle", "--shards", "5"]) == 0
    assert [one["image/filename"].decode() for one in _examples(tmp_path / "ordered")] == in_order


def test_a_seed_says_the_order(photos: Path, tmp_path: Path) -> None:
    orders = []
    for number, seed in enumerate(("1", "1", "2")):
        assert run(["convert", str(photos), str(tmp_path / str(number)), "--seed", seed]) == 0
        orders.append([one["image/filename"] for one in _examples(tmp_path / str(number))])
    assert orders[0] == orders[1] != orders[2]


def test_a_folder_becomes_tar_and_records_and_tar_again(photos: Path, tmp_path: Path) -> None:
    assert run(["convert", str(photos), str(tmp_path / "a.tar"), "--shards", "2"]) == 0
    samples = list(ps.Dataset.from_tar(_shards(tmp_path / "a.tar")))
    assert {one["filename"].decode(): one["jpg"] for one in samples} == _files(photos)
    assert {(one["cls"], one["txt"]) for one in samples} == {(b"0", b"cat"), (b"1", b"dog")}
    assert [one["__key__"] for one in samples] == [f"{number:09d}" for number in range(COUNT)]

    assert run(["convert", str(tmp_path / "a.tar"), str(tmp_path / "b"), "--no-shuffle"]) == 0
    assert [one["jpg"] for one in _examples(tmp_path / "b")] == [one["jpg"] for one in samples]

    assert run(["convert", str(tmp_path / "b"), str(tmp_path / "c"), "--format", "tar", "--no-shuffle"]) == 0
    again = list(ps.Dataset.from_tar(_shards(tmp_path / "c")))
    assert [(one["jpg"], one["cls"], one["key"].decode()) for one in again] == [
        (one["jpg"], one["cls"], one["__key__"]) for one in samples
    ]


def test_records_stay_as_they_are(tmp_path: Path) -> None:
    with ps.io.TFRecordWriter(tmp_path / "r.tfrecord") as writer:
        for number in range(COUNT):
            writer.write(b"no example %d" % number)
    assert run(["convert", str(tmp_path / "r.tfrecord"), str(tmp_path / "out"), "--shards", "2"]) == 0
    found = list(ps.TFRecordDataset(_shards(tmp_path / "out")))
    assert sorted(found) == sorted(b"no example %d" % number for number in range(COUNT))


def test_parquet_becomes_examples_and_tar(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = {
        "id": list(range(COUNT)),
        "x": [number / 2 for number in range(COUNT)],
        "word": [f"w{number}" for number in range(COUNT)],
        "pair": [[number, 1] for number in range(COUNT)],
        "meta": [{"size": number} for number in range(COUNT)],
    }
    parquet.write_table(arrow.table(rows), tmp_path / "t.parquet", row_group_size=5)
    source = str(tmp_path / "t.parquet")
    assert run(["convert", source, str(tmp_path / "out"), "--shards", "2"]) == 0
    found = sorted(_examples(tmp_path / "out"), key=lambda one: int(one["id"]))
    assert [int(one["id"]) for one in found] == rows["id"]
    assert [float(one["x"]) for one in found] == rows["x"]
    assert [one["word"].decode() for one in found] == rows["word"]
    assert [one["pair"].tolist() for one in found] == rows["pair"]
    assert [int(one["meta/size"]) for one in found] == rows["id"]
    assert run(["convert", source, str(tmp_path / "out.tar"), "--no-shuffle"]) == 0
    samples = list(ps.Dataset.from_tar(_shards(tmp_path / "out.tar")))
    assert [(int(one["id"]), one["word"].decode(), int(one["meta.size"])) for one in samples] == list(
        zip(rows["id"], rows["word"], rows["id"], strict=True)
    )
    assert samples[0]["pair.npy"].startswith(b"\x93NUMPY")
    assert run(["convert", source, str(tmp_path / "some"), "--columns", "word,id", "--no-shuffle"]) == 0
    assert _examples(tmp_path / "some")[3] == {"id": 3, "word": b"w3"}


def test_rows_that_no_example_holds_are_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    parquet.write_table(arrow.table({"a": [1, 2], "deep": [[[1], [2, 3]], []]}), tmp_path / "t.parquet")
    assert run(["convert", str(tmp_path / "t.parquet"), str(tmp_path / "out")]) == 1
    line = capsys.readouterr().err
    assert line.startswith("penstock: Parquet, element ")
    assert "leave the column out by --columns" in line
    assert line.count("\n") == 1


def test_what_is_packed_is_read_once(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    packed = tmp_path / "packed"
    assert run(["convert", str(photos), str(packed), "--compression", "gzip"]) == 0
    assert _shards(packed)[0].endswith(".tfrecord.gz")
    assert run(["convert", str(packed), str(tmp_path / "out")]) == 1
    assert "--no-shuffle" in capsys.readouterr().err
    assert run(["convert", str(packed), str(tmp_path / "out.tar"), "--no-shuffle", "--shards", "2"]) == 0
    before = [one["image/encoded"] for one in _examples(packed, "GZIP")]
    found = [[one["jpg"] for one in ps.Dataset.from_tar(name)] for name in _shards(tmp_path / "out.tar")]
    assert found == [before[0::2], before[1::2]]


def test_packed_tar_shards_are_gzip(photos: Path, tmp_path: Path) -> None:
    assert run(["convert", str(photos), str(tmp_path / "out.tar"), "--compression", "gzip"]) == 0
    (name,) = _shards(tmp_path / "out.tar")
    assert name.endswith("out-00000-of-00001.tar.gz")
    assert len(gzip.decompress(Path(name).read_bytes())) > COUNT * 512
    assert len(list(ps.Dataset.from_tar(name))) == COUNT


def test_images_are_made_smaller(photos: Path, tmp_path: Path) -> None:
    assert run(["convert", str(photos), str(tmp_path / "out"), "--resize", "20", "--no-shuffle"]) == 0
    for one in _examples(tmp_path / "out"):
        image = ps.io.decode_jpeg(one["image/encoded"])
        number = int(Path(one["image/filename"].decode()).stem)
        assert image.shape == (20, 30, 3)
        assert np.abs(image.astype(int) - number * 20).max() <= 2


@pytest.mark.parametrize(("channels", "stored"), [(1, 1), (3, 3), (4, 3)])
def test_pngs_become_jpegs(channels: int, stored: int) -> None:
    png = ps.io.encode_png(np.full((30, 10, channels), 99, np.uint8))
    for side, shape in ((5, (15, 5, stored)), (50, (30, 10, stored))):
        found = resized({"png": png, "cls": b"1"}, side)
        assert list(found) == ["jpg", "cls"]
        assert ps.io.decode_jpeg(found["jpg"]).shape == shape


def test_a_jpeg_that_is_small_enough_stays() -> None:
    jpeg = ps.io.encode_jpeg(np.zeros((30, 10, 3), np.uint8))
    assert resized({"image/encoded": jpeg}, 10) == {"image/encoded": jpeg}


def _interrupted_at(monkeypatch: pytest.MonkeyPatch, most: int) -> list[int]:
    """From now on, a run is interrupted when it has encoded `most` elements. What it encodes: a list that grows."""
    seen: list[int] = []
    records = command._records

    def until(*arguments: Any) -> Iterator[bytes]:
        for record in records(*arguments):
            if len(seen) == most:
                raise KeyboardInterrupt
            seen.append(1)
            yield record

    monkeypatch.setattr(command, "_records", until)
    return seen


@pytest.mark.parametrize("kind", ["tfrecord", "tar"])
def test_a_run_goes_on_where_one_was_interrupted(
    kind: str, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    say = ["--shards", "4", "--format", kind]
    assert run(["convert", str(photos), str(tmp_path / "whole" / "out"), *say]) == 0
    with monkeypatch.context() as patch:
        _interrupted_at(patch, 7)
        assert run(["convert", str(photos), str(tmp_path / "out"), *say]) == INTERRUPTED
    left = {path.name for path in (tmp_path / "out").iterdir()}
    assert left == {"convert.json", *(f"out-{number:05d}-of-00004.{kind}" for number in range(2))}
    seen = _interrupted_at(monkeypatch, 1000)
    assert run(["convert", str(photos), str(tmp_path / "out"), *say]) == 0
    assert len(seen) == 6
    assert "2 of 4 shards are there already" in capsys.readouterr().out
    for one, other in zip(_shards(tmp_path / "out"), _shards(tmp_path / "whole" / "out"), strict=True):
        assert Path(one).read_bytes() == Path(other).read_bytes()
    assert run(["convert", str(photos), str(tmp_path / "out"), *say]) == 0
    assert len(seen) == 6


def test_what_a_killed_run_left_is_removed(photos: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / ".converting-out-00000-of-00001.tfrecord").write_bytes(b"half")
    assert run(["convert", str(photos), str(tmp_path / "out")]) == 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"convert.json", "out-00000-of-00001.tfrecord"}


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (["--shards", "3"], "shards is another than the shards there were made with; got 3, expected 2"),
        (["--seed", "9"], "seed is another"),
        (["--no-shuffle"], "shuffle is another"),
        (["--resize", "20"], "resize is another"),
        (["--format", "tar"], "format is another"),
        (["--compression", "zlib"], "compression is another"),
    ],
)
def test_other_arguments_are_refused(
    other: list[str], says: str, photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["convert", str(photos), str(tmp_path / "out")]
    assert run([*said, "--shards", "2"]) == 0
    assert run([*said, "--shards", "2", *other]) == 1
    line = capsys.readouterr().err
    assert says in line
    assert "--overwrite" in line
    assert line.count("\n") == 1


def test_a_source_that_changed_is_refused_and_made_anew(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said = ["convert", str(photos), str(tmp_path / "out"), "--shards", "2"]
    assert run(said) == 0
    (photos / "cat" / "0.jpg").write_bytes(ps.io.encode_jpeg(np.zeros((8, 8, 3), np.uint8)))
    assert run(said) == 1
    line = capsys.readouterr().err
    assert "0.jpg: another size or time of change; got 1 files that differ" in line
    assert "--overwrite" in line
    (photos / "dog" / "new.jpg").write_bytes(ps.io.encode_jpeg(np.zeros((8, 8, 3), np.uint8)))
    assert run([*said[:-1], "3", "--overwrite"]) == 0
    assert len(_shards(tmp_path / "out")) == 3
    assert {one["image/filename"].decode(): one["image/encoded"] for one in _examples(tmp_path / "out")} == _files(
        photos
    )
    assert len(json.loads((tmp_path / "out" / "convert.json").read_text())["sources"]) == COUNT + 1


def test_another_version_is_refused(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = ["convert", str(photos), str(tmp_path / "out")]
    assert run(said) == 0
    path = tmp_path / "out" / "convert.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "version": "0.0.1"}))
    assert run(said) == 1
    assert "another version of penstock; got 0.0.1" in capsys.readouterr().err
    assert run([*said, "--overwrite"]) == 0
    path.write_text("[]")
    assert run(said) == 1
    assert "no list of what was packed" in capsys.readouterr().err


def test_what_others_wrote_is_left_alone(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "thesis.tex").write_text("all of it")
    for more in ([], ["--overwrite"]):
        assert run(["convert", str(photos), str(tmp_path / "out"), *more]) == 1
        assert "no convert wrote it; got thesis.tex; name another" in capsys.readouterr().err
    assert (tmp_path / "out" / "thesis.tex").read_text() == "all of it"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["none", "out"], "there is no such file"),
        (["text.txt", "out"], "nothing that can be packed; got .txt"),
        (["photos", "photos/out"], "inside their source"),
        (["photos", "text.txt"], "a file; expected a folder"),
        (["photos", "out", "--shards", "13"], "more shards than elements; got --shards 13, expected at most 12"),
        (["photos", "out", "--columns", "a"], "--columns; got a folder source, expected Parquet"),
        (["photos", "out", "--format", "zip"], "--format; got 'zip', expected tfrecord or tar"),
        (["photos", "out.tar", "--compression", "zlib"], "--compression of tar; got 'zlib', expected GZIP"),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: list[str], says: str, photos: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tmp_path = photos.parent
    monkeypatch.chdir(tmp_path)
    (tmp_path / "text.txt").write_text("text")
    assert run(["convert", *arguments]) == 1
    line = capsys.readouterr().err
    assert says in line
    assert line.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_a_damaged_image_is_one_line_and_leaves_nothing_half(
    photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = photos / "dog" / "3.jpg"
    path.write_bytes(path.read_bytes()[:200])
    assert run(["convert", str(photos), str(tmp_path / "out"), "--resize", "20"]) == 1
    line = capsys.readouterr().err
    assert "3.jpg" in line
    assert line.count("\n") == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["convert.json"]


def test_only_one_writes_at_a_time(photos: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("fcntl")
    with command.held(tmp_path / "out"):
        assert run(["convert", str(photos), str(tmp_path / "out")]) == 1
    assert "another one writes there; wait for it" in capsys.readouterr().err


def test_members_of_long_and_odd_names_are_read_again(tmp_path: Path) -> None:
    sample = {"é" * 90: b"1", "t": "ü", "n": np.float32(1.5), "when": np.datetime64("2020-01-02")}
    (tmp_path / "one.tar").write_bytes(as_members(7, sample) + bytes(1024))
    (found,) = ps.Dataset.from_tar(tmp_path / "one.tar")
    assert found == {"__key__": "000000007", "é" * 90: b"1", "t": "ü".encode(), "n": b"1.5", "when": b"2020-01-02"}
