"""The accelerator is hardly used although the input keeps up: its steps are too small, or the host is in the way.

Found where the run is compute-bound and an accelerator, over at least 20 samples, is below 40 % of use on average and
never long above 70 %. Nothing of the input is to blame.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.rules.sawtooth import utilisation
from penstock.diagnose.steps import mean

_LEAST_SAMPLES = 20
_ADVICE = (
    "larger batches, a compiled step (torch.compile, jit_compile=True), fewer values read back to the host in each step"
)


def find(case: Case) -> Finding | None:
    """`low_use`, blaming the trainer's step."""
    if case.verdict.kind != "compute-bound":
        return None
    for index, used in utilisation(case).items():
        if len(used) >= _LEAST_SAMPLES and mean(used) < 0.4 and mean(one > 0.7 for one in used) < 0.1:
            return Finding(
                kind="low_use", blame="the trainer's step", confidence="low",
                claim=f"accelerator {index} is steadily at {percent(mean(used))}, and not for want of input",
                advice=(_ADVICE,), evidence=(Fact("mean utilisation", mean(used), "share"),),
            )  # fmt: skip
    return None
