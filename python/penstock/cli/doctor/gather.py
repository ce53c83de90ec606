"""From the files that the script's processes left to traces, one for each loader of each of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.errors import ReadError
from penstock.probes.fetching import Fetches, with_fetches
from penstock.telemetry.saved import load_trace
from penstock.telemetry.trace import Sample, Trace

_MOST_SAMPLES = 600


@dataclass(frozen=True, slots=True)
class Gathered:
    """What one training process noted: the loader most of its time went by with, and the others."""

    process: int
    traces: tuple[Trace, ...]


def gather(directory: Path, samples: Sequence[tuple[float, Sample]], note: str = "") -> list[Gathered]:
    """What each training process left, those with most steps first.

    samples: the host, by Unix time; each trace gets those of its own time. note: for each trace.
    """
    found: dict[int, list[Trace]] = {}
    for path in sorted(directory.glob("trace-*-*.json")):
        if path.name.count(".") > 1:
            continue
        process = int(path.name.split("-")[1])
        try:
            trace = load_trace(path)
        except ReadError:
            continue
        if note:
            trace = replace(trace, notes=(*trace.notes, note))
        found.setdefault(process, []).append(_with_samples(_with_workers(trace, path, process), samples))
    gathered = [Gathered(process, tuple(sorted(traces, key=_weight))) for process, traces in found.items()]
    return sorted(gathered, key=lambda one: _weight(one.traces[0]))


def faults(directory: Path) -> list[str]:
    """What went wrong on our side, in words, each once."""
    return sorted({path.read_text(encoding="utf-8").strip() for path in directory.glob("fault-*.txt")})


def _weight(trace: Trace) -> float:
    return -(trace.consumer.wait_s + trace.consumer.between_s)


def _with_workers(trace: Trace, path: Path, process: int) -> Trace:
    own = _fetches([path.with_name(f"{path.stem}.fetches.json")])
    try:
        of = json.loads(path.with_name(f"{path.stem}.dataset.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return with_fetches(trace, own)
    workers = _fetches(sorted(path.parent.glob(f"worker-{process}-*.json")))
    forked = [one for one in workers if one.dataset_id in of["dataset_ids"] and one.dataset == of["dataset"]]
    spawned = [one for one in workers if one.dataset == of["dataset"]]
    return with_fetches(trace, [*own, *_by_number(forked or spawned)])


def _by_number(fetches: Iterable[Fetches]) -> list[Fetches]:
    """Worker 0 of each epoch is another process, and the same worker to its user."""
    numbered: dict[str, Fetches] = {}
    for one in fetches:
        known = numbered.setdefault(one.worker, one)
        if known is not one:
            known.made.merge(one.made)
            known.collate_s += one.collate_s
            known.seen += one.seen
            known.rounds += one.rounds
            known.looking_s += one.looking_s
    return list(numbered.values())


def _fetches(paths: Iterable[Path]) -> list[Fetches]:
    found: list[Fetches] = []
    for path in paths:
        try:
            found.append(Fetches.load(path))
        except (OSError, ValueError, KeyError, TypeError):  # not there, or its process was killed
            continue
    return found


def _with_samples(trace: Trace, samples: Sequence[tuple[float, Sample]]) -> Trace:
    within = [
        replace(sample, at_s=at - trace.began_at)
        for at, sample in samples
        if trace.began_at <= at <= trace.began_at + trace.seconds
    ]
    every = max(1, -(-len(within) // _MOST_SAMPLES))
    return replace(trace, samples=tuple(within[::every])) if within else trace
