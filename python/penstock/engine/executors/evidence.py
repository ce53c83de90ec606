"""Whether a function holds the GIL so that worker processes would run it faster: decisions from measurements alone.

What speaks for it. Calls that run at once use about one core together, where they could use several: either the GIL
holds them, or the machine is busy, or they wait for something else. Which of these it is, looks at the GIL say: threads
that come back to it while others run the function find it held. Both were measured on functions of known kinds (pure
Python, NumPy on large arrays, BLAS, sleeping, mixtures), down to two cores shared by 14 threads at work, where pure
Python was found holding the GIL in 0.74 of the looks, half Python in 0.35, BLAS in 0.2, NumPy in 0.1, sleep in none.
Whether it was right, a trial says: the function stays in processes only if calls come through faster there.

Nothing here reads a clock or starts anything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from penstock.units import format_seconds

ENOUGH_S = 0.2
"""Seconds of calls at once (elapsed, not summed) before anything is decided."""

LEAST_ROW_S = 50e-6
"""CPU seconds of an element below which handing blocks over is not worth it."""

LEAST_LEFT_S = 1.0
"""CPU seconds of work that must be left, where that is known: starting two interpreters takes half a second of each."""

MOST_BYTES_PER_S = 1e9
"""Bytes put out in a CPU second above which moving them costs as much as making them."""

LEAST_ABLE, MOST_CORES = 0.4, 1.4
"""Of calls at once: fewer that could run, and they wait for something else; more cores, and the GIL is not held."""

LEAST_HELD = 0.6
LOOKS, MOST_LOOKS = 8, 24
_AT_ONCE = 1.5
_ENOUGH_CALLS = 8
_COLD_CALLS = 4
_TRIAL_CALLS, _TRIAL_S = 16, 0.5
_LEAST_GAIN = 1.1


@dataclass(frozen=True, slots=True)
class Call:
    """One block through the function in a thread.

    cpu_s, queued_s: on a core, and waiting for one (None: not measured). beside: how many calls ran at once, itself
    included, on average.
    """

    rows: int
    nbytes: int
    wall_s: float
    cpu_s: float
    beside: float
    queued_s: float | None = None


@dataclass(frozen=True, slots=True)
class Evidence:
    """What was measured so far.

    rows, nbytes, cpu_s: of all calls. together: calls that ran beside others; together_s: elapsed seconds of these;
    together_cpu_s, together_wall_s: their CPU and wall seconds, summed; together_able_s: seconds in which they were on
    a core or waited for one. looks, held: how often the GIL was looked at while the function ran elsewhere, and how
    often it was held.
    """

    rows: int = 0
    nbytes: int = 0
    cpu_s: float = 0.0
    together: int = 0
    together_s: float = 0.0
    together_cpu_s: float = 0.0
    together_wall_s: float = 0.0
    together_able_s: float = 0.0
    looks: int = 0
    held: int = 0

    def with_call(self, call: Call) -> Evidence:
        added = replace(
            self, rows=self.rows + call.rows, nbytes=self.nbytes + call.nbytes, cpu_s=self.cpu_s + call.cpu_s
        )
        if call.beside < _AT_ONCE or call.queued_s is None:
            return added
        return replace(
            added,
            together=self.together + 1,
            together_s=self.together_s + call.wall_s / call.beside,
            together_cpu_s=self.together_cpu_s + call.cpu_s,
            together_wall_s=self.together_wall_s + call.wall_s,
            together_able_s=self.together_able_s + call.cpu_s + call.queued_s,
        )

    def with_look(self, was_held: bool) -> Evidence:
        return replace(self, looks=self.looks + 1, held=self.held + was_held)

    @property
    def row_cpu_s(self) -> float:
        return self.cpu_s / self.rows if self.rows else 0.0

    @property
    def cores(self) -> float:
        """Cores that calls at once used together."""
        return self.together_cpu_s / self.together_s if self.together_s else 0.0

    @property
    def stretch(self) -> float:
        """Wall seconds of a call, when several run at once, for each of its CPU seconds."""
        return self.together_wall_s / self.together_cpu_s if self.together_cpu_s else 0.0

    @property
    def able(self) -> float:
        """How many of the calls at once could run at any time: on a core, or waiting for one."""
        return self.together_able_s / self.together_s if self.together_s else 0.0


@dataclass(frozen=True, slots=True)
class Verdict:
    """What to do next, and why.

    measure, look: go on measuring (and look at the GIL). processes, threads: run it there from now on. short: run it in
    threads, because too little is left; another iterator may decide otherwise.
    """

    step: Literal["measure", "look", "processes", "threads", "short"]
    why: str = ""

    @property
    def is_decided(self) -> bool:
        return self.step not in ("measure", "look")


def judge(evidence: Evidence, left_s: float | None) -> Verdict:
    """What the evidence says. left_s: CPU seconds of work still to come, None when not known."""
    row = format_seconds(evidence.row_cpu_s)
    if evidence.cpu_s >= ENOUGH_S / 4 and evidence.row_cpu_s < LEAST_ROW_S:
        return Verdict("threads", f"an element takes {row}: less than handing it over is worth")
    if evidence.together_s < ENOUGH_S / 2 or evidence.together < _ENOUGH_CALLS:
        return Verdict("measure", "measured whether it holds the GIL")
    if evidence.able < LEAST_ABLE or evidence.cores > MOST_CORES:
        if evidence.together_s < ENOUGH_S:
            return Verdict("measure", "measured whether it holds the GIL")
        what = "does not hold the GIL" if evidence.cores > MOST_CORES else "waits for something else"
        return Verdict("threads", f"it {what}: calls at once use {evidence.cores:.1f} cores")
    if evidence.cpu_s and evidence.nbytes / evidence.cpu_s > MOST_BYTES_PER_S:
        return Verdict("threads", "it puts out so much that moving it would cost as much as making it")
    if left_s is not None and left_s < LEAST_LEFT_S:
        return Verdict("short", f"too little work is left to start processes for: {format_seconds(left_s)}")
    return _judge_looks(evidence, row)


def _judge_looks(evidence: Evidence, row: str) -> Verdict:
    share = evidence.held / evidence.looks if evidence.looks else 0.0
    seen = f"the GIL was held in {evidence.held} of {evidence.looks} looks while it ran"
    if evidence.together_s < ENOUGH_S or evidence.looks < LOOKS:
        return Verdict("look", "measured whether it holds the GIL")
    if share >= LEAST_HELD:
        why = f"it holds the GIL: calls at once use {evidence.cores:.1f} cores, {seen}; {row} an element"
        return Verdict("processes", why)
    if evidence.looks >= MOST_LOOKS:
        return Verdict("threads", f"it does not hold the GIL long enough: {seen}")
    return Verdict("look", "measured whether it holds the GIL")


@dataclass(frozen=True, slots=True)
class Trial:
    """Calls answered by worker processes: wall seconds as seen here, CPU seconds there, but of the first few."""

    calls: int = 0
    wall_s: float = 0.0
    cpu_s: float = 0.0

    def with_answer(self, wall_s: float, cpu_s: float) -> Trial:
        if self.calls < _COLD_CALLS:  # workers load the function
            return Trial(self.calls + 1)
        return Trial(self.calls + 1, self.wall_s + wall_s, self.cpu_s + cpu_s)


def judge_trial(evidence: Evidence, trial: Trial) -> Verdict:
    """Whether the function stays in processes, by how long a call takes there for each of its CPU seconds.

    Elements may differ in cost, so calls are compared by their CPU seconds, not by their number.
    """
    if trial.calls < _TRIAL_CALLS or trial.wall_s < _TRIAL_S or trial.cpu_s <= 0:
        return Verdict("measure")
    gain = evidence.stretch / (trial.wall_s / trial.cpu_s)
    if gain < _LEAST_GAIN:
        return Verdict("threads", f"tried in processes, calls came {gain:.2f} times as fast as in threads")
    return Verdict("processes", f"calls come {gain:.1f} times as fast as in threads")


@dataclass(frozen=True, slots=True)
class Finding:
    """Where a function runs and why; `evidence`: what the iterator after this one need not measure again."""

    executor: Literal["threads", "processes"]
    why: str
    evidence: Evidence | None = None
