"""From a trace to a diagnosis: waiting, limits, verdict, findings, what-ifs. Pure: the same trace, the same words."""

from __future__ import annotations

import os
from typing import Protocol

from penstock.diagnose.case import Case
from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.rulebook import findings
from penstock.diagnose.verdict import judge
from penstock.diagnose.waiting import waiting_of
from penstock.diagnose.whatif import whatifs_of
from penstock.model.limits import limits
from penstock.telemetry.saved import load_trace
from penstock.telemetry.trace import Trace


class Traced(Protocol):
    """What can tell its trace: an iterator of Penstock, a loader under `penstock.watch`."""

    def trace(self) -> Trace: ...


def diagnose(run: Trace | Traced | str | os.PathLike[str]) -> Diagnosis:
    """What holds a run back, with numbers, and what to do about it.

    run: a trace, the path of a saved one, or what can tell its own (an iterator, a watched loader).
    Cost: milliseconds. Raises: ReadError: no trace lies at the path, or it is cut short or of a newer version.
    """
    trace = run if isinstance(run, Trace) else load_trace(run) if isinstance(run, str | os.PathLike) else run.trace()
    waiting, bounds = waiting_of(trace), limits(trace)
    verdict = judge(trace, waiting, bounds)
    case = Case(trace, waiting, verdict, bounds)
    return Diagnosis(
        verdict=verdict, findings=findings(case), limits=bounds, whatifs=whatifs_of(trace),
        notes=_notes(trace, verdict.how),
    )  # fmt: skip


def _notes(trace: Trace, how: str) -> tuple[str, ...]:
    told = [f"waiting: from {how}"] if how else []
    if trace.cut:
        told.append(f"the trace ends early: {trace.cut}")
    return (*told, *trace.notes)
