"""A few elements take far longer than the others, and those behind them wait.

Found where the input binds and, of one step, the slowest hundredth takes ten times the median or more and five times
the slowest tenth (on a crowded machine all elements spread), and a seventh of all time is beyond the median. What
runs on whole blocks shows their means, in which one slow element is hidden among the rest: there the slowest
hundredth takes three times the median, and four tenths of all time are beyond it. Where elements are not timed, where
a seventh of the waits or fewer hold most of the waiting, each ten times the median. What is slow in the turns of one
worker is `straggler`.
"""

from __future__ import annotations

from itertools import accumulate

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import core_use, line_of, node_of, verbs_of, waits_share
from penstock.telemetry.trace import StepTrace

_TIMES, _APART = 10.0, 5.0
_SHARE = 0.15
_TIMES_OF_BLOCKS, _SHARE_OF_BLOCKS = 3.0, 0.4
_MORE_WORK, _CROWDED, _WAITS = 1.5, 0.9, 0.5
_LEAST = 40
_HELD, _FEW = 0.7, 0.15


def find(case: Case) -> Finding | None:
    """`heavy_tail`, blaming the step, or the loader."""
    if not case.is_input_bound:
        return None
    steps = [step for step in verbs_of(case.trace) if _is_heavy(case, step)]
    if steps:
        return _of_step(case, max(steps, key=lambda step: step.busy_s))
    return _of_waits(case) if case.trace.source != "penstock" else None


def _is_heavy(case: Case, step: StepTrace) -> bool:
    if step.element_s is None or case.busy_share(step) < 0.3:
        return False
    if _is_of_blocks(case, step):
        is_heavy = _tail_times(step) >= _TIMES_OF_BLOCKS and _tail_share(step) >= _SHARE_OF_BLOCKS
        return is_heavy and _is_of_elements(case, step)
    _, usual, rare, _ = step.element_s
    is_heavy = _tail_times(step) >= _TIMES and rare >= _APART * usual and _tail_share(step) >= _SHARE
    return is_heavy and _is_of_elements(case, step)


def _is_of_blocks(case: Case, step: StepTrace) -> bool:
    """Whether its quantiles are of the means of blocks of several elements."""
    node = node_of(case.trace, step)
    return node is not None and node.facts.get("compiles") is True and step.elements >= 2 * max(step.calls, 1)


def _is_of_elements(case: Case, step: StepTrace) -> bool:
    """Whether the slow elements are slow by themselves, and did not just lose their core or the GIL.

    Then they need more of a core or of storage than the median element takes in all; or they wait for something else,
    which is only known where cores were free.
    """
    work_s = (step.cpu_s + step.storage_s) / max(step.elements, 1)
    if work_s >= _MORE_WORK * (step.element_s or (0.0,))[0]:
        return True
    cores = core_use(case.trace)
    return cores is not None and cores < _CROWDED and waits_share(step) >= _WAITS


def _tail_times(step: StepTrace) -> float:
    """The slowest hundredth over the median; where it is rarer than that, the slowest."""
    median, _, rare, _ = step.element_s or (0.0, 0.0, 0.0, 0.0)
    return rare / max(median, 1e-9)


def _tail_share(step: StepTrace) -> float:
    """What the time beyond the median is of all time: the mean over the median tells it."""
    median = (step.element_s or (0.0,))[0]
    average = step.busy_s / step.elements if step.elements else 0.0
    return max(0.0, 1.0 - median / average) if average > 0 else 0.0


def _of_step(case: Case, step: StepTrace) -> Finding:
    median, _, rare, slowest = step.element_s or (0.0, 0.0, 0.0, 0.0)
    what = "block" if _is_of_blocks(case, step) else "element"
    facts = [
        Fact("median element", median, "s"), Fact("slowest hundredth", rare, "s"), Fact("slowest", slowest, "s"),
    ]  # fmt: skip
    facts += [Fact(f"slow: {one.origin}", one.seconds, "s") for one in step.slow[:3]]
    return Finding(
        kind="heavy_tail", blame=step.label,
        claim=f"in {step.label} one {what} in a hundred takes {_tail_times(step):.0f} times the median",
        advice=(knob(case.trace, "order"), f"at {line_of(step.label)}: make these elements cheaper, or drop them"),
        evidence=tuple(facts), confidence="high", level=case.level, predicted_gain=case.gain,
    )  # fmt: skip


def _of_waits(case: Case) -> Finding | None:
    waits = sorted((interval.wait_s for interval in case.trace.intervals[1:]), reverse=True)
    total = sum(waits)
    if len(waits) < _LEAST or total <= 0:
        return None
    held = list(accumulate(waits))
    few = next(n for n, seconds in enumerate(held, 1) if seconds >= _HELD * total)
    median = waits[len(waits) // 2]
    if few > _FEW * len(waits) or waits[few - 1] < _TIMES * max(median, 1e-4):
        return None
    return Finding(
        kind="heavy_tail", blame=case.blame,
        claim=f"{percent(few / len(waits))} of the batches hold {percent(held[few - 1] / total)} of the waiting",
        advice=(knob(case.trace, "order"), "find the elements that are slow, and make them cheaper or drop them"),
        evidence=(Fact("median wait", median, "s"), Fact("longest wait", waits[0], "s")),
        level=case.level, predicted_gain=case.gain,
    )  # fmt: skip
