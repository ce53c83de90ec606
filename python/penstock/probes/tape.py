"""The times of a trainer's requests as they came, and what they add up to.

A tape grows by three numbers a request. Past a quarter of a million requests its older half is added up and thinned, so
that a run of any length keeps a few megabytes.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from dataclasses import dataclass, field
from math import isnan, nan

from penstock.telemetry.starvation import starved_s
from penstock.telemetry.trace import Interval

LONGEST = 1 << 18
_KEPT = 2000
_READY_S = 1e-4
_READY_SHARE = 0.05


@dataclass(slots=True)
class Totals:
    """Sums over requests that left the tape.

    Units: seconds. starved_s leaves out the first request; `known` of the others knew when the device was done.
    """

    steps: int = 0
    wait_s: float = 0.0
    between_s: float = 0.0
    starved_s: float = 0.0
    known: int = 0
    ready: int = 0
    intervals: list[Interval] = field(default_factory=list)
    every: int = 1


@dataclass(slots=True)
class Tape:
    """Requests of one trainer: when it asked, when it got, when the device was done with that batch, where known.

    pass_began: number of the first batch of the pass that is now. ends: by the position of a pass's last request, when
    the trainer asked again and there was no more (NaN: it never
    did). each: told of every request that leaves the tape, with the seconds between it and the next. Times are seconds
    of one monotonic clock.
    """

    asked: array[float] = field(default_factory=lambda: array("d"))
    got: array[float] = field(default_factory=lambda: array("d"))
    done: dict[int, float] = field(default_factory=dict)
    ends: dict[int, float] = field(default_factory=dict)
    totals: Totals = field(default_factory=Totals)
    pass_began: int = 0
    each: Callable[[Interval, float], None] | None = None
    _done_before: float = nan

    def __len__(self) -> int:
        """Requests so far, those that were added up included."""
        return self.totals.steps + len(self.asked)

    def note_done(self, step: int, at: float) -> None:
        """The device was done with batch number `step` at `at`; too late for one that left the tape."""
        position = step - self.totals.steps
        if 0 <= position < len(self.asked):
            self.done[position] = at

    def end_pass(self, asked: float = nan) -> None:
        """The pass is over: its trainer asked again at `asked`, or never."""
        self.pause(asked)
        self.pass_began = len(self)

    def pause(self, asked: float) -> None:
        """What comes between now and the next request is not the trainer's own work."""
        if self.asked:
            self.ends.setdefault(len(self.asked) - 1, asked)

    def fold(self, keep: int | None = None) -> None:
        """Add up all but the last `keep`, or the older half. One whose end is not known yet stays."""
        count = len(self.asked) // 2 if keep is None else len(self.asked) - keep
        if count == len(self.asked) and count - 1 not in self.ends:
            count -= 1
        self._fold(max(0, count))

    def finish(self) -> Totals:
        """What all requests add up to; the tape stays as it is."""
        copy = Tape(
            self.asked[:],
            self.got[:],
            dict(self.done),
            dict(self.ends),
            _copy(self.totals),
            self.pass_began,
            None,
            self._done_before,
        )
        copy._fold(len(copy.asked))
        return copy.totals

    def _fold(self, count: int) -> None:
        totals = self.totals
        for i in range(count):
            asked, got, first = self.asked[i], self.got[i], totals.steps == 0
            wait = got - asked
            after = self.ends[i] if i in self.ends else (self.asked[i + 1] if i + 1 < len(self.asked) else nan)
            between = 0.0 if isnan(after) else after - got
            is_ready = wait <= max(_READY_S, _READY_SHARE * (wait + between))
            starved = None
            if not first:
                done = self.done.get(i - 1, nan) if i else self._done_before
                starved = starved_s(asked, got, done)
                totals.starved_s += starved
                totals.known += not isnan(done)
            totals.wait_s += wait
            totals.between_s += between
            totals.ready += is_ready
            if self.each is not None or totals.steps % totals.every == 0:
                interval = Interval(at_s=asked, wait_s=wait, starved_s=starved, ready=is_ready)
                if self.each is not None:
                    self.each(interval, between)
                if totals.steps % totals.every == 0:
                    totals.intervals.append(interval)
                if len(totals.intervals) >= 2 * _KEPT:
                    totals.intervals, totals.every = totals.intervals[::2], 2 * totals.every
            totals.steps += 1
        if count:
            self._done_before = self.done.get(count - 1, nan)
        self.ends = {i - count: at for i, at in self.ends.items() if i >= count}
        self.done = {i - count: at for i, at in list(self.done.items()) if i >= count}
        del self.asked[:count], self.got[:count]


def _copy(totals: Totals) -> Totals:
    return Totals(
        totals.steps, totals.wait_s, totals.between_s, totals.starved_s, totals.known, totals.ready,
        list(totals.intervals), totals.every,
    )  # fmt: skip
