"""What does not change between epochs, and costs most of the input's work, could be kept.

Advised where the input binds, on the highest node that has nothing random below it and is no random one itself, if a
quarter of the input's work or more lies at or below it. It must be known how many elements there are and how large one
is. In memory if half of the budget holds it, else on disk. The epochs to pay back: a cache in memory saves from the
second epoch on; one on disk costs the writing once more.
"""

from __future__ import annotations

from math import ceil

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent, quantity
from penstock.diagnose.steady import best_to_keep, saved_share
from penstock.diagnose.steps import line_of, verbs_of
from penstock.model.predict import CacheAfter
from penstock.telemetry.trace import NodeTrace

_LEAST = 0.25
_OF_MEMORY = 0.5
_DISK_BYTES_PER_S = 500e6


def find(case: Case) -> Finding | None:
    """`cache`, blaming the node above which to put it."""
    trace = case.trace
    best = best_to_keep(trace)
    if not case.is_input_bound or best is None or best.element_bytes is None or best.cardinality < 1:
        return None
    share = saved_share(trace, best)
    if share < _LEAST:
        return None
    bytes_needed = best.element_bytes * best.cardinality
    fits = bytes_needed <= _OF_MEMORY * trace.host.memory_bytes
    verb, place = (".cache()", "of memory") if fits else ('.cache("DIR")', "on disk, for memory does not hold it")
    epochs = 2 if fits else _epochs(case, share, bytes_needed, best)
    needs = f"{quantity(bytes_needed, 'bytes')} {place}"
    told = f"after {line_of(best.label)}: {verb}, {needs}; it pays from epoch {epochs} on"
    facts = (
        Fact("work saved", share, "share"), Fact("bytes needed", bytes_needed, "bytes"),
        Fact("elements", best.cardinality), Fact("pays from epoch", epochs),
    )  # fmt: skip
    return Finding(
        kind="cache", blame=best.label, advice=(told,), evidence=facts,
        claim=f"{percent(share)} of the input's work gives the same each epoch, up to {best.label}",
        predicted_gain=case.gain_after(CacheAfter(step=best.label), 1 / max(1 - share, 0.05)),
    )  # fmt: skip


def _epochs(case: Case, share: float, bytes_needed: float, node: NodeTrace) -> int:
    """The first epoch whose saving has paid the writing: that happens once, and slows the first."""
    done = sum(step.elements for step in verbs_of(case.trace) if step.label == node.label)
    each_s = case.trace.seconds / done if done else 0.0
    saved_s = max(each_s * node.cardinality * min(share, case.waiting.share or 0.0), 1e-9)
    return 1 + ceil(bytes_needed / _DISK_BYTES_PER_S / saved_s)
