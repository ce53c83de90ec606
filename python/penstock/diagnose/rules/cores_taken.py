"""Others use the cores that the input was promised: its threads are ready, and wait for one.

Found where the input binds and its threads waited for a core for as long as they were on one, or longer; where that was
not measured, where nearly all cores are busy and the pipeline and its trainer use less than half of them. More workers
would make it worse.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.steps import core_use, own_use, queued_share

_LEAST = 0.5
_BUSY, _OURS = 0.9, 0.5
_ADVICE = (
    "see what else runs on these cores, the trainer's own threads among it; raise the container's CPU limit, or lower "
    "Options(cpu_budget=...) to what there is"
)


def find(case: Case) -> Finding | None:
    """`cores_taken`, blaming the machine."""
    if not case.is_input_bound:
        return None
    share, used, cores = queued_share(case.trace), own_use(case.trace), core_use(case.trace)
    if share is not None and share >= _LEAST:
        claim = f"threads that could work waited for a core {percent(share)} of the time"
        facts = [Fact("waiting for a core", share, "share")]
    elif share is None and used is not None and cores is not None and cores >= _BUSY and used < _OURS:
        claim = f"{percent(cores)} of the cores' time is used, {percent(used)} of it by this pipeline and its trainer"
        facts = [Fact("used by all", cores, "share"), Fact("used by this run", used, "share")]
    else:
        return None
    return Finding(
        kind="cores_taken", blame="the machine", claim=claim,
        advice=(_ADVICE,),
        evidence=(*facts, Fact("cores of the budget", case.trace.host.cpus)),
    )  # fmt: skip
