"""Predicted against measured throughput: random pipelines run in one setting, predicted and then measured in another.

Work: maps that sleep, sleep with a heavy tail, compute in NumPy, hold the GIL, or read files; 0.5 to 4 ms an element;
1, 2 or 4 workers, batches of 1 to 16, prefetch or none, threads or processes, a consumer of 0 to 1.2 times the work.
The prediction takes the trace of the first setting alone. Both settings run in turn, `ROUNDS` times each, so that both
see the same noise; a case's error is that of the medians. Beside it stand three figures that say what it is worth: how
far runs of one setting lie apart, which no prediction can beat; the error where the prediction is told how busy other
processes kept the cores in the second run, as a busy machine changes between the two; and what predicting no change
would give.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.harness import Result
from benchmarks.model.pipelines import FILE_BYTES, Case, Setting, draw_cases
from penstock.model.demand import demands, measured_rate
from penstock.model.limits import limits
from penstock.model.predict import predict
from penstock.telemetry.trace import Trace

CASES, SEED, ROUNDS, SECONDS = 54, 6, 2, 0.6
PROCESSES_S = 2.5  # two interpreters start in the first one
_FEWEST_STEPS, _LONGEST_S = 12, 4.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """Elements/s before, predicted and measured after; what bound the run before.

    informed: predicted, told how busy the cores were in the second run. apart: of runs of the second setting.
    """

    case: Case
    before: float
    predicted: float
    informed: float
    measured: float
    apart: float
    bound: str

    @property
    def error(self) -> float:
        return abs(self.predicted / self.measured - 1)

    @property
    def error_of_none(self) -> float:
        return abs(self.before / self.measured - 1)


def run(rounds: int) -> Result:
    """`rounds` is not used: the cases are the repetitions."""
    outcomes = [measure(case) for case in progress(draw_cases(CASES, SEED))]
    return conclude(outcomes)


def progress(cases: list[Case]) -> list[Case]:
    print(f"{len(cases)} pipelines, some {len(cases) * 2 * ROUNDS * SECONDS * 1.3:.0f} s", file=sys.stderr, flush=True)
    return cases


def measure(case: Case) -> Outcome:
    """Run both settings in turn, and predict the second from the first."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "numbers"
        np.arange(FILE_BYTES // 8, dtype=np.uint64).tofile(path)
        before, predicted, informed, measured, bound = [], [], [], [], ""
        for _ in range(ROUNDS):
            trace, after = trace_of(case, case.before, path), trace_of(case, case.after, path)
            changes = case.changes(trace)
            before.append(measured_rate(trace))
            predicted.append(predict(trace, changes))
            informed.append(predict(trace, changes, demands(after).others))
            binding = limits(trace).binding
            bound = binding.resource if binding is not None else ""
            measured.append(measured_rate(after))
    medians = map(statistics.median, (before, predicted, informed, measured))
    return Outcome(case, *medians, max(measured) / min(measured) - 1, bound)


def trace_of(case: Case, setting: Setting, path: Path) -> Trace:
    """Train on it for a while, by a trainer that sleeps through its steps, to absolute deadlines."""
    with case.dataset(setting, path).iterator() as iterator:
        next(iterator)
        began = now = time.perf_counter()
        steps = 0
        seconds = PROCESSES_S if setting.processes else SECONDS
        while now - began < seconds or (steps < _FEWEST_STEPS and now - began < _LONGEST_S):
            if setting.step_s:
                time.sleep(max(0.0, now + setting.step_s - time.perf_counter()))
            next(iterator)
            now = time.perf_counter()
            steps += 1
        return iterator.trace()


def conclude(outcomes: Sequence[Outcome]) -> Result:
    """The table: medians, ranks, and the worst misses."""
    errors = [outcome.error for outcome in outcomes]
    none = [outcome.error_of_none for outcome in outcomes]
    moved = [outcome for outcome in outcomes if outcome.error_of_none > 0.2]
    rank = rank_correlation([o.predicted for o in outcomes], [o.measured for o in outcomes])
    rank_moved = rank_correlation([o.predicted / o.before for o in outcomes], [o.measured / o.before for o in outcomes])
    informed = [abs(one.informed / one.measured - 1) for one in outcomes]
    rank_informed = rank_correlation([o.informed for o in outcomes], [o.measured for o in outcomes])
    within = sum(error <= 0.15 for error in errors)
    lines = [
        f"pipelines {len(outcomes)}; median error {statistics.median(errors):.1%} (wanted: at most 15 %)",
        f"rank correlation {rank:.3f} of elements/s (wanted: at least 0.9), {rank_moved:.3f} of their change",
        f"within 15 %: {within} of {len(outcomes)}; 90 % of the errors below {np.quantile(errors, 0.9):.1%}",
        f"runs of one setting lie apart by {statistics.median(outcome.apart for outcome in outcomes):.1%} (median)",
        f"told how busy the cores were then: median error {statistics.median(informed):.1%}, rank {rank_informed:.3f}",
        f"had no change been predicted: median error {statistics.median(none):.1%}",
        f"of the {len(moved)} that changed by more than a fifth: {_median([one.error for one in moved]):.1%}",
        "largest misses: error; elements/s before, predicted, measured; what bound it before",
    ]
    lines += [
        f"  {one.error:6.1%} {one.before:8.0f} {one.predicted:8.0f} {one.measured:8.0f}  {one.bound:10} {one.case}"
        for one in sorted(outcomes, key=lambda one: -one.error)[:12]
    ]
    figures: dict[str, object] = {
        "median_error": statistics.median(errors),
        "rank_correlation": rank,
        "rank_correlation_of_change": rank_moved,
        "within_15_percent": within,
        "median_error_informed": statistics.median(informed),
        "median_apart": statistics.median(outcome.apart for outcome in outcomes),
        "cases": [[str(o.case), o.bound, o.before, o.predicted, o.informed, o.measured, o.apart] for o in outcomes],
    }
    return Result("prediction", "throughput predicted from a run in another setting", lines, figures)


def _median(values: Sequence[float]) -> float:
    return statistics.median(values) if values else float("nan")


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float:
    """Spearman's: the correlation of ranks."""
    ranks = [np.argsort(np.argsort(values)) for values in (one, other)]
    return float(np.corrcoef(*ranks)[0, 1])
