"""A cache above something random freezes it: every epoch repeats the first one's draws, or its order.

Found, whatever binds, from the graph alone: a cache (or snapshot, or save) that has a random map or a shuffle below it,
at any depth, in a pipeline as its user wrote it.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Finding
from penstock.diagnose.steady import CACHES
from penstock.diagnose.steps import ancestors_of, line_of

_ORDER = ("shuffle", "sample_from_datasets", "random")


def find(case: Case) -> Finding | None:
    """`cache_after_random`, blaming the cache."""
    for cache in case.trace.nodes:
        if cache.verb not in CACHES:
            continue
        below = ancestors_of(case.trace, cache)
        random = next((node for node in below if node.draws or node.verb in _ORDER), None)
        if random is not None:
            frozen = "order" if random.verb in _ORDER else "augmentation"
            return Finding(
                kind="cache_after_random", blame=cache.label,
                claim=f"{cache.label} freezes the {frozen} of {random.label}: every epoch repeats the first",
                advice=(f"move the {cache.verb} of {line_of(cache.label)} below {random.label}",),
                confidence="high", level="fault",
            )  # fmt: skip
    return None
