"""A saved trace reads back equal; what is damaged, cut short or of another version is refused, naming the field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import ReadError, WriteError
from penstock.machine.readings import AcceleratorReading, Capacities, Host, HostReading, Pressure
from penstock.telemetry.saved import load_trace, save_trace
from penstock.telemetry.trace import (
    Consumer,
    Interval,
    NodeTrace,
    Occupancy,
    Retrace,
    Sample,
    SlowElement,
    StageTrace,
    StepTrace,
    Trace,
    TuningEntry,
)

READING = HostReading(
    cores=(0.5, 1.0),
    rss_bytes=1,
    pressure=Pressure(cpu=0.1, memory=0.0, io=0.2),
    accelerators=(AcceleratorReading(index=0, name="H200", utilisation=0.3, throttled=("power cap",)),),
)
TRACE = Trace(
    source="penstock",
    loader="batch at train.py:12",
    host=Host(cpus=2, memory_bytes=10, capacities=Capacities(storage=1e9)),
    consumer=Consumer(steps=3, rows=64, starved_s=0.1, method="synchronous"),
    seconds=1.5,
    settings={"num_workers": 0, "pin_memory": False, "prefetch_factor": None, "share": 0.5, "name": "a"},
    stages=(
        StageTrace(id="0", kind="indexed", label="map", occupancy=(Occupancy(at_s=1, blocks=2, bytes=3, running=1),)),
    ),
    steps=(
        StepTrace(
            id="1", verb="map", label="map at a.py:1", stage="0", gil_s=0.5, element_s=(1.0, 2.0, 3.0, 4.0),
            slow=(SlowElement(origin="dog/1.jpg", seconds=4.0),),
        ),
    ),
    nodes=(NodeTrace(id="1", verb="map", label="map at a.py:1", facts={"buffer_size": 10, "path": "x"}),),
    intervals=(Interval(at_s=0.1, wait_s=0.2, ready=True),),
    samples=(Sample(at_s=0.5, host=READING),),
    tuning=(TuningEntry(at_s=1.0, knob="workers", stage="0", before=1, after=2, why="it is behind"),),
    retraces=(Retrace(step=3, leaf="x", before="(64, 3)", after="(32, 3)"),),
    notes=("measured here",),
)  # fmt: skip


def test_a_saved_trace_reads_back_equal(tmp_path: Path) -> None:
    save_trace(TRACE, tmp_path / "a.json")
    assert load_trace(tmp_path / "a.json") == TRACE
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def damaged(tmp_path: Path, change: Any) -> ReadError:
    save_trace(TRACE, tmp_path / "a.json")
    document = json.loads((tmp_path / "a.json").read_text())
    change(document)
    (tmp_path / "a.json").write_text(json.dumps(document))
    with pytest.raises(ReadError) as error:
        load_trace(tmp_path / "a.json")
    assert "a.json" in str(error.value)
    return error.value


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda d: d.update(version=2), "2"),
        (lambda d: d.update(format="other"), "not a trace"),
        (lambda d: d.pop("trace"), "trace"),
        (lambda d: d["trace"].update(seconds="long"), "Trace.seconds"),
        (lambda d: d["trace"].update(seconds=True), "Trace.seconds"),
        (lambda d: d["trace"].update(source="spdl"), "Trace.source"),
        (lambda d: d["trace"].update(news=1), "news"),
        (lambda d: d["trace"].pop("host"), "host"),
        (lambda d: d["trace"]["steps"][0].update(element_s=[1.0]), "Trace.steps[0].element_s"),
        (lambda d: d["trace"]["steps"][0]["slow"][0].update(seconds=None), "Trace.steps[0].slow[0].seconds"),
    ],
)
def test_damage_is_named(tmp_path: Path, change: Any, says: str) -> None:
    assert says in str(damaged(tmp_path, change))


def test_a_trace_cut_short_is_refused(tmp_path: Path) -> None:
    save_trace(TRACE, tmp_path / "a.json")
    whole = (tmp_path / "a.json").read_bytes()
    (tmp_path / "a.json").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ReadError, match="whole"):
        load_trace(tmp_path / "a.json")


def test_a_path_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="nowhere"):
        save_trace(TRACE, tmp_path / "nowhere" / "a.json")
    assert not list(tmp_path.iterdir())
