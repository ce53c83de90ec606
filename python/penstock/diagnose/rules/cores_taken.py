"""Others use the cores that the input was promised: its threads are ready, and wait for one.

Found where the input binds and its threads waited for a core for as long as they were on one, or longer. More workers
would make it worse.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.steps import queued_share

_LEAST = 0.5
_ADVICE = (
    "see what else runs on these cores, the trainer's own threads among it; raise the container's CPU limit, or lower "
    "Options(cpu_budget=...) to what there is"
)


def find(case: Case) -> Finding | None:
    """`cores_taken`, blaming the machine."""
    share = queued_share(case.trace)
    if not case.is_input_bound or share is None or share < _LEAST:
        return None
    return Finding(
        kind="cores_taken", blame="the machine", level=case.level,
        claim=f"threads that could work waited for a core {percent(share)} of the time",
        advice=(_ADVICE,),
        evidence=(Fact("waiting for a core", share, "share"), Fact("cores of the budget", case.trace.host.cpus)),
    )  # fmt: skip
