"""One worker makes every element, although the machine has cores to spare.

Found where the input binds, the stage to blame has one worker, and working ahead is not enough: it is done already, or
making a batch takes longer than the trainer's own step (else it is `no_prefetch`). The one worker is the user's word,
or a function that must run in order because it may not be pure; the advice differs.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import core_use, integer, line_of, loader_of, own_use, waits_share
from penstock.diagnose.turns import is_hidden_by_working_ahead, is_taking_turns
from penstock.model.predict import Workers

_ONE_AT_A_TIME = ("num_workers", "worker_count", "workers", "num_parallel_calls")
_USED_UP = 0.85
_WAITS = 0.5


def find(case: Case) -> Finding | None:
    """`no_parallelism`, blaming where the number of workers is said."""
    workers = workers_of(case)
    if not case.is_input_bound or workers is None or workers > 1 or case.trace.host.cpus < 2:
        return None
    used, cores = own_use(case.trace), core_use(case.trace)
    is_hidden = is_taking_turns(case.trace) and is_hidden_by_working_ahead(case)
    if is_hidden or (used is not None and used > _USED_UP):
        return None
    stage, trace = case.stage, case.trace
    if stage is not None and stage.serial and not stage.said:
        reason = stage.reason or "for it is not known to be pure"
        told = f"it runs in order, {reason}; if calls may overlap, say {_at_once(case)}, else keep no state"
    else:
        told = knob(trace, "parallel")
    change = None if stage is None else Workers(stage=stage.id, workers=trace.host.cpus)
    facts = [Fact("workers", workers), Fact("cores", trace.host.cpus)]
    if cores is not None:
        facts.append(Fact("cores busy", cores, "share"))
    blame = _where_said(case)
    return Finding(
        kind="no_parallelism", blame=blame, claim=f"{case.blame} makes one element at a time",
        advice=(f"at {line_of(blame)}: {told}",), evidence=tuple(facts), confidence="high", level=case.level,
        predicted_gain=case.gain_after(change, trace.host.cpus),
    )  # fmt: skip


def _at_once(case: Case) -> str:
    """What lets calls overlap: threads, where they wait; where they compute in Python these take turns for the GIL."""
    said = f"num_parallel_calls={case.trace.host.cpus}"
    if case.step is None or waits_share(case.step) > _WAITS:
        return said
    return f'{said}, executor="processes" (what computes in Python gains nothing from threads)'


def _where_said(case: Case) -> str:
    """Where the number of workers is said: at our step, at tf.data's map, at another's loader."""
    if case.trace.source == "penstock":
        return case.blame
    nodes = (node for node in case.trace.nodes if "num_parallel_calls" in node.facts)
    serial = (node.label for node in nodes if node.facts["num_parallel_calls"] in (None, 1))
    return next(serial, loader_of(case.trace))


def workers_of(case: Case) -> int | None:
    """How many workers make elements; 0 and 1 alike mean one at a time. None: not known."""
    if case.trace.source == "penstock":
        stage = case.stage
        return None if stage is None else stage.workers if stage.executor != "inline" else 0
    told = integer(case.trace, *_ONE_AT_A_TIME)
    if told is not None:
        return case.trace.host.cpus if told < 0 else told
    if any(name in case.trace.settings for name in _ONE_AT_A_TIME) or case.trace.source == "iterable":
        return 0  # it was asked for, and nothing was said
    return case.stage.workers if case.stage is not None else None
