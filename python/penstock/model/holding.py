"""Whether functions hold the GIL, where nobody measured it: from how long their threads waited in company.

A thread that holds the GIL for h seconds of an element makes each of the others wait as long. So if n threads run such
functions at once, and the GIL is in use for a share r of the time, an element waits about h (n - 1) r^2 for it: all of
that when it is never free, next to nothing when it mostly is. What an element waited, beside storage and cores,
therefore bounds h from above, as its CPU seconds do; alone (n near 1) nothing shows, and h is taken to be 0. What waits
by itself, as a sleep does, uses little CPU, so little is taken for the GIL's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.telemetry.trace import StepTrace, Trace

_LEAST_COMPANY = 0.2
_NATIVE = frozenset({
    "batch", "padded_batch", "ragged_batch", "range", "from_tensor_slices", "shuffle", "enumerate", "zip", "take",
    "skip", "shard", "repeat", "concatenate", "cache", "prefetch", "segment",
})  # fmt: skip


def held_and_waited(trace: Trace, steps: Sequence[StepTrace]) -> Mapping[str, tuple[float, float]]:
    """By step id: seconds the GIL was held, and waited for. Of steps that were measured, what was measured."""
    threads = {stage.id for stage in trace.stages if stage.executor == "threads"}
    native = _native(trace)
    found: dict[str, tuple[float, float]] = {}
    python = [step for step in steps if step.stage in threads and step.gil_s is None and step.id not in native]
    seconds = trace.consumer.wait_s + trace.consumer.between_s
    company = sum(step.busy_s for step in python) / seconds - 1 if seconds > 0 else 0.0
    used = sum(step.cpu_s + (step.queued_s or 0.0) for step in python) / seconds if seconds > 0 else 0.0
    factor = company * min(1.0, used) ** 2
    for step in steps:
        off_s = max(0.0, step.busy_s - step.cpu_s - step.storage_s - (step.queued_s or 0.0))
        if step.gil_s is not None and step.stage in threads:
            held = min(step.gil_s, step.cpu_s)
            found[step.id] = held, step.gil_s - held
        elif step.stage not in threads:
            found[step.id] = 0.0, 0.0
        elif step.id in native:
            found[step.id] = 0.0, off_s  # it does not wait by itself
        elif company > _LEAST_COMPANY:
            held = min(step.cpu_s, off_s / factor) if factor > 0 else 0.0
            found[step.id] = held, held * factor
        else:
            found[step.id] = 0.0, 0.0
    return found


def _native(trace: Trace) -> set[str]:
    """Ids of the steps that run no Python of the user's."""
    compiled = {node.id for node in trace.nodes if node.facts.get("compiles") is True}
    return compiled | {step.id for step in trace.steps if step.verb in _NATIVE and trace.source == "penstock"}
