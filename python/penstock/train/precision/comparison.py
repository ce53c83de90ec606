"""What training in several precisions gave, as plain data and as a table."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import accumulate

from penstock.units import format_bytes, format_seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionRun:
    """One precision's training.

    step_s: seconds, the median after warm-up; quartiles_s: half of the steps took between these. losses: of each step.
    host_bytes: resident bytes beyond those before; device_bytes: the most on the first device; None: nothing tells it.
    """

    precision: str
    step_s: float
    losses: tuple[float, ...]
    quartiles_s: tuple[float, float] | None = None
    host_bytes: int = 0
    device_bytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PrecisionComparison:
    """The runs, the first of which the others are held against.

    tolerance: how far a loss curve may be off: the largest distance between the two running means of the loss (over
    steps so far, which evens out the noise of single batches), as a share of the first run's largest running mean.
    rows: distinct batches that were trained on.
    """

    runs: tuple[PrecisionRun, ...]
    tolerance: float
    rows: int = 0

    def deviation(self, run: PrecisionRun) -> float:
        """How far the loss curve of `run` is from the first's; infinite where a loss is not finite."""
        first = self.runs[0].losses
        if not all(map(math.isfinite, (*first, *run.losses))):
            return math.inf
        pairs = list(zip(_running_means(first), _running_means(run.losses), strict=True))
        scale = max(abs(mean) for mean, _ in pairs)
        return max(abs(a - b) for a, b in pairs) / scale if scale else float(any(b for _, b in pairs))

    def agrees(self, run: PrecisionRun) -> bool:
        """Whether `run` learns as the first does, within the tolerance."""
        return self.deviation(run) <= self.tolerance

    @property
    def all_agree(self) -> bool:
        return all(self.agrees(run) for run in self.runs)

    def speedup(self, run: PrecisionRun) -> float:
        """How many times as fast as the first; below 1: slower."""
        return self.runs[0].step_s / run.step_s if run.step_s else math.inf

    def __str__(self) -> str:
        head = (
            "precision", "step", "half of them", "speed", "host memory", "device memory", "first loss", "last loss",
            "off by", "agrees",
        )  # fmt: skip
        rows = [head, *(self._row(run) for run in self.runs)]
        widths = [max(len(row[column]) for row in rows) for column in range(len(head))]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
        steps = len(self.runs[0].losses)
        return "\n".join(
            [*lines, f"{steps} steps on {self.rows} batches; loss curves agree within {self.tolerance:.0%}"]
        )

    def _row(self, run: PrecisionRun) -> tuple[str, ...]:
        off = self.deviation(run)
        return (
            run.precision, format_seconds(run.step_s),
            "-" if run.quartiles_s is None else " to ".join(map(format_seconds, run.quartiles_s)),
            f"{self.speedup(run):.2f} x", format_bytes(run.host_bytes),
            "-" if run.device_bytes is None else format_bytes(run.device_bytes), f"{run.losses[0]:.4g}",
            f"{run.losses[-1]:.4g}", f"{off:.2%}" if math.isfinite(off) else "not finite",
            "yes" if self.agrees(run) else "NO",
        )  # fmt: skip


def _running_means(losses: tuple[float, ...]) -> list[float]:
    return [total / number for number, total in enumerate(accumulate(losses), start=1)]
