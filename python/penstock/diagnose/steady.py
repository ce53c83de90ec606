"""What gives the same in every epoch, and how much of the input's work lies in it: where a cache may stand."""

from __future__ import annotations

from penstock.diagnose.steps import ancestors_of, seconds_of, verbs_of
from penstock.telemetry.trace import NodeTrace, Trace

CACHES = ("cache", "snapshot")
"""Verbs that keep what is below them."""

_NOT_KEPT = ("shuffle", "repeat", "batch", "prefetch", "window")


def best_to_keep(trace: Trace) -> NodeTrace | None:
    """The node to put a cache after: of those with nothing random at or below them, the one that saves most work.

    None: there is no such node, or a cache is there already.
    """
    if any(node.verb in CACHES for node in trace.nodes):
        return None
    return max(
        (node for node in trace.nodes if _is_steady(trace, node)), key=lambda n: saved_share(trace, n), default=None
    )


def saved_share(trace: Trace, node: NodeTrace) -> float:
    """Share of the input's work that a cache after `node` saves from the second epoch on."""
    kept = {one.label for one in (node, *ancestors_of(trace, node))}
    steps = verbs_of(trace)
    total = sum(seconds_of(trace, step) for step in steps)
    return sum(seconds_of(trace, step) for step in steps if step.label in kept) / total if total > 0 else 0.0


def _is_steady(trace: Trace, node: NodeTrace) -> bool:
    below = ancestors_of(trace, node)
    return bool(below) and not any(one.draws or one.verb in _NOT_KEPT for one in (node, *below))
