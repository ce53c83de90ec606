"""One trace with something in every field, for whoever shows traces."""

from __future__ import annotations

import math

from penstock.machine.readings import AcceleratorReading, Host, HostReading
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
from tests.unit.diagnose.traces import GIB

STEPS = 201
_AT = "photographs/train.py"


def _wait(number: int) -> float:
    return 0.06 + 0.02 * math.sin(number / 9) if number > 30 else 0.12


def _intervals() -> tuple[Interval, ...]:
    at_s, made = 0.0, []
    for number in range(STEPS):
        made.append(Interval(at_s=at_s, wait_s=_wait(number), starved_s=0.9 * _wait(number), ready=number % 7 == 0))
        at_s += _wait(number) + 0.05
    return tuple(made)


def _sample(second: int) -> Sample:
    device = AcceleratorReading(
        index=0, name="NVIDIA H200", utilisation=0.5 + 0.4 * math.sin(second), sm_activity=0.3 + 0.2 * math.sin(second),
        memory_used_bytes=61 * GIB, memory_total_bytes=141 * GIB, power_w=420 + 60 * math.sin(second),
        temperature_c=58.0,
    )  # fmt: skip
    cores = tuple(min(1.0, 0.7 + 0.05 * core) for core in range(8))
    return Sample(
        at_s=second, host=HostReading(cores=cores, rss_bytes=int(GIB * (2 + second / 40)), accelerators=(device,))
    )


def _occupancy(most: int) -> tuple[Occupancy, ...]:
    return tuple(
        Occupancy(at_s=n / 4, blocks=n * 7 % (most + 1), bytes=n * 10**5, running=min(most, n % 9)) for n in range(90)
    )


def _node(verb: str, line: int, *inputs: str, size: float | None = None, count: int = 50_000) -> NodeTrace:
    return NodeTrace(
        id=verb, verb=verb, label=f"{verb} at {_AT}:{line}", inputs=inputs, cardinality=count, element_bytes=size,
        draws=verb in ("shuffle", "random_map"), facts={"how": "permutation"} if verb == "shuffle" else {},
    )  # fmt: skip


FULL = Trace(
    source="penstock", loader=f"batch at {_AT}:31", framework="torch",
    host=Host(cpus=8, memory_bytes=64 * GIB, cpu_reason="cgroup quota", memory_reason="cgroup limit"),
    consumer=Consumer(
        steps=STEPS, rows=STEPS * 64, wait_s=sum(map(_wait, range(STEPS))), between_s=0.05 * STEPS, first_s=_wait(0),
        starved_s=0.9 * sum(map(_wait, range(STEPS))), method="device done", ready=29, requests=STEPS,
    ),
    began_at=1.79e9, seconds=26.0, threads=8,
    settings={"deterministic": True, "executor": "auto"},
    stages=(
        StageTrace(
            id="0", kind="indexed", label=f"batch at {_AT}:31", inputs=("1",), workers=8, occupancy=_occupancy(4),
        ),
        StageTrace(id="1", kind="segment", label=f"map at {_AT}:27", workers=8, occupancy=_occupancy(8)),
    ),
    steps=(
        StepTrace(id="b", verb="batch", label=f"batch at {_AT}:31", stage="0", elements=STEPS, busy_s=3.0, cpu_s=2.8),
        StepTrace(id="r", verb="random_map", label=f"random_map at {_AT}:29", stage="0", elements=STEPS * 64,
                  busy_s=30.0, cpu_s=29.0),
        StepTrace(
            id="m", verb="map", label=f"map at {_AT}:27", stage="1", elements=STEPS * 64, busy_s=150.0, cpu_s=141.0,
            storage_s=6.0, storage_bytes=10**9, element_s=(0.011, 0.016, 0.03, 0.4), gil_s=2.0,
            slow=(SlowElement(origin="photographs/dog/n02085620_10074.jpg", seconds=0.4),
                  SlowElement(origin="photographs/dog/n02085620_7.jpg", seconds=0.3)),
        ),
        StepTrace(id="m/d", verb="decode_jpeg", label="decode_jpeg", stage="1", part_of="m", elements=STEPS * 64,
                  busy_s=120.0, cpu_s=119.0),
        StepTrace(id="m/r", verb="resize", label="resize", stage="1", part_of="m", elements=STEPS * 64, busy_s=24.0,
                  cpu_s=22.0),
    ),
    nodes=(
        _node("batch", 31, "random_map", count=782),
        _node("random_map", 29, "map"),
        _node("map", 27, "zip", size=150_528.0),
        _node("zip", 26, "shuffle", "range"),
        _node("range", 25),
        _node("shuffle", 24, "from_folder"),
        _node("from_folder", 23, size=60.0),
    ),
    intervals=_intervals(),
    samples=tuple(_sample(second) for second in range(24)),
    tuning=(
        TuningEntry(at_s=1.5, knob="workers", stage="1", before=2, after=4, why="the trainer waits, cores are idle",
                    predicted=420.0, realised=402.0),
        TuningEntry(at_s=4.0, knob="workers", stage="1", before=4, after=8, why="the trainer waits, cores are idle",
                    predicted=690.0, realised=575.0),
    ),
    retraces=(Retrace(step=200, leaf="image", before="(64, 224, 224, 3)", after="(16, 224, 224, 3)"),),
    notes=("GIL: estimated from how often a clock thread found it held",),
)  # fmt: skip
