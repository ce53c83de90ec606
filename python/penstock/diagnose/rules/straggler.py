"""One worker falls behind the others, and in-order delivery waits for it each time its turn comes.

Found where the input binds and one worker takes 2.5 times as long over an element as the median of the others; where
workers were not timed, where the waits of one turn in N hold most of the waiting, N being the number of workers.
"""

from __future__ import annotations

from statistics import median

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import integer

_TIMES = 2.5
_LEAST_TURNS = 6


def find(case: Case) -> Finding | None:
    """`straggler`, blaming the loader."""
    if not case.is_input_bound:
        return None
    return _of_workers(case) or _of_turns(case)


def _of_workers(case: Case) -> Finding | None:
    each = {one.id: one.busy_s / one.elements for one in case.trace.workers if one.elements}
    if len(each) < 2:
        return None
    slowest = max(each, key=lambda name: each[name])
    others = median(seconds for name, seconds in each.items() if name != slowest)
    if each[slowest] < _TIMES * others:
        return None
    return _finding(
        case, f"worker {slowest} takes {each[slowest] / max(others, 1e-9):.1f} times as long as the others",
        (Fact(f"worker {slowest}, one element", each[slowest], "s"), Fact("the others, median", others, "s")),
    )  # fmt: skip


def _of_turns(case: Case) -> Finding | None:
    workers = integer(case.trace, "num_workers", "worker_count", "workers") or 0
    intervals = case.trace.intervals
    if workers < 2 or len(intervals) < case.trace.consumer.steps or len(intervals) < workers * _LEAST_TURNS:
        return None  # thinned: whose turn it was is not known
    waits = [interval.wait_s for interval in intervals[workers:]]
    turns = [sum(waits[turn::workers]) for turn in range(workers)]
    total = sum(turns)
    # A tail of rare elements falls into one turn by chance: the turn's median must be long too.
    worst = max(range(workers), key=lambda turn: turns[turn])
    rest = [wait for turn in range(workers) if turn != worst for wait in waits[turn::workers]]
    usual = median(waits[worst::workers])
    if total <= 0 or turns[worst] < 0.75 * total or usual < _TIMES * max(median(rest), 1e-4):
        return None
    return _finding(
        case, f"one of {workers} workers is behind: its turn holds {percent(turns[worst] / total)} of the waiting",
        (Fact("wait in its turn, median", usual, "s"), Fact("wait in the others, median", median(rest), "s")),
    )  # fmt: skip


def _finding(case: Case, claim: str, facts: tuple[Fact, ...]) -> Finding:
    return Finding(
        kind="straggler", blame=case.blame, claim=claim, evidence=facts, level=case.level, predicted_gain=case.gain,
        advice=("see what it shares its core, its disk or its part of the data with", knob(case.trace, "order")),
    )  # fmt: skip
