"""Whether input and trainer take turns, and whether working ahead would end all waiting."""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.steps import integer
from penstock.telemetry.trace import Trace


def is_hidden_by_working_ahead(case: Case) -> bool:
    """Of two that take turns: whether the input alone is as fast as the trainer, so that they only must not."""
    return 2 * case.waiting.seconds <= case.waiting.total_s


def is_taking_turns(trace: Trace) -> bool:
    """Whether the loader is known to make nothing before it is asked."""
    match trace.source:
        case "penstock":
            return bool(trace.stages) and all(stage.executor == "inline" for stage in trace.stages)
        case "tf.data":
            return _tf_data(trace)
        case "torch":
            return integer(trace, "num_workers") == 0
        case "grain":
            return integer(trace, "worker_count", "num_workers") == 0
        case "keras":
            return integer(trace, "workers") in (0, None) and "workers" in trace.settings
        case "iterable":
            return True


def _tf_data(trace: Trace) -> bool:
    """tf.data works ahead only where it was told to: by a prefetch next to the trainer."""
    if "prefetch" in trace.settings:
        return trace.settings["prefetch"] in (None, 0, False)
    return bool(trace.nodes) and trace.nodes[0].verb != "prefetch"
