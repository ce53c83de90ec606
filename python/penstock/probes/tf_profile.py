"""What TensorFlow's own profiler says of a few steps: requests inside graphs, and the ops of a dataset's functions.

A window is half a second, some steps long; starting and stopping one takes 0.1 s, outside of the steps that are
counted. Read from the profile: `IteratorGetNextOp::DoCompute`, in which a graph waits for its input, and the seconds of
each op by its type. Which ops are the dataset's is known from the graphs of its functions, so an op that the model uses
too is charged to both.
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from penstock.probes.calls import is_decoding_name
from penstock.probes.fetching import PYTHON_OPS
from penstock.telemetry.trace import StepTrace

FIRST_STEPS = (4, 40, 400, 4000)
LEAST_S, LEAST_STEPS, MOST_STEPS = 0.5, 4, 60
_REQUEST = "IteratorGetNextOp::DoCompute"
_LEAST_SHARE = 0.01
_READS = ("ReadFile", "TFRecordDataset")


@dataclass(slots=True)
class Profiled:
    """Sums over windows: seconds and steps in them, seconds in requests of graphs, and of each op its durations."""

    seconds: float = 0.0
    steps: int = 0
    requests: int = 0
    waited_s: float = 0.0
    ops: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    def add(self, space: Any, seconds: float, steps: int) -> None:
        """One window: an XSpace, as the profiler gives it."""
        self.seconds += seconds
        self.steps += steps
        for plane in space.planes:
            names = {number: metadata.name for number, metadata in plane.event_metadata.items()}
            for line in plane.lines:
                for event in line.events:
                    name = names[event.metadata_id]
                    if name == _REQUEST:
                        self.requests += 1
                        self.waited_s += event.duration_ps * 1e-12
                    elif ":" in name and "::" not in name:
                        self.ops[name.rpartition(":")[2]].append(event.duration_ps * 1e-12)

    @property
    def waiting(self) -> float | None:
        """Share of the time in requests of graphs; None: no request was seen."""
        return min(1.0, self.waited_s / self.seconds) if self.requests and self.seconds > 0 else None

    def steps_of(self, functions: Mapping[str, frozenset[str]], seconds: float, stage: str) -> tuple[StepTrace, ...]:
        """The dataset's functions (label -> types of ops) as steps of a run of `seconds`, with their ops."""
        if self.seconds <= 0:
            return ()
        factor = seconds / self.seconds
        steps: list[StepTrace] = []
        for number, (label, types) in enumerate(functions.items()):
            ops = sorted(((sum(self.ops[one]), one) for one in types if one in self.ops), reverse=True)
            total = sum(spent for spent, _ in ops)
            if total <= 0:
                continue
            durations = self.ops[ops[0][1]]
            reading = sum(spent for spent, one in ops if one in _READS)
            python = sum(spent for spent, one in ops if one in PYTHON_OPS)
            steps.append(
                StepTrace(
                    id=f"map {number}", verb="map", label=label, stage=stage, elements=round(len(durations) * factor),
                    busy_s=total * factor, cpu_s=(total - reading - python) * factor, storage_s=reading * factor,
                    element_s=_quantiles(durations),
                )
            )  # fmt: skip
            steps += [
                StepTrace(
                    id=f"map {number} {one}", verb=_verb(one), label=f"{one} in {label}", stage=stage,
                    part_of=f"map {number}", busy_s=spent * factor,
                )
                for spent, one in ops
                if spent >= _LEAST_SHARE * total
            ]  # fmt: skip
        return tuple(steps)


class Windows:
    """Opens and closes windows as steps go by. `start`, `stop`: of the profiler; `stop()` gives an XSpace.

    Whoever calls `step()` leaves out the time it takes.
    """

    def __init__(
        self, now: Callable[[], float], start: Callable[[], None], stop: Callable[[], Any],
        failed: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.profiled = Profiled()
        self._now, self._start, self._stop, self._failed = now, start, stop, failed
        self._count = 0
        self._opened_at: float | None = None
        self._opened_step = 0
        self._is_off = False

    def step(self) -> bool:
        """A step begins; whether a window was opened or closed, which takes time."""
        self._count += 1
        if self._is_off:
            return False
        try:
            if self._opened_at is not None:
                return self._close_if_long()
            if self._count in FIRST_STEPS:
                self._start()
                self._opened_at, self._opened_step = self._now(), self._count
                return True
        except Exception as error:  # noqa: BLE001 - another profile is being taken, or none can be
            self._is_off, self._opened_at = True, None
            self._failed(f"no profile could be taken: {type(error).__name__}: {str(error)[:200]}")
        return False

    def _close_if_long(self) -> bool:
        assert self._opened_at is not None
        steps, seconds = self._count - self._opened_step, self._now() - self._opened_at
        if steps < MOST_STEPS and (steps < LEAST_STEPS or seconds < LEAST_S):
            return False
        self._close(steps, seconds)
        return True

    def close(self) -> None:
        """The run is over; a window that is open counts if it has steps."""
        if self._opened_at is not None:
            self._close(self._count - self._opened_step, self._now() - self._opened_at)

    def _close(self, steps: int, seconds: float) -> None:
        self._opened_at = None
        try:
            space = self._stop()
        except Exception as error:  # noqa: BLE001 - as above
            self._is_off = True
            self._failed(f"a profile could not be read: {type(error).__name__}: {str(error)[:200]}")
            return
        if steps:
            self.profiled.add(space, seconds, steps)


def windows(now: Callable[[], float], failed: Callable[[str], None]) -> Windows:
    """Windows of TensorFlow's profiler."""
    folder: list[Any] = []

    def start() -> None:
        from tensorflow.python.profiler import profiler_v2

        folder[:] = [tempfile.TemporaryDirectory(prefix="penstock-profile-")]
        options = profiler_v2.ProfilerOptions(host_tracer_level=2, python_tracer_level=0, device_tracer_level=0)
        profiler_v2.start(folder[0].name, options)

    def stop() -> Any:
        from tensorflow.python.profiler import profiler_v2
        from tensorflow.tsl.profiler.protobuf import xplane_pb2

        space = xplane_pb2.XSpace()
        with folder.pop() as directory:
            profiler_v2.stop()
            for path in Path(directory).rglob("*.xplane.pb"):
                space.MergeFromString(path.read_bytes())
        return space

    return Windows(now, start, stop, failed)


def _verb(op: str) -> str:
    return "decode_image" if is_decoding_name(op) else op


def _quantiles(durations: list[float]) -> tuple[float, float, float, float] | None:
    ordered = sorted(durations)
    last = len(ordered) - 1
    return (
        None if last < 0 else (ordered[last // 2], ordered[int(0.9 * last)], ordered[int(0.99 * last)], ordered[last])
    )
