"""Input and trainer take turns: while one works, the other waits.

Found where the input binds, nothing is made ahead (the pipeline runs in the trainer's own thread, no worker, no
prefetch at the end), few requests find a batch ready, and working ahead is what is missing: several elements are made
at once already, or making a batch one by one takes no longer than the trainer's step.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding
from penstock.diagnose.knobs import knob
from penstock.diagnose.rules.no_parallelism import workers_of
from penstock.diagnose.steps import loader_of
from penstock.diagnose.turns import is_hidden_by_working_ahead, is_taking_turns

_READY = 0.2
_INLINE = 'leave Options(executor="inline") out: Penstock then works ahead by itself'


def find(case: Case) -> Finding | None:
    """`no_prefetch`, blaming the loader."""
    waiting = case.waiting
    if not case.is_input_bound or not is_taking_turns(case.trace) or (waiting.readiness or 0.0) > _READY:
        return None
    is_said = case.trace.source == "penstock"  # there it is an option, and to leave it out mends both
    if not is_said and (workers_of(case) or 0) <= 1 and not is_hidden_by_working_ahead(case):
        return None
    loader = loader_of(case.trace)
    return Finding(
        kind="no_prefetch", blame=loader, claim=f"nothing is made ahead: {loader} and the trainer take turns",
        advice=(_INLINE if case.trace.source == "penstock" else knob(case.trace, "ahead"),),
        confidence="high", level=case.level, predicted_gain=case.gain,
        evidence=(
            Fact("making a batch", waiting.seconds / max(waiting.steps, 1), "s"),
            Fact("the trainer's own work", (waiting.total_s - waiting.seconds) / max(waiting.steps, 1), "s"),
        ),
    )  # fmt: skip
