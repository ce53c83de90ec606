"""One of several sources of elements falls behind the others, and those that take turns with it wait.

Found where the input binds and one worker takes 2.5 times as long over an element as the median of the others; or where
an interleave reads several datasets in turns and a tenth of the elements or more take five times the median, all about
as long: these come from one of its datasets. When waits come in bursts of as many as there are workers, that is no
sign: equal workers finish together.
"""

from __future__ import annotations

from statistics import median

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import loader_of
from penstock.telemetry.trace import NodeTrace, StepTrace

_TIMES = 2.5
_TIMES_OF_INPUT, _ALIKE = 5.0, 3.0
_READS_IN_TURNS = ("interleave", "sample_from_datasets", "choose_from_datasets")


def find(case: Case) -> Finding | None:
    """`straggler`, blaming the interleave, or the loader."""
    if not case.is_input_bound:
        return None
    return _of_workers(case) or _of_inputs(case)


def _of_workers(case: Case) -> Finding | None:
    each = {one.id: one.busy_s / one.elements for one in case.trace.workers if one.elements}
    if len(each) < 2:
        return None
    slowest = max(each, key=lambda name: each[name])
    others = median(seconds for name, seconds in each.items() if name != slowest)
    if each[slowest] < _TIMES * others:
        return None
    facts = (Fact(f"worker {slowest}, one element", each[slowest], "s"), Fact("the others, median", others, "s"))
    times = f"{each[slowest] / max(others, 1e-9):.1f} times"
    return _finding(case, loader_of(case.trace), f"worker {slowest} takes {times} as long as the others", facts)


def _of_inputs(case: Case) -> Finding | None:
    for node in case.trace.nodes:
        if node.verb not in _READS_IN_TURNS:
            continue
        for step in case.trace.steps:
            if _belongs(case, step, node) and _has_two_speeds(step):
                usual, slow = (step.element_s or (0.0, 0.0))[:2]
                facts = (Fact("median element", usual, "s"), Fact("a tenth takes at least", slow, "s"))
                claim = (
                    f"{node.label} takes turns, and one of its datasets is {slow / max(usual, 1e-9):.0f} times slower"
                )
                return _finding(case, node.label, claim, facts)
    return None


def _belongs(case: Case, step: StepTrace, node: NodeTrace) -> bool:
    parent = next((one for one in case.trace.steps if one.id == step.part_of), step)
    return node.label in (step.label, parent.label) or case.trace.source != "penstock"


def _has_two_speeds(step: StepTrace) -> bool:
    if step.element_s is None:
        return False
    usual, slow, rare, _ = step.element_s
    return slow >= _TIMES_OF_INPUT * max(usual, 1e-6) and rare <= _ALIKE * slow


def _finding(case: Case, blame: str, claim: str, facts: tuple[Fact, ...]) -> Finding:
    return Finding(
        kind="straggler", blame=blame, claim=claim, evidence=facts, level=case.level, predicted_gain=case.gain,
        advice=("see what it shares its core, its disk or its part of the data with", knob(case.trace, "order")),
    )  # fmt: skip
