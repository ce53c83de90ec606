"""The accelerator works and starves in turns.

Found where the input binds (an upper bound of the waiting included) and the utilisation of an accelerator, over at
least 20 samples, is high in a quarter of them and low in a quarter, changing between these often: it works while there
are batches and then waits for more. Use that is low all along is `low_use`.
"""

from __future__ import annotations

from itertools import pairwise

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import loader_of, mean

_HIGH, _LOW = 0.7, 0.3
_LEAST_SAMPLES = 20
_LEAST_TURNS = 4


def find(case: Case) -> Finding | None:
    """`sawtooth`, blaming the loader."""
    if not case.is_input_bound:
        return None
    for index, used in utilisation(case).items():
        turns = turns_of(used)
        if len(used) >= _LEAST_SAMPLES and turns >= _LEAST_TURNS:
            return Finding(
                kind="sawtooth", blame=loader_of(case.trace),
                claim=f"accelerator {index} works and starves in turns, {turns} times",
                advice=(f"let more batches wait: {knob(case.trace, 'ahead')}",), level=case.level,
                evidence=(Fact("mean utilisation", mean(used), "share"),
                          Fact("above 70 %", mean(one >= _HIGH for one in used), "share"),
                          Fact("below 30 %", mean(one <= _LOW for one in used), "share")),
            )  # fmt: skip
    return None


def utilisation(case: Case) -> dict[int, list[float]]:
    """The utilisation of each accelerator over time, of those that say it."""
    found: dict[int, list[float]] = {}
    for sample in case.trace.samples:
        for one in sample.host.accelerators:
            if one.utilisation is not None:
                found.setdefault(one.index, []).append(one.utilisation)
    return found


def turns_of(used: list[float]) -> int:
    """How often it fell from high to low; 0 unless it was either for a quarter of the time."""
    if mean(one >= _HIGH for one in used) < 0.25 or mean(one <= _LOW for one in used) < 0.25:
        return 0
    levels = [one >= _HIGH for one in used if one >= _HIGH or one <= _LOW]
    return sum(before and not after for before, after in pairwise(levels))
