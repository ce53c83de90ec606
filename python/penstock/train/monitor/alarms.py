"""Alarms: what is wrong while training still runs, each with one line of what to do. Pure rules over a trace.

The rules of `penstock.diagnose` decide; here stands which of them are worth an interruption, and in how many words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.rulebook import findings
from penstock.diagnose.rules import memory_creep, sawtooth, throttled
from penstock.diagnose.verdict import judge
from penstock.diagnose.waiting import waiting_of
from penstock.model.limits import limits
from penstock.telemetry.trace import Trace

Kind = Literal["input", "sawtooth", "memory", "throttled"]
LEAST_STEPS, LEAST_S = 10, 1.0
"""Steps, and their seconds, before the waiting is judged: the first ones fill buffers and compile."""

_MORE: dict[str, Kind] = {"sawtooth": "sawtooth", "memory_creep": "memory", "throttled": "throttled"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Alarm:
    """One thing that is wrong now. kind: a stable word; at_s: seconds of the run; advice: one line, what to do."""

    kind: Kind
    text: str
    advice: str
    at_s: float = 0.0

    def __str__(self) -> str:
        return f"{self.text}: {self.advice}"


def alarms(trace: Trace) -> tuple[Alarm, ...]:
    """What is wrong with a run so far: waiting above 30 %, sawtooth, growing memory, throttling. Cost: milliseconds."""
    waiting, bounds = waiting_of(trace), limits(trace)
    case = Case(trace, waiting, judge(trace, waiting, bounds), bounds)
    is_long = trace.consumer.steps > LEAST_STEPS and waiting.total_s >= LEAST_S
    found = [_waiting(case)] if case.verdict.is_fault and is_long else []
    for rule in (sawtooth.find, memory_creep.find, throttled.find):
        finding = rule(case)
        if finding is not None:
            found.append(_alarm(trace, _MORE[finding.kind], finding.claim, finding))
    return tuple(found)


def _waiting(case: Case) -> Alarm:
    share = percent(case.verdict.waiting_share or 0.0)
    at_most = "at most " if case.verdict.is_upper_bound else ""
    text = f"{at_most}{share} of each step is waiting for input"
    told = next((one for one in findings(case) if one.level == "fault" and one.advice), None)
    if told is not None:
        return _alarm(case.trace, "input", f"{text} ({told.claim})", told)
    return Alarm(kind="input", text=text, advice=knob(case.trace, "ahead"), at_s=case.trace.seconds)


def _alarm(trace: Trace, kind: Kind, text: str, finding: Finding) -> Alarm:
    advice = " ".join(finding.advice[0].split()) if finding.advice else "see monitor.report(path)"
    return Alarm(kind=kind, text=text, advice=advice, at_s=trace.seconds)
