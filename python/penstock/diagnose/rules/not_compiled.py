"""A Python function that could be compiled takes a good part of the input's time.

Found where the input binds and a map that is not compiled (facts "compiles", "why_python") takes a fifth of the work or
more. What keeps it from compiling is named as the tracer named it.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.steps import line_of, verbs_of
from penstock.model.predict import Compiled

_LEAST = 0.2
_TIMES = 2.0
"""What a compiled function is taken to gain in CPU time; most gain more (benchmarks: compare.blocks)."""

_ADVICE = "ds.explain() says what to write instead; docs/reference/traced-functions.md lists what compiles"


def find(case: Case) -> Finding | None:
    """`not_compiled`, blaming the map."""
    if not case.is_input_bound:
        return None
    reasons = {
        node.label: f"{why}; instead: {cure}" if (cure := node.facts.get("instead")) else why
        for node in case.trace.nodes
        if node.facts.get("compiles") is False and isinstance(why := node.facts.get("why_python"), str) and why
    }
    steps = [step for step in verbs_of(case.trace) if step.label in reasons and case.busy_share(step) >= _LEAST]
    if not steps:
        return None
    step = max(steps, key=case.busy_share)
    share = case.busy_share(step)
    return Finding(
        kind="not_compiled", blame=step.label,
        claim=f"{step.label} runs as Python and takes {percent(share)} of the input's work",
        advice=(f"at {line_of(step.label)}: {reasons[step.label]}", _ADVICE),
        evidence=(Fact("share of the input's work", share, "share"),), confidence="medium",
        predicted_gain=case.gain_after(Compiled(step=step.id, times=_TIMES), 1 / max(1 - share, 0.05)),
    )  # fmt: skip
