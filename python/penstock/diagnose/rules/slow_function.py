"""A function takes longer than the trainer gives it, with the cores it has.

Found where the input binds and one step keeps its workers busy most of the time, working or waiting. It is the general
case: what says more of the same step (decoding, the GIL, storage, one worker, a heavy tail) stands in its place.
Of a foreign loader whose steps are not known, it is what remains when its workers keep the cores busy.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import core_use, line_of, ops_of, waits_share

_BUSY_CORES = 0.7
_WAITS = 0.5


def find(case: Case) -> Finding | None:
    """`slow_function`, blaming the step, or the loader."""
    if not case.is_input_bound:
        return None
    step, cores = case.step, core_use(case.trace)
    facts = [] if cores is None else [Fact("cores busy", cores, "share")]
    if step is None:
        if cores is None or cores < _BUSY_CORES:
            return None
        claim = f"{case.blame} keeps the cores busy, and is still behind the trainer"
        where = "make an element cheaper: profile one call of your dataset"
    else:
        share = case.busy_share(step)
        if step.busy_s <= 0 or share < 0.3:
            return None
        facts.append(Fact("share of the input's work", share, "share"))
        if step.elements:
            facts.append(Fact("one element", step.busy_s / step.elements, "s"))
        claim = f"{step.label} takes {percent(share)} of the input's work"
        ops = [f"{op.verb} {percent(min(op.busy_s / step.busy_s, 1.0))}" for op in ops_of(case.trace, step)[:3]]
        if ops:
            facts.append(Fact("of it", ", ".join(ops)))
        is_contended = step.queued_s is None and cores is not None and cores >= _BUSY_CORES
        if waits_share(step) > _WAITS and not is_contended:
            facts.append(Fact("on a core", step.cpu_s / step.busy_s, "share"))
            where = f"at {line_of(step.label)}: it waits more than it works, so more at once help beyond the cores"
        else:
            where = f"at {line_of(step.label)}: do less per element, or once for a whole batch (map after batch)"
    return Finding(
        kind="slow_function", blame=case.blame, claim=claim, evidence=tuple(facts), level=case.level,
        advice=(where, f"cache what does not change between epochs: {knob(case.trace, 'cache')}"),
        confidence="medium" if step is None else "high", predicted_gain=case.gain,
    )  # fmt: skip
