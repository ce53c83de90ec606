"""What a process under the doctor leaves behind, and when."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from penstock.cli.doctor.gather import faults, gather
from penstock.machine.readings import HostReading
from penstock.probes.child import Child
from penstock.probes.fetching import Fetches
from penstock.probes.worker import worker_file
from penstock.telemetry.saved import load_trace
from penstock.telemetry.trace import Sample
from tests.unit.probes.test_watch import Time, batches


class Owner:
    """Something that a loader is."""


@pytest.fixture
def child(tmp_path: Path) -> Child:
    """A process that has asked a loader for three batches."""
    time = Time()
    made = Child(tmp_path)
    made.book.now = time
    made.book.began = lambda: None  # no thread that samples
    recording = made.book.recording(owner := Owner(), "torch", "Loader")
    recording.dataset, recording.dataset_ids = "Rows", {7: None}
    for batch in batches(4, 4, 4):
        made.book.ask(recording, lambda batch=batch: batch)
        time.at += 1.0
    del owner
    return made


def test_a_process_that_lives_on_leaves_a_trace_that_says_it_was_cut(child: Child, tmp_path: Path) -> None:
    child._saved_at -= 3600
    child._looked()
    trace = load_trace(tmp_path / f"trace-{os.getpid()}-0.json")
    assert trace.consumer.steps == 3
    assert "without a word" in trace.cut
    child.end()
    assert load_trace(tmp_path / f"trace-{os.getpid()}-0.json").cut == ""


def test_an_end_is_written_once(child: Child, tmp_path: Path) -> None:
    child.end()
    for path in tmp_path.iterdir():
        path.unlink()
    child.end()
    assert list(tmp_path.iterdir()) == []


def test_a_status_tells_the_panel_how_it_goes(child: Child, tmp_path: Path) -> None:
    child._status_at -= 3600
    child._looked()
    status = json.loads((tmp_path / f"status-{os.getpid()}.json").read_text())
    assert (status["steps"], status["step_s"], status["waiting"], status["rows_each"]) == (3, 1.0, 0.0, 4.0)


def test_a_folder_that_is_gone_harms_no_script(child: Child, tmp_path: Path) -> None:
    child._directory = tmp_path / "gone"
    child._status_at -= 3600
    child._saved_at -= 3600
    child._looked()
    child.end()


def test_a_worker_dies_of_sigterm_as_before(child: Child) -> None:
    before = signal.signal(signal.SIGTERM, child._terminated)
    try:
        child.book.began_worker()
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    finally:
        signal.signal(signal.SIGTERM, before)


def test_a_patch_that_failed_is_told_though_nothing_was_seen(tmp_path: Path) -> None:
    made = Child(tmp_path)
    made.failed("torch", AttributeError("no\nsuch thing"))
    made.end()
    assert faults(tmp_path) == ["torch is not instrumented: no such thing"]
    assert gather(tmp_path, []) == []


def test_traces_are_gathered_with_their_workers_and_the_hosts_samples(child: Child, tmp_path: Path) -> None:
    child.end()
    for process, worker in ((1, "0"), (2, "1"), (3, "0")):
        fetches = Fetches("Rows", 7, worker)
        fetches.made.add(process, 0.25)
        fetches.save(worker_file(str(tmp_path), os.getpid(), process))
    Fetches("Rows", 8, "5").save(worker_file(str(tmp_path), os.getpid(), 4))
    began = load_trace(tmp_path / f"trace-{os.getpid()}-0.json").began_at
    sample = Sample(at_s=0.0, host=HostReading(cores=(0.5,)))
    (gathered,) = gather(tmp_path, [(began - 5, sample), (began + 0.5, sample), (began + 500, sample)], "a note")
    (trace,) = gathered.traces
    assert [(worker.id, worker.elements) for worker in trace.workers] == [("0", 2), ("1", 1)]
    assert trace.steps[0].busy_s == 0.75
    assert [round(one.at_s, 2) for one in trace.samples] == [0.5]
    assert "a note" in trace.notes
