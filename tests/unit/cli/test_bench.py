"""`penstock bench`: it finds what it is told, measures it, and says in one line what it cannot."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.cli.app import run
from penstock.cli.bench.command import lines
from penstock.cli.bench.drive import drive
from penstock.cli.bench.rows import rows_in
from penstock.cli.bench.target import Target, target_of
from penstock.errors import PenstockError, SourceError

SCRIPT = """
import penstock as ps

dataset = ps.Dataset.range(1000).map(lambda n: n * 2).batch(10)

class Holder:
    inner = dataset

def make():
    return ps.Dataset.range(40)

def needs(folder):
    return dataset

def fails():
    raise KeyError("images")

def once():
    return iter([1, 2, 3])

number = 3
empty = ps.Dataset.range(0)
"""


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "bench_target_script.py"
    path.write_text(SCRIPT)
    return str(path)


class Clock:
    """A second passes at each look."""

    def __init__(self) -> None:
        self.at = 0.0

    def __call__(self) -> float:
        self.at += 1.0
        return self.at


class Batches:
    """A loader of three batches of eight."""

    batch_size = 8

    def __iter__(self) -> Iterator[dict[str, Any]]:
        for _ in range(3):
            yield {"x": (np.zeros((8, 2)), 1)}


@pytest.mark.parametrize("name", ["dataset", "Holder.inner"])
def test_bench_measures_a_dataset_of_a_script(name: str, script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", f"{script}:{name}", "--seconds", "0.1", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["elements"] == pytest.approx(10 * told["batches"])
    assert told["elements_per_s"] > 0
    assert told["rss_peak_bytes"] >= told["rss_before_bytes"] > 0
    assert told["cpu_s_per_element"] > 0
    assert "trace" not in told


def test_bench_calls_a_function_that_returns_one(script: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", f"{script}:make", "--seconds", "0.1"]) == 0
    assert "elements/s" in capsys.readouterr().out


def test_bench_makes_a_pipeline_of_a_folder_of_images(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.png").write_bytes(ps.io.encode_png(np.full((12, 10, 3), 9, np.uint8)))
    assert run(["bench", str(tmp_path), "--seconds", "0.1", "--image-size", "8", "--batch-size", "2"]) == 0
    out = capsys.readouterr().out
    assert "resized to 8x8" in out.replace("\n", " ")


def test_a_folder_of_classes_is_read_with_all_of_them(tmp_path: Path) -> None:
    for name in ("cat", "dog"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "one.png").write_bytes(ps.io.encode_png(np.full((12, 10, 3), 9, np.uint8)))
    images, labels = next(iter(target_of(str(tmp_path), 4, 8).loader))
    assert (images.shape, labels.tolist()) == ((2, 8, 8, 3), [0, 1])


@pytest.mark.parametrize(
    ("name", "said"),
    [
        (":nothing", "no 'nothing' in this script"),
        (":number", "'number' is no dataset; got builtins.int"),
        (":needs", "'needs' cannot be called without arguments"),
        (":fails", "fails() failed; got KeyError: 'images'"),
        (":empty", "it gives no element"),
        (":once", "it can be iterated only once"),
        ("", "which dataset of this script?; got dataset, empty"),
    ],
)
def test_what_cannot_be_measured_is_one_line(
    name: str, said: str, script: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", script + name, "--seconds", "0.1"]) == 1
    line = capsys.readouterr().err
    assert said in line
    assert line.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("import nothing_of_that_name", ":1: bench: the script failed while it was imported; got ModuleNotFoundError"),
        ("\n\n1 / 0", ":3: bench: the script failed"),
        ("def (", ":1: bench: the script failed"),
        ("raise SystemExit(3)", "ended itself while it was imported; got exit status 3"),
    ],
)
def test_a_script_that_fails_is_one_line_with_its_line(
    content: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bench_broken_script.py").write_text(content)
    assert run(["bench", f"{tmp_path / 'bench_broken_script.py'}:x"]) == 1
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("text", ["nowhere.py:dataset", "nowhere", "nowhere.py"])
def test_what_is_not_there_is_one_line(text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", str(tmp_path / text)]) == 1
    assert "no such" in capsys.readouterr().err


def test_a_folder_without_images_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(PenstockError, match="no image in this folder"):
        target_of(str(tmp_path), 4, 8)


def test_drive_takes_for_so_long_and_leaves_the_first_batch_out_of_the_rate() -> None:
    figures = drive(Batches(), 10.0, now=Clock())
    assert figures.elements == 8 * figures.batches
    assert figures.epochs > 1
    assert figures.elements_per_s == pytest.approx((figures.elements - 8) / (figures.seconds - figures.first_s))


def test_drive_tells_how_far_it_is() -> None:
    told: list[tuple[float, int, int | None]] = []
    drive([1, 2, 3, 4], 6.0, lambda *given: told.append(given), now=Clock())
    assert [batches for _, batches, _ in told] == sorted(batches for _, batches, _ in told)
    assert told[0][2] is None  # a list does not say what a batch is


def test_drive_closes_what_it_opened() -> None:
    with pytest.raises(SourceError):
        drive(ps.Dataset.range(0), 1.0)
    trace = drive(ps.Dataset.range(10**6).batch(4), 5.0, now=Clock()).trace
    assert trace is not None
    assert trace.consumer.rows == 4 * trace.consumer.steps


class _BatchDataset:
    _input_dataset = None


class _Prefetch:
    _input_dataset = _BatchDataset()


class _UnbatchDataset:
    _input_dataset = _BatchDataset()


@pytest.mark.parametrize(
    ("loader", "batch", "rows"),
    [
        (ps.Dataset.range(9).batch(3), np.zeros((3, 2)), 3),
        (ps.Dataset.range(9).batch(3).unbatch(), np.zeros((3, 2)), 1),
        (Batches(), [[np.zeros((8, 2))]], 8),
        (Batches(), {"x": ["a", "b"]}, None),
        (Batches(), [], None),
        (Batches(), np.float32(3), None),
        (_Prefetch(), np.zeros((5, 2)), 5),
        (_UnbatchDataset(), np.zeros((5, 2)), None),
        ([1], np.zeros((5, 2)), None),
    ],
)
def test_rows_are_counted_where_a_loader_says_that_it_makes_batches(
    loader: Iterable[Any], batch: Any, rows: int | None
) -> None:
    assert rows_in(loader)(batch) == rows


def test_lines_of_a_foreign_loader_name_batches_and_no_limit() -> None:
    told = dict(lines(Target("x", [1]), drive([1, 2], 5.0, now=Clock()), None))
    assert "batches" in told["delivered"]
    assert "per batch" in told["CPU"]
    assert told["limits"] == "known of Penstock's own pipelines only"
