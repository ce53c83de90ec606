"""A trace for ui.perfetto.dev and chrome://tracing: Chrome's trace events, as JSON.

Three threads: what the trainer did (waiting, working), what its device did where that is known (starving), what was
decided meanwhile. Counters: blocks that wait after each stage, cores, memory, accelerators. Microseconds from the
opening of the loader. Of a trace whose steps were thinned, waits stand alone: how long a step took is not known then.

Source: "Trace Event Format" (Google, docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from penstock.diagnose.report.file import write_whole
from penstock.telemetry.trace import Trace

_PROCESS = 1
_TRAINER, _DEVICE, _TUNING = 1, 2, 3
_THREADS = {_TRAINER: "trainer", _DEVICE: "device", _TUNING: "decisions"}

Event = dict[str, Any]


def write_perfetto(trace: Trace, path: str | os.PathLike[str]) -> Path:
    """Write the events; the path. Raises: WriteError."""
    document = {"traceEvents": list(events_of(trace)), "displayTimeUnit": "ms", "otherData": {"loader": trace.loader}}
    return write_whole("trace for Perfetto", path, json.dumps(document).encode())


def events_of(trace: Trace) -> Iterator[Event]:
    """The events, by kind."""
    yield {"ph": "M", "pid": _PROCESS, "name": "process_name", "args": {"name": trace.loader or trace.source}}
    for thread, name in _THREADS.items():
        yield {"ph": "M", "pid": _PROCESS, "tid": thread, "name": "thread_name", "args": {"name": name}}
    yield from _steps(trace)
    yield from _decisions(trace)
    yield from _counters(trace)


def _steps(trace: Trace) -> Iterator[Event]:
    for number, one in enumerate(trace.intervals):
        yield _slice(_TRAINER, "waiting for input", one.at_s, one.wait_s, {"request": number, "ready": one.ready})
        if one.starved_s:
            yield _slice(_DEVICE, "starving", one.at_s + one.wait_s - one.starved_s, one.starved_s, {"request": number})
    if len(trace.intervals) >= trace.consumer.steps:
        for number, (one, following) in enumerate(pairwise(trace.intervals)):
            began_s = one.at_s + one.wait_s
            yield _slice(_TRAINER, "step", began_s, max(following.at_s - began_s, 0.0), {"step": number})


def _decisions(trace: Trace) -> Iterator[Event]:
    for entry in trace.tuning:
        told = {"why": entry.why, "predicted": entry.predicted, "realised": entry.realised}
        name = f"{entry.knob} of {entry.stage}: {entry.before} -> {entry.after}"
        yield {"ph": "i", "s": "t", "pid": _PROCESS, "tid": _TUNING, "ts": _us(entry.at_s), "name": name, "args": told}
    for one in trace.retraces:
        if len(trace.intervals) >= trace.consumer.steps and one.step < len(trace.intervals):
            at_s, name = trace.intervals[one.step].at_s, f"{one.leaf}: {one.before} -> {one.after}"
            yield {"ph": "i", "s": "t", "pid": _PROCESS, "tid": _TRAINER, "ts": _us(at_s), "name": name, "args": {}}


def _counters(trace: Trace) -> Iterator[Event]:
    for stage in trace.stages:
        for one in stage.occupancy:
            yield _counter(f"after {stage.label}", one.at_s, {"blocks": one.blocks, "running": one.running})
    for sample in trace.samples:
        host = sample.host
        if host.cores:
            yield _counter("cores busy", sample.at_s, {"cores": sum(host.cores)})
        yield _counter("memory", sample.at_s, {"bytes": host.rss_bytes})
        for device in host.accelerators:
            known = {"utilisation": device.utilisation, "SM activity": device.sm_activity, "power, W": device.power_w}
            for name, value in known.items():
                if value is not None:
                    yield _counter(f"accelerator {device.index}: {name}", sample.at_s, {name: value})


def _slice(thread: int, name: str, at_s: float, seconds: float, told: Mapping[str, Any]) -> Event:
    return {
        "ph": "X", "pid": _PROCESS, "tid": thread, "name": name, "ts": _us(at_s), "dur": _us(seconds), "args": told,
    }  # fmt: skip


def _counter(name: str, at_s: float, values: Mapping[str, float]) -> Event:
    return {"ph": "C", "pid": _PROCESS, "name": name, "ts": _us(at_s), "args": values}


def _us(seconds: float) -> float:
    return round(seconds * 1e6, 1)
