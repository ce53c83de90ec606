"""What the calling thread has read so far, of files by kernels and of objects and streams: for the clocks of a run."""

from __future__ import annotations

from penstock.kernels import file
from penstock.storage import meter
from penstock.telemetry.clock import Clock


def read_totals() -> tuple[float, int]:
    """Seconds in reading, and bytes, of this thread since it began. Cost: 0.2 us."""
    seconds, nbytes = file.read_totals()
    more_s, more_bytes = meter.read_totals()
    return seconds + more_s, nbytes + more_bytes


def engine_clock() -> Clock:
    """The clock of a run."""
    return Clock(reads=read_totals)
