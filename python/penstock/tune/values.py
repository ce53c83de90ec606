"""What the tuner is told of a running pipeline, and what it answers: plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Knob = Literal["parallelism", "prefetch", "block_size", "read_ahead"]


@dataclass(frozen=True, slots=True, kw_only=True)
class StageLook:
    """One stage since the last look.

    stage: its id. parallelism, prefetch, block_size, read_ahead: its setting, see engine.knobs.Setting; free: the knobs
    that may be changed. rows: taken by its tasks; tasks: that came back. seconds: in tasks, of which waited_s for
    storage; cpu_s: on a core. task_s, task_bytes: what one takes and puts out, smoothed; negative: not known yet.
    task_rows: of a task, as measured to be best. least_ready, most_ready: finished blocks when one was taken, that one
    counted; None: none was. held: it has workers and input, but no room for more results. in_processes: its functions
    run in worker processes, of which there are as many as cores.
    """

    stage: str
    parallelism: int = 1
    prefetch: int = 2
    block_size: int | None = None
    read_ahead: int = 0
    free: frozenset[Knob] = frozenset()
    rows: int = 0
    tasks: int = 0
    seconds: float = 0.0
    waited_s: float = 0.0
    cpu_s: float = 0.0
    task_s: float = -1.0
    task_bytes: float = -1.0
    task_rows: int = 1
    least_ready: int | None = None
    most_ready: int | None = None
    held: bool = False
    in_processes: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """The whole at one moment, and since the last look.

    at_s: now. window_s: seconds since the last look. cpus: cores it may use. requests, ready: of the consumer, and
    those that found a block; wait_s: seconds it waited. free_bytes: what waiting blocks may still take. pressure: share
    of the last seconds in which some task of the machine waited for memory (None: not told). stages: the one nearest
    the consumer first.
    """

    at_s: float
    window_s: float
    cpus: int
    stages: tuple[StageLook, ...]
    requests: int = 0
    ready: int = 0
    wait_s: float = 0.0
    free_bytes: float = float("inf")
    pressure: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """Change `knob` of `stage`; why, in words. predicted: rows/s of the stage after it, None where none is claimed."""

    stage: str
    knob: Knob
    before: int | None
    after: int | None
    why: str
    predicted: float | None = None
