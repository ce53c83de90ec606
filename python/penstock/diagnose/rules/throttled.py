"""An accelerator's clocks are held down: by heat, by power, by someone's setting.

Found, whatever binds, where it says so in a fifth of the samples or more. That it slows down because it is idle is no
reason.
"""

from __future__ import annotations

from collections import Counter

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding

_LEAST = 0.2
_LEAST_SAMPLES = 5


def find(case: Case) -> Finding | None:
    """`throttled`, blaming the accelerator."""
    counts: Counter[tuple[int, str, str]] = Counter()
    for sample in case.trace.samples:
        for one in sample.host.accelerators:
            counts.update((one.index, one.name, why) for why in one.throttled if "idle" not in why.lower())
    total = len(case.trace.samples)
    if not counts or total < _LEAST_SAMPLES:
        return None
    (index, name, why), count = counts.most_common(1)[0]
    if count < _LEAST * total:
        return None
    return Finding(
        kind="throttled", blame=f"accelerator {index} ({name})", confidence="high",
        claim=f"the clocks of accelerator {index} ({name}) are held down: {why}",
        advice=("see its cooling and its power limit (nvidia-smi -q -d PERFORMANCE); no change of the input helps",),
        evidence=(Fact("samples that say so", count / total, "share"),),
    )  # fmt: skip
