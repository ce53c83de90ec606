"""The input binds while cores of the budget are idle, and nothing more particular explains it.

Found where less than half of the cores' time was used. It is the last resort: what explains the waiting better
(one worker, the GIL, storage, taking turns, a straggler) stands in its place.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import core_use

_MOST = 0.5


def find(case: Case) -> Finding | None:
    """`idle_cores`, blaming the step, or the loader."""
    cores = core_use(case.trace)
    if not case.is_input_bound or cores is None or cores >= _MOST or case.trace.host.cpus < 2:
        return None
    return Finding(
        kind="idle_cores", blame=case.blame, confidence="low", level=case.level,
        claim=f"the trainer waits while {percent(1 - cores)} of the cores' time is unused",
        predicted_gain=case.gain,
        advice=(knob(case.trace, "parallel"),),
        evidence=(Fact("cores busy", cores, "share"), Fact("cores", case.trace.host.cpus)),
    )  # fmt: skip
