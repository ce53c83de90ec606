"""Which functions make the elements, how long each takes, and in which worker: from timings and from samples of stacks.

A process that makes elements for another (a worker of a DataLoader) leaves what it noted in a file; whoever reads the
traces adds it to the trace of the process that trains.
"""

from __future__ import annotations

import json
import os
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock.probes.calls import call_at, is_decoding
from penstock.probes.place import place_of
from penstock.probes.stacks import Doing, Spot
from penstock.probes.timings import Timings
from penstock.telemetry.trace import StepTrace, Trace, WorkerTrace

_LEAST_SHARE = 0.03
PYTHON_OPS = ("PyFunc", "EagerPyFunc", "PyFuncStateless")
"""TensorFlow's ops that call a function in Python."""


@dataclass(frozen=True, slots=True)
class Seen:
    """Samples of one call: the function of the user's it is in, what it does, where, what its thread did, how often.

    op: "decode_image" or the name of what is called; "" for Python itself.
    """

    function: str
    op: str
    where: str
    doing: Doing
    count: int


@dataclass(slots=True)
class Fetches:
    """What one process noted while it made elements.

    dataset: its label, "" where elements were not timed; dataset_id: its id, equal in a forked worker. worker: its
    number, "" for the training process itself. made: elements timed. collate_s: seconds joining them. seen: samples
    of stacks, `rounds` of them some `interval_s` apart; looking_s: CPU seconds that looking took.
    """

    dataset: str = ""
    dataset_id: int = 0
    worker: str = ""
    made: Timings = field(default_factory=Timings)
    collate_s: float = 0.0
    seen: tuple[Seen, ...] = ()
    rounds: int = 0
    interval_s: float = 0.0
    looking_s: float = 0.0

    def save(self, path: Path) -> None:
        """Write it whole or not at all."""
        part = path.with_name(f".{path.name}.part")
        part.write_text(json.dumps(asdict(self) | {"made": self.made.as_json()}), encoding="utf-8")
        os.replace(part, path)

    @staticmethod
    def load(path: Path) -> Fetches:
        """What `save` wrote. Raises: OSError, ValueError, KeyError, TypeError: it did not."""
        value: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        value["made"] = Timings.of_json(value["made"])
        value["seen"] = tuple(Seen(**one) for one in value["seen"])
        return Fetches(**value)


def seen_of(spots: Counter[Spot]) -> tuple[Seen, ...]:
    """Samples of stacks in words. Cost: reads the source lines that were sampled."""
    counts: Counter[tuple[str, str, str, Doing]] = Counter()
    for spot, count in list(spots.items()):
        function = f"{spot.code.co_qualname.replace('.<locals>', '')} at {place_of(spot.code)}"
        call, line = call_at(spot.code, spot.instruction)
        op = "decode_image" if is_decoding(call, spot.leaf) else call
        counts[function, op, f"{spot.code.co_filename.rpartition('/')[2]}:{line}", spot.doing] += count
    return tuple(Seen(*key, count) for key, count in counts.items())


def with_fetches(trace: Trace, fetches: Iterable[Fetches]) -> Trace:
    """A trace with all that was noted of its elements' making: steps, ops of them, workers, overhead."""
    everything = list(fetches)
    if not everything:
        return trace
    made = Timings()
    for one in everything:
        made.merge(one.made)
    workers = tuple(
        WorkerTrace(id=one.worker, elements=one.made.elements, busy_s=one.made.busy_s, cpu_s=one.made.cpu_s or None)
        for one in sorted(everything, key=lambda one: one.worker)
        if one.worker
    )
    stage = trace.stages[0].id if trace.stages else "loader"
    dataset = next((one.dataset for one in everything if one.dataset), "")
    steps = _timed(made, everything, stage, dataset) if made.elements else _sampled(everything, stage)
    known = trace.steps
    profiled = next((one for one in known if one.part_of and one.verb in PYTHON_OPS), None)
    if profiled is not None and steps and not made.elements:
        known, steps = _within(known, profiled, everything), []
    collate_s = sum(one.collate_s for one in everything)
    if collate_s > 0.01 * made.busy_s:
        steps.append(StepTrace(id="collate", verb="collate", label="collate_fn", stage=stage, busy_s=collate_s))
    notes = list(trace.notes)
    if steps or known is not trace.steps:
        looking_s = sum(one.looking_s for one in everything)
        notes.append(
            f"functions: {'each element timed' if made.elements else 'from samples of stacks'}; what they do within, "
            f"from {sum(one.rounds for one in everything)} samples of stacks, which took {looking_s:.2f} CPU seconds"
        )
    return replace(trace, steps=(*steps, *known), workers=workers or trace.workers, notes=tuple(notes))


