"""What `penstock.diagnose` takes: a trace, the path of one, an iterator, a watched loader."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps
from penstock.errors import ReadError
from penstock.telemetry.saved import save_trace
from tests.unit.diagnose.traces import ours


def test_a_saved_trace_is_diagnosed_as_the_trace_is(tmp_path: Path) -> None:
    save_trace(ours(), tmp_path / "a.json")
    assert ps.diagnose(tmp_path / "a.json") == ps.diagnose(ours()) == ps.diagnose(str(tmp_path / "a.json"))


def test_a_path_without_a_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ReadError):
        ps.diagnose(tmp_path / "none.json")
    (tmp_path / "cut.json").write_text('{"format": "penstock-trace", "ver')
    with pytest.raises(ReadError, match="not a whole JSON document"):
        ps.diagnose(tmp_path / "cut.json")


def test_an_iterator_is_diagnosed_while_it_runs_and_after() -> None:
    with ps.Dataset.range(100).map(lambda n: n + 1).batch(4).iterator() as batches:
        assert batches.diagnose().verdict.kind == "unknown"
        for _ in batches:
            pass
    diagnosis = batches.diagnose()
    assert diagnosis.verdict.kind != "unknown"
    assert ps.diagnose(batches).verdict.kind == diagnosis.verdict.kind


def test_a_shuffle_of_the_whole_range_is_not_blamed_for_its_buffer() -> None:
    with ps.Dataset.range(5000).shuffle(10).batch(50).iterator() as batches:
        list(batches)
    assert [node.facts.get("how") for node in batches.trace().nodes if node.verb == "shuffle"] == ["permutation"]
    assert "small_shuffle_buffer" not in [one.kind for one in batches.diagnose().findings]


def test_a_small_buffer_over_a_stream_is_blamed() -> None:
    stream = ps.Dataset.from_generator(
        lambda: iter(range(2000)), output_signature=ps.TensorSpec((), "int64")
    ).assert_cardinality(2000)
    with stream.shuffle(10).batch(50).iterator() as batches:
        list(batches)
    assert "small_shuffle_buffer" in [one.kind for one in batches.diagnose().findings]


def test_a_watched_loader_is_diagnosed() -> None:
    watched = ps.watch([1, 2, 3, 4, 5, 6])
    for _ in watched:
        pass
    assert ps.diagnose(watched).verdict.kind in ("compute-bound", "balanced", "input-bound")


def test_the_folder_can_be_called_when_it_was_imported_first() -> None:
    code = "import penstock.diagnose.rules.cache, penstock; print(callable(penstock.diagnose))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.strip() == "True"
