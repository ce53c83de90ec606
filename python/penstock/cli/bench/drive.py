"""Taking from a loader for so many seconds, as a trainer would that has nothing else to do, and what that cost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.cli.bench.meter import Meter
from penstock.cli.bench.rows import rows_in
from penstock.errors import SourceError
from penstock.session import PipelineIterator
from penstock.telemetry.trace import Trace

LOOK_S = 0.1

Told = Callable[[float, int, int | None], None]
"""Seconds so far, batches, elements (None: not known)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a run came to.

    batches, elements: delivered; elements is None where a loader does not say what a batch is. seconds: of all.
    first_s: until the first batch came. rates are of what came after it. cpu_s: of this process and those it started.
    rss_before_bytes, rss_peak_bytes: of all of these, looked at ten times a second. epochs: begun. trace: of one of
    Penstock's own pipelines, its longest epoch.
    """

    batches: int
    elements: int | None
    seconds: float
    first_s: float
    batches_per_s: float
    elements_per_s: float | None
    cpu_s: float
    rss_before_bytes: int
    rss_peak_bytes: int
    epochs: int
    trace: Trace | None = None

    @property
    def cpu_s_per_element(self) -> float:
        """CPU seconds of an element, or of a batch where elements are not known."""
        return self.cpu_s / (self.elements or self.batches)

    @property
    def cores(self) -> float:
        """CPU seconds in a second."""
        return self.cpu_s / self.seconds


@dataclass(slots=True)
class _Counts:
    """So far. `rows_known`: of every batch."""

    batches: int = 0
    elements: int = 0
    rows_known: bool = True
    first_s: float = 0.0
    first_elements: int = 0
    epochs: int = 0
    trace: Trace | None = None

    @property
    def told(self) -> int | None:
        return self.elements if self.rows_known else None

    def add(self, rows: int | None, seconds: float) -> None:
        self.rows_known = self.rows_known and rows is not None
        self.elements += rows or 0
        self.batches += 1
        if self.batches == 1:
            self.first_s, self.first_elements = seconds, rows or 0

    def keep(self, trace: Trace) -> None:
        if self.trace is None or trace.consumer.steps > self.trace.consumer.steps:
            self.trace = trace


def drive(
    loader: Iterable[Any], seconds: float, told: Told = lambda *_: None, now: Callable[[], float] = time.perf_counter
) -> Figures:
    """Take batches for `seconds`, from the beginning again where the loader ends earlier.

    told: called ten times a second. Raises: SourceError: it gives nothing, or can be iterated only once.
    """
    meter, counts = Meter(), _Counts()
    before, cpu_began = meter.look(), meter.cpu_s()
    rows_of, began = rows_in(loader), now()
    while (now() - began) < seconds:
        had = counts.batches
        counts.epochs += 1
        _epoch(iter(loader), counts, rows_of, lambda: now() - began, seconds, meter, told)
        if counts.batches == had:
            raise _empty(loader, counts.epochs)
    lasted = now() - began
    meter.look()
    is_steady = counts.batches > 1 and lasted > counts.first_s
    steady_s = lasted - counts.first_s if is_steady else lasted
    steady_elements = counts.elements - (counts.first_elements if is_steady else 0)
    return Figures(
        batches=counts.batches, elements=counts.told, seconds=lasted, first_s=counts.first_s,
        batches_per_s=(counts.batches - is_steady) / steady_s,
        elements_per_s=steady_elements / steady_s if counts.rows_known else None,
        cpu_s=meter.cpu_s() - cpu_began, rss_before_bytes=before, rss_peak_bytes=meter.rss_peak_bytes,
        epochs=counts.epochs, trace=counts.trace,
    )  # fmt: skip


def _epoch(  # noqa: PLR0917 - the body of one loop, called from there alone
    iterator: Any, counts: _Counts, rows_of: Callable[[Any], int | None], elapsed: Callable[[], float],
    seconds: float, meter: Meter, told: Told,
) -> None:  # fmt: skip
    looked = elapsed()
    try:
        for batch in iterator:
            at = elapsed()
            counts.add(rows_of(batch), at)
            if at - looked >= LOOK_S:
                looked = at
                meter.look()
                told(at, counts.batches, counts.told)
            if at >= seconds:
                break
    finally:
        if isinstance(iterator, PipelineIterator):
            counts.keep(iterator.trace())
            iterator.close()


def _empty(loader: Any, epochs: int) -> SourceError:
    name = type(loader).__qualname__
    if epochs > 1:
        return SourceError(
            "bench: it can be iterated only once", got=name, expected="a loader that begins anew at each iter()",
            remedy="name a function that returns one, or give fewer --seconds",
        )  # fmt: skip
    return SourceError("bench: it gives no element", got=name)
