"""The trainer sets the pace: there is nothing to fix in the input. A note, no fault.

Said of every compute-bound run, so that it is told from one of which nothing is known.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding


def find(case: Case) -> Finding | None:
    """`slow_model`, blaming the trainer's step."""
    if case.verdict.kind != "compute-bound":
        return None
    waiting = case.waiting
    facts = [Fact("a step", waiting.step_s, "s"), Fact("waiting for input", waiting.share or 0.0, "share")]
    return Finding(
        kind="slow_model", blame="the trainer's step", level="note", evidence=tuple(facts), predicted_gain=1.0,
        claim="the trainer's own step sets the pace; a faster input would change nothing",
        confidence="low" if waiting.is_upper_bound and (waiting.share or 0.0) > 0.08 else "high",
    )  # fmt: skip
