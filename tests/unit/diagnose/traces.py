"""Traces made by hand: a run of each kind, as a loader of Penstock's or another's would tell it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from penstock.machine.readings import AcceleratorReading, Host, HostReading, Pressure
from penstock.telemetry.trace import Consumer, Interval, NodeTrace, Sample, StageTrace, StepTrace, Trace, WorkerTrace

GIB = 2**30
HOST = Host(cpus=8, memory_bytes=16 * GIB)
STEP_S = 0.05


def consumer(
    wait_s: float, steps: int = 101, rows: int | None = None, work_s: float = STEP_S, **parts: Any
) -> Consumer:
    """A trainer that waits `wait_s` at each step after the first, and works for `work_s`; it waits for its device."""
    rest = steps - 1
    ready = 0 if wait_s > 0.001 else rest
    told: dict[str, Any] = {
        "steps": steps, "rows": 64 * steps if rows is None else rows, "wait_s": 0.5 + wait_s * rest,
        "between_s": work_s * rest, "first_s": 0.5, "method": "synchronous", "ready": ready, "requests": steps,
    }  # fmt: skip
    return Consumer(**{**told, **parts})


def samples(cores: float = 0.9, count: int = 30, **parts: Any) -> tuple[Sample, ...]:
    """One each second; `used`: utilisation of an accelerator at each."""
    used, throttled = parts.pop("used", None), parts.pop("throttled", ())
    rss = parts.pop("rss", lambda second: GIB)
    return tuple(
        Sample(
            at_s=second,
            host=HostReading(
                cores=(cores,) * HOST.cpus, rss_bytes=int(rss(second)), available_bytes=8 * GIB,
                accelerators=() if used is None else (
                    AcceleratorReading(index=0, name="H200", utilisation=used(second), throttled=throttled),
                ),
                **parts,
            ),
        )
        for second in range(count)
    )  # fmt: skip


def step(verb: str = "map", busy_s: float = 8.0, **parts: Any) -> StepTrace:
    label = parts.pop("label", f"{verb} at train.py:12")
    told = {"id": label, "stage": "0", "elements": 6464, "cpu_s": busy_s, **parts}
    return StepTrace(verb=verb, label=label, busy_s=busy_s, **told)


def op(verb: str, busy_s: float, of: str = "map at train.py:12", **parts: Any) -> StepTrace:
    told = {"cpu_s": busy_s, **parts}
    return StepTrace(id=f"{of}/{verb}", verb=verb, label=verb, stage="0", part_of=of, busy_s=busy_s, **told)


def stage(**parts: Any) -> StageTrace:
    return StageTrace(**{"id": "0", "kind": "indexed", "label": "map -> batch", "workers": 8, **parts})


def node(verb: str, line: int, *inputs: str, **parts: Any) -> NodeTrace:
    return NodeTrace(id=verb, verb=verb, label=f"{verb} at train.py:{line}", inputs=inputs, **parts)


def ours(wait_s: float = 0.05, **parts: Any) -> Trace:
    """A run of Penstock's own, input-bound by default: its map keeps eight workers busy."""
    steps = parts.pop("steps", (step(busy_s=70.0),))
    if steps and steps[0].verb != "batch":
        steps = (step("batch", 0.5, label="batch at train.py:14", elements=101), *steps)
    told: dict[str, Any] = {
        "source": "penstock", "loader": "batch at train.py:14", "host": HOST, "consumer": consumer(wait_s),
        "seconds": 0.5 + 100 * (wait_s + STEP_S), "stages": (stage(),), "steps": steps,
        "samples": samples(),
    }  # fmt: skip
    return Trace(**{**told, **parts})


def foreign(source: str, wait_s: float = 0.05, cores: float = 0.2, **parts: Any) -> Trace:
    """A run of another's loader, of which only the trainer's side, the host and its settings are known."""
    settings = parts.pop("settings", {})
    told: dict[str, Any] = {
        "source": source, "loader": f"{source} loader at train.py:9", "host": HOST,
        "consumer": consumer(wait_s, ready=0, requests=0), "seconds": 0.5 + 100 * (wait_s + STEP_S),
        "settings": settings, "samples": samples(cores),
    }  # fmt: skip
    return Trace(**{**told, **parts})


def waits(each: Any, count: int = 101) -> tuple[Interval, ...]:
    """An interval for each step, waiting `each(n)` seconds."""
    at_s, made = 0.0, []
    for number in range(count):
        made.append(Interval(at_s=at_s, wait_s=each(number)))
        at_s += each(number) + STEP_S
    return tuple(made)


def waiting(trace: Trace, each: Any) -> Trace:
    """The same, with intervals, and a trainer that waited as long as they say."""
    made = waits(each, trace.consumer.steps)
    total = sum(one.wait_s for one in made)
    return replace(trace, intervals=made, consumer=replace(trace.consumer, wait_s=total, first_s=made[0].wait_s))


def workers(*seconds: float) -> tuple[WorkerTrace, ...]:
    return tuple(WorkerTrace(id=str(n), elements=100, busy_s=100 * each) for n, each in enumerate(seconds))


IO_PRESSURE = Pressure(cpu=0.1, memory=0.0, io=0.6)
