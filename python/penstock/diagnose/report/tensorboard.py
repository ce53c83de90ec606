"""A trace and its diagnosis in TensorBoard: `tensorboard --logdir DIR`.

Scalars: of each request `trainer/*`; of each sample `host/*` and `accelerator*/*`; of each reading `stage*/*`. Texts:
the verdict and what to do. Wall times are those of the run.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.report.events import scalars_event, text_event, version_event
from penstock.diagnose.report.file import write_whole
from penstock.errors import WriteError
from penstock.machine.readings import AcceleratorReading
from penstock.telemetry.trace import Sample, Trace


def write_events(trace: Trace, directory: str | os.PathLike[str], diagnosis: Diagnosis | None = None) -> Path:
    """Write an event file into `directory`, which is made if it is not there; the file's path.

    diagnosis: its words are written too. Raises: WriteError.
    """
    folder = Path(directory)
    name = f"events.out.tfevents.{int(trace.began_at):010d}.{socket.gethostname()}.{os.getpid()}.penstock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise WriteError(
            "events for TensorBoard: the folder cannot be made", got=error.strerror or str(error), where=str(folder),
            remedy="name another folder",
        ) from error  # fmt: skip
    return write_whole("events for TensorBoard", folder / name, b"".join(_records(trace, diagnosis)))


def _records(trace: Trace, diagnosis: Diagnosis | None) -> Iterator[bytes]:
    began = trace.began_at
    yield version_event(began)
    if diagnosis is not None:
        yield text_event(began, "penstock/verdict", diagnosis.line)
        told = [
            f"- **{one.level}**: {one.claim}\n" + "".join(f"    - {do}\n" for do in one.advice)
            for one in diagnosis.findings
        ]
        yield text_event(began, "penstock/findings", "\n".join(told) or "nothing was found")
    stride = max(1.0, trace.consumer.steps / max(1, len(trace.intervals)))
    for number, one in enumerate(trace.intervals):
        scalars = {"trainer/wait_s": one.wait_s, "trainer/ready": float(one.ready)}
        if one.starved_s is not None:
            scalars["trainer/starved_s"] = one.starved_s
        yield scalars_event(began + one.at_s, round(number * stride), scalars)
    for number, sample in enumerate(trace.samples):
        yield scalars_event(began + sample.at_s, number, _scalars_of(sample))
    for stage in trace.stages:
        for number, reading in enumerate(stage.occupancy):
            scalars = {f"stage {stage.id}/waiting_blocks": reading.blocks, f"stage {stage.id}/running": reading.running}
            yield scalars_event(began + reading.at_s, number, scalars)


def _scalars_of(sample: Sample) -> dict[str, float]:
    host = sample.host
    scalars: dict[str, float] = {"host/rss_bytes": host.rss_bytes}
    if host.cores:
        scalars["host/cores_busy"] = sum(host.cores)
    for device in host.accelerators:
        scalars |= {f"accelerator {device.index}/{name}": value for name, value in _device(device).items()}
    return scalars


def _device(device: AcceleratorReading) -> dict[str, float]:
    known = {
        "utilisation": device.utilisation, "sm_activity": device.sm_activity, "power_w": device.power_w,
        "memory_used_bytes": device.memory_used_bytes, "temperature_c": device.temperature_c,
    }  # fmt: skip
    return {name: value for name, value in known.items() if value is not None}
