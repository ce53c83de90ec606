"""A trace: what a run told, as plain data. Whoever concludes or shows works on this alone, on any machine, later.

A loader of any kind fills in what can be known of it: of Penstock's own pipelines all of it, of others the trainer's
side, the host's, and their settings. What is None or empty was not measured; `notes` say how the rest was.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from penstock.machine.readings import Host, HostReading

Source = Literal["penstock", "tf.data", "torch", "grain", "keras", "iterable"]
Method = Literal["device done", "synchronous", "host wait", "profile"]
StageKind = Literal["indexed", "segment", "barrier", "nested", "source", "chain", "loader"]
Value = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SlowElement:
    """One of the slowest elements of a step: `origin` as errors print it (a file, an index)."""

    origin: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """What waited to be taken from a stage at one moment: blocks, their bytes, and tasks at work."""

    at_s: float
    blocks: int
    bytes: int
    running: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StepTrace:
    """One verb of the pipeline, or one op of its function.

    id: unique in the trace, that of its node where it has one; part_of: of the step whose function this op belongs to,
    or that opened the dataset this step is in, "" for a verb: its seconds are within those of that step. label: as
    errors name it ("map at train.py:12"). stage: id of the stage that runs it. elements, bytes_in, bytes_out: put out,
    taken (what the steps before it put out), put out. calls: blocks. Seconds are sums over workers, exclusive of other
    verbs: busy_s on any thread, cpu_s on a core, storage_s in reading files and objects (storage_bytes: what was read),
    gil_s waiting for or holding the GIL, queued_s waiting for a core (None: not estimated). element_s: quantiles of
    seconds an element took, at 0.5, 0.9, 0.99 and 1 (of blocks, where elements cannot be told apart; without the first
    blocks, which compile and warm up). slow: the slowest ones, at most a hundredth.
    """

    id: str
    verb: str
    label: str
    stage: str
    part_of: str = ""
    elements: int = 0
    bytes_in: int = 0
    bytes_out: int = 0
    calls: int = 0
    busy_s: float = 0.0
    cpu_s: float = 0.0
    storage_s: float = 0.0
    storage_bytes: int = 0
    gil_s: float | None = None
    queued_s: float | None = None
    element_s: tuple[float, float, float, float] | None = None
    slow: tuple[SlowElement, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class StageTrace:
    """One physical stage.

    inputs: ids of the stages it takes from. workers: tasks at once at the end of the run; said: the user's word, so
    not ours to change. wait_in_s: seconds workers of this stage had none to take (starved by its input); wait_out_s:
    seconds finished blocks waited to be taken, summed over blocks (near 0: what follows it starves). tasks,
    task_rows: how many, and rows of the last.
    """

    id: str
    kind: StageKind
    label: str
    inputs: tuple[str, ...] = ()
    workers: int = 1
    said: bool = False
    serial: bool = False
    executor: str = "threads"
    reason: str = ""
    wait_in_s: float = 0.0
    wait_out_s: float = 0.0
    tasks: int = 0
    task_rows: int = 0
    occupancy: tuple[Occupancy, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrace:
    """One node of the user's graph as written, for advice on it.

    inputs: ids of nodes. cardinality: as `ds.cardinality()`. element_bytes: of one element it gives (None: not
    seen). draws: it, or its function, is random. facts: what it was told, by argument ("buffer_size",
    "num_parallel_calls", "path", "compiles", "why_python", "storage": "local" or "remote" ...).
    """

    id: str
    verb: str
    label: str
    inputs: tuple[str, ...] = ()
    cardinality: int = -2
    element_bytes: float | None = None
    draws: bool = False
    facts: dict[str, Value] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """One request of the trainer.

    When it asked (seconds of the trace), how long it waited in next(), how long the device starved (None: unknown),
    and whether a batch was ready.
    """

    at_s: float
    wait_s: float
    starved_s: float | None = None
    ready: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumer:
    """The trainer's side.

    steps: batches it received; rows: elements in them (of a loader that does not say: None). wait_s: inside next();
    between_s: outside, its own work. starved_s: seconds the device had nothing to do for want of input; method: how
    that is known ("device done": from the moment each step was done; "synchronous": the trainer waits for its
    device, so host wait is it; "profile": from the framework's own profile; "host wait": an upper bound). first_s:
    until the first batch came. ready, requests: requests that found a batch waiting. replay_step_s: seconds of a
    step when its input was replayed from memory: the trainer's own speed. cpu_s: CPU seconds of this process outside
    the pipeline's steps (None: not measured).
    """

    steps: int = 0
    rows: int | None = None
    wait_s: float = 0.0
    between_s: float = 0.0
    starved_s: float | None = None
    method: Method = "host wait"
    first_s: float = 0.0
    ready: int = 0
    requests: int = 0
    replay_step_s: float | None = None
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """The host and its accelerators at one moment of the run."""

    at_s: float
    host: HostReading


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerTrace:
    """One worker process of a foreign loader, to see one that falls behind the others.

    elements: it produced; busy_s: seconds it took over them; cpu_s: of these, on a core (None: not measured).
    """

    id: str
    elements: int
    busy_s: float
    cpu_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TuningEntry:
    """One decision while it ran.

    What changed, from what to what, why; elements/s predicted, and realised after it.
    """

    at_s: float
    knob: str
    stage: str
    before: Value
    after: Value
    why: str
    predicted: float | None = None
    realised: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrace:
    """A new signature that the trainer's function was given: compiled anew, most likely."""

    step: int
    leaf: str
    before: str
    after: str
    cost_s: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """One run of one loader.

    source: whose loader; loader: it, as the user wrote it. began_at: Unix time. seconds: from the opening to the
    end. threads: worker threads at most, of all stages together (None: not known). stages, steps, nodes: the one
    nearest the trainer first. intervals, samples: thinned evenly when there are many. workers: of a foreign loader,
    where they were timed one by one. framework: what trains ("tensorflow", "torch", "jax", "": unknown). settings: of
    a foreign loader ("num_workers", "prefetch_factor" ...). notes: how numbers were obtained. cut: why it ends early;
    "": it does not.
    """

    source: Source
    loader: str
    host: Host
    consumer: Consumer
    began_at: float = 0.0
    seconds: float = 0.0
    framework: str = ""
    threads: int | None = None
    settings: dict[str, Value] = field(default_factory=dict)
    stages: tuple[StageTrace, ...] = ()
    steps: tuple[StepTrace, ...] = ()
    nodes: tuple[NodeTrace, ...] = ()
    intervals: tuple[Interval, ...] = ()
    samples: tuple[Sample, ...] = ()
    tuning: tuple[TuningEntry, ...] = ()
    retraces: tuple[Retrace, ...] = ()
    workers: tuple[WorkerTrace, ...] = ()
    notes: tuple[str, ...] = ()
    cut: str = ""
