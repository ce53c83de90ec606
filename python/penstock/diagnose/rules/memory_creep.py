"""The memory of the process and its children grows all along: something keeps what it was given.

Found, whatever binds, in a run of a minute or more: over its last two thirds (the first fills buffers and caches) the
resident bytes grow in at least three of four equal parts, by 15 % and 256 MiB or more in all. A cache in the pipeline
explains growth, so none is reported with one.
"""

from __future__ import annotations

from itertools import pairwise

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding
from penstock.diagnose.steady import CACHES
from penstock.diagnose.steps import loader_of, mean

_SHARE = 0.15
_BYTES = 256 * 2**20
_LEAST_S = 40.0
_LEAST_SAMPLES = 16
_ADVICE = (
    "see what keeps batches or losses: lists that are appended to, metrics with their graph (loss.item(), not loss), "
    "functions with a cache of their own"
)


def find(case: Case) -> Finding | None:
    """`memory_creep`, blaming the loader, with the time that is left."""
    samples = case.trace.samples[len(case.trace.samples) // 3 :]
    if len(samples) < _LEAST_SAMPLES or any(node.verb in CACHES for node in case.trace.nodes):
        return None
    seconds = samples[-1].at_s - samples[0].at_s
    quarter = len(samples) // 4
    levels = [mean(one.host.rss_bytes for one in samples[n * quarter : (n + 1) * quarter]) for n in range(4)]
    grown = levels[-1] - levels[0]
    rises = sum(after > before * 1.01 for before, after in pairwise(levels))
    if seconds < _LEAST_S or rises < 3 or grown < max(_SHARE * levels[0], _BYTES):
        return None
    per_s = grown / (seconds * 3 / 4)
    facts = [Fact("grows each minute", per_s * 60, "bytes"), Fact("now", samples[-1].host.rss_bytes, "bytes")]
    left = samples[-1].host.available_bytes
    if left is not None:
        facts.append(Fact("until none is left", left / per_s, "s"))
    return Finding(
        kind="memory_creep", blame=loader_of(case.trace), claim="the memory of this process grows all along",
        advice=(_ADVICE,), evidence=tuple(facts),
    )  # fmt: skip