def _timed(made: Timings, fetches: list[Fetches], stage: str, dataset: str) -> list[StepTrace]:
    """The dataset's elements as one step, which were timed, and the calls within it as ops."""
    seen = [spot for one in fetches for spot in one.seen]
    total = sum(spot.count for spot in seen)
    step = StepTrace(
        id="elements", verb="dataset", label=dataset, stage=stage, elements=made.elements, busy_s=made.busy_s,
        cpu_s=made.cpu_s, storage_s=made.busy_s * _share(seen, "storage"),
        gil_s=made.busy_s * _share(seen, "python") if total else None, element_s=made.quantiles, slow=made.slow,
    )  # fmt: skip
    return [step, *_ops(seen, made.busy_s / total if total else 0.0, stage, "elements")]


def _sampled(fetches: list[Fetches], stage: str) -> list[StepTrace]:
    """The user's functions as steps, from samples alone: a sample stands for the time between two of them."""
    seconds: defaultdict[str, float] = defaultdict(float)
    by_function: defaultdict[str, list[Seen]] = defaultdict(list)
    for one in fetches:
        for spot in one.seen:
            seconds[spot.function] += spot.count * one.interval_s
            by_function[spot.function].append(spot)
    least = _LEAST_SHARE * sum(seconds.values())
    steps: list[StepTrace] = []
    for n, (function, busy_s) in enumerate(sorted(seconds.items(), key=lambda item: -item[1])):
        if busy_s < least:
            break
        spots = by_function[function]
        steps.append(
            StepTrace(
                id=f"function {n}", verb="function", label=function, stage=stage, busy_s=busy_s,
                cpu_s=busy_s * (_share(spots, "native") + _share(spots, "python")),
                storage_s=busy_s * _share(spots, "storage"), gil_s=busy_s * _share(spots, "python"),
            )
        )  # fmt: skip
        steps += _ops(spots, busy_s / sum(spot.count for spot in spots), stage, f"function {n}")
    return steps


def _within(steps: tuple[StepTrace, ...], profiled: StepTrace, fetches: list[Fetches]) -> tuple[StepTrace, ...]:
    """Steps of a profile in which one op calls Python: the functions seen there stand in that op's place."""
    seen = [spot for one in fetches for spot in one.seen]
    total = sum(spot.count for spot in seen)
    counts: Counter[str] = Counter()
    for spot in seen:
        counts[spot.function] += spot.count
    functions = [
        replace(
            profiled, id=f"{profiled.id} {function}", verb=function.partition(" at ")[0].rpartition(".")[2],
            label=function, busy_s=profiled.busy_s * count / total,
        )
        for function, count in counts.most_common()
        if count >= _LEAST_SHARE * total
    ]  # fmt: skip
    gil_s, storage_s = profiled.busy_s * _share(seen, "python"), profiled.busy_s * _share(seen, "storage")
    own = next(one for one in steps if one.id == profiled.part_of)
    changed = replace(
        own, gil_s=gil_s, cpu_s=own.cpu_s + gil_s + profiled.busy_s * _share(seen, "native"),
        storage_s=own.storage_s + storage_s,
    )  # fmt: skip
    rest = [one for one in steps if one is not profiled and one is not own]
    return (changed, *functions, *rest)


def _ops(seen: list[Seen], each_s: float, stage: str, part_of: str) -> list[StepTrace]:
    """The calls within a step that take a part worth naming, the longest first."""
    total = sum(spot.count for spot in seen)
    by_op: defaultdict[tuple[str, str], list[Seen]] = defaultdict(list)
    for spot in seen:
        by_op[spot.op, spot.where].append(spot)
    ordered = sorted(by_op.items(), key=lambda item: -sum(spot.count for spot in item[1]))
    ops: list[StepTrace] = []
    for n, ((op, where), spots) in enumerate(ordered):
        count = sum(spot.count for spot in spots)
        if count < _LEAST_SHARE * total:
            break
        busy_s = count * each_s
        ops.append(
            StepTrace(
                id=f"{part_of} op {n}", verb=op.rpartition(".")[2] or "python", label=f"{op or 'Python'} at {where}",
                stage=stage, part_of=part_of, busy_s=busy_s, storage_s=busy_s * _share(spots, "storage"),
                cpu_s=busy_s * (_share(spots, "native") + _share(spots, "python")),
            )
        )  # fmt: skip
    return ops


def _share(seen: list[Seen], doing: Doing) -> float:
    total = sum(spot.count for spot in seen)
    return sum(spot.count for spot in seen if spot.doing == doing) / total if total else 0.0
