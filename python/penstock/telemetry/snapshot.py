"""What `iterator.stats()` returns: values at one moment, nothing that changes afterwards."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StageStats:
    """One step of the pipeline.

    elements, bytes: put out so far. busy_s, cpu_s: seconds and CPU seconds in this step alone, summed over workers;
    inclusive_s: with what it called. wait_s: seconds its finished blocks waited to be taken, summed over blocks (near
    0: what follows it starves). workers: how many may run it at once. executor: where it runs now ("threads",
    "processes" or "inline"); executor_reason: why, where that was decided by measurement.
    """

    name: str
    elements: int
    bytes: int
    busy_s: float
    inclusive_s: float
    cpu_s: float
    wait_s: float
    workers: int
    executor: str = "threads"
    executor_reason: str = ""


@dataclass(frozen=True, slots=True)
class IteratorStats:
    """One iterator so far.

    batches: elements delivered to the user (batches, when the pipeline ends in `batch`). wait_s: seconds the consumer
    spent inside next(); near 0 the pipeline keeps up. between_s: seconds it spent between calls, i.e. its own work.
    ready: requests that found a result waiting. skipped: elements dropped by on_error="skip". waiting_bytes: bytes of
    finished blocks not yet delivered.
    """

    batches: int
    wait_s: float
    between_s: float
    ready: int
    requests: int
    skipped: int
    waiting_bytes: int
    stages: tuple[StageStats, ...]

    @property
    def readiness(self) -> float:
        """Share of requests that found a batch waiting; 1.0 before the first."""
        return self.ready / self.requests if self.requests else 1.0

    @property
    def wait_share(self) -> float:
        """Share of the consumer's time spent waiting for input; 0.0 before the first request."""
        total = self.wait_s + self.between_s
        return self.wait_s / total if total else 0.0
