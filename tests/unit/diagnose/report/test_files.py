"""JSON, Perfetto's events and TensorBoard's: each read back, whatever the trace lacks."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from penstock.diagnose import diagnose
from penstock.diagnose.report import as_json, write_events, write_json, write_perfetto
from penstock.diagnose.report.events import scalars_event
from penstock.diagnose.report.perfetto import events_of
from penstock.errors import WriteError
from penstock.kernels.record import scan_records
from penstock.machine.readings import Host
from penstock.telemetry.saved import read_record
from penstock.telemetry.trace import Consumer, Trace
from tests.unit.diagnose.full import FULL, STEPS

EMPTY = Trace(source="iterable", loader="", host=Host(cpus=1, memory_bytes=0), consumer=Consumer())


def test_json_holds_the_diagnosis_and_the_trace() -> None:
    diagnosis = diagnose(FULL)
    document = json.loads(as_json(FULL, diagnosis))
    assert document["format"] == "penstock-report"
    assert document["diagnosis"] == json.loads(diagnosis.to_json())
    assert read_record(Trace, document["trace"]) == FULL


@pytest.mark.parametrize("trace", [FULL, EMPTY])
def test_perfetto_events_have_what_the_format_asks_for(trace: Trace, tmp_path: Path) -> None:
    document = json.loads(write_perfetto(trace, tmp_path / "a.json").read_text())
    for event in document["traceEvents"]:
        assert {"ph", "pid", "name", "args"} <= event.keys()
        assert event["ph"] == "M" or event["ts"] >= 0
        assert event["ph"] != "X" or event["dur"] >= 0


def test_perfetto_shows_waits_steps_starving_counters_and_decisions() -> None:
    events = list(events_of(FULL))

    def count(**wanted: Any) -> int:
        return sum(all(event.get(name) == value for name, value in wanted.items()) for event in events)

    assert count(name="waiting for input", ph="X") == STEPS
    assert count(name="step", ph="X") == STEPS - 1
    assert count(name="starving", ph="X") == STEPS
    assert count(ph="i", tid=3) == 2
    assert count(name="cores busy", ph="C") == len(FULL.samples)
    assert count(name="accelerator 0: power, W", ph="C") == len(FULL.samples)
    assert count(name="image: (64, 224, 224, 3) -> (16, 224, 224, 3)") == 1


def test_of_thinned_steps_perfetto_shows_the_waits_alone() -> None:
    thinned = replace(FULL, intervals=FULL.intervals[::2])
    assert not [event for event in events_of(thinned) if event["name"] == "step"]


def test_an_events_file_is_whole_records(tmp_path: Path) -> None:
    data = np.frombuffer(write_events(FULL, tmp_path / "new" / "run", diagnose(FULL)).read_bytes(), np.uint8)
    found = scan_records(data, verify=True, skips=False)
    assert list(found.faults) == []
    assert len(found.starts) == 1 + 2 + STEPS + len(FULL.samples) + sum(len(one.occupancy) for one in FULL.stages)


def test_tensorboards_own_reader_reads_it_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("tensorboard")
    monkeypatch.setitem(sys.modules, "tensorboard.compat.notf", ModuleType("notf"))  # it reads without TensorFlow too
    accumulator = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    write_events(FULL, tmp_path, diagnose(FULL))
    reader = accumulator.EventAccumulator(str(tmp_path), {"scalars": 0, "tensors": 0})
    reader.Reload()
    waits = reader.Scalars("trainer/wait_s")
    assert [one.step for one in waits] == list(range(STEPS))
    assert [one.value for one in waits] == pytest.approx([one.wait_s for one in FULL.intervals])
    assert waits[3].wall_time == pytest.approx(FULL.began_at + FULL.intervals[3].at_s)
    assert len(reader.Scalars("accelerator 0/utilisation")) == len(FULL.samples)
    assert {"host/rss_bytes", "stage 0/waiting_blocks", "trainer/starved_s"} <= set(reader.Tags()["scalars"])
    assert reader.Tensors("penstock/verdict")[0].tensor_proto.string_val[0].decode() == diagnose(FULL).line


def test_events_import_neither_tensorflow_nor_torch() -> None:
    import penstock.diagnose.report.events
    import penstock.diagnose.report.tensorboard

    for module in (penstock.diagnose.report.events, penstock.diagnose.report.tensorboard):
        assert not {"tensorflow", "torch", "tensorboard"} & set(vars(module))


def test_an_event_is_the_bytes_that_protobuf_writes() -> None:
    framed = scalars_event(1.5, 300, {"a": 2.0})
    assert framed[12:-4] == bytes.fromhex("09 000000000000f83f 10 ac02 2a 0a 0a 08 0a 01 61 15 00000040")


@pytest.mark.parametrize("trace", [FULL, EMPTY])
def test_paths_that_cannot_be_written_are_errors(trace: Trace, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "none" / "a", tmp_path / "file" / "a"):
        with pytest.raises(WriteError):
            write_json(trace, diagnose(trace), path)
        with pytest.raises(WriteError):
            write_perfetto(trace, path)
    with pytest.raises(WriteError, match="the folder cannot be made"):
        write_events(trace, tmp_path / "file")
    assert [one.name for one in tmp_path.iterdir()] == ["file"]
