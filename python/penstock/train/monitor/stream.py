"""Scalars for TensorBoard as training goes, to a file that grows: `tensorboard --logdir DIR` shows them meanwhile."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import IO

from penstock.diagnose.report.events import scalars_event, text_event, version_event
from penstock.errors import WriteError
from penstock.telemetry.trace import Interval
from penstock.train.monitor.alarms import Alarm
from penstock.train.monitor.epoch import Epoch

_LEAST_S = 0.1
"""Steps that come faster than this are joined: of their seconds, the mean is written."""


class Stream:
    """An event file for each run. Steps as `step/*`, epochs as `epoch/*`, alarms as texts. Cost: 10 us an event.

    Raises: WriteError: when a run begins, the folder or the file cannot be made.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._folder = Path(directory)
        self._file: IO[bytes] | None = None
        self._began_at = 0.0
        self._runs = 0
        self.why_ended = ""
        self._steps_before = self._step = 0
        self._epochs_before = self._epochs = 0
        self._event_at = -_LEAST_S
        self._joined: list[tuple[float, float, float | None]] = []

    def begin(self, began_at: float) -> None:
        """A run begins; its steps are counted on from those of the run before."""
        self.close()
        name = f"events.out.tfevents.{int(began_at):010d}.{socket.gethostname()}.{os.getpid()}.{self._runs}.monitor"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._file = (self._folder / name).open("ab")
        except OSError as error:
            raise WriteError(
                "Monitor: the event file cannot be made", got=error.strerror or str(error), where=str(self._folder),
                remedy="name another folder: Monitor(tensorboard=...)",
            ) from error  # fmt: skip
        self._runs += 1
        self._began_at, self._event_at = began_at, -_LEAST_S
        self._steps_before += self._step
        self._epochs_before += self._epochs
        self._step = self._epochs = 0
        self._write(version_event(began_at))

    def step(self, number: int, at_s: float, request: Interval, between_s: float) -> None:
        """A step, its request first."""
        self._step = number + 1
        self._joined.append((request.wait_s + between_s, request.wait_s, request.starved_s))
        if at_s - self._event_at < _LEAST_S:
            return
        self._event_at = at_s
        steps, waits, starved = zip(*self._joined, strict=True)
        scalars = {"step/seconds": sum(steps) / len(steps), "step/wait_seconds": sum(waits) / len(waits)}
        known = [seconds for seconds in starved if seconds is not None]
        if known:
            scalars["step/starved_seconds"] = sum(known) / len(known)
        self._joined.clear()
        self._write(scalars_event(self._began_at + at_s, self._steps_before + number, scalars))

    def epoch(self, epoch: Epoch, at_s: float) -> None:
        """An epoch."""
        told = {
            "epoch/seconds": epoch.seconds, "epoch/step_seconds": epoch.step_s,
            "epoch/starved_share": epoch.starved_share, "epoch/elements_per_second": epoch.rate_elements_per_s,
            "epoch/skipped_steps": epoch.skipped, "epoch/new_shapes": epoch.new_shapes,
            "epoch/rss_bytes": epoch.rss_bytes,
            "epoch/device_bytes": epoch.device_bytes, "epoch/device_peak_bytes": epoch.device_peak_bytes,
            "epoch/cores_busy_share": epoch.cores, "epoch/utilisation": epoch.utilisation,
            "epoch/power_w": epoch.power_w, "epoch/temperature_c": epoch.temperature_c,
        }  # fmt: skip
        known = {name: float(value) for name, value in told.items() if value is not None}
        self._write(scalars_event(self._began_at + at_s, self._epochs_before + self._epochs, known))
        self._epochs += 1

    def alarm(self, alarm: Alarm) -> None:
        """An alarm, in words."""
        self._write(text_event(self._began_at + alarm.at_s, f"alarm/{alarm.kind}", str(alarm)))

    def flush(self) -> None:
        """Let readers see what was written."""
        self._safely(lambda file: file.flush())

    def close(self) -> None:
        """Idempotent."""
        self._safely(lambda file: file.close())
        self._file = None

    def _write(self, record: bytes) -> None:
        self._safely(lambda file: file.write(record))

    def _safely(self, act: Callable[[IO[bytes]], object]) -> None:
        """A disk that is full must not end the training: the file is left as it is, and `why_ended` says so."""
        if self._file is None:
            return
        try:
            act(self._file)
        except OSError as error:
            self._file, self.why_ended = None, f"events for TensorBoard end early: {error.strerror or error}"
