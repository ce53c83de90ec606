"""The scheduler: a state machine that says what to do next. It starts no thread and reads no clock.

Policy: the stage nearest the consumer that can start something does, so results leave before new ones are begun; a
stage holds back when enough of its output waits; when waiting bytes exceed the budget, only a stage that holds nothing
may start, so the block at the head of the line always flows, however large.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.block.block import Failure
from penstock.block.origin import NOWHERE
from penstock.engine.marks import START, Marked
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Seen, Skipped, agree, disagreement
from penstock.engine.share import SkippedShare
from penstock.engine.stages import Outcome, RunningStage, SourceRun, Task
from penstock.telemetry.tally import StepTotals


class Scheduler:
    """Owns the running stages. Every method is called under the run's lock."""

    def __init__(self, root: RunningStage, ram_budget_bytes: int, max_error_ratio: float | None = None) -> None:
        self.root = root
        self._ram_budget_bytes = ram_budget_bytes
        self._share = None if max_error_ratio is None else SkippedShare(max_error_ratio)
        self._closed = False
        self.seen: dict[int, Seen] = {}
        self.skipped: list[Skipped] = []
        self.totals: dict[tuple[int, str], StepTotals] = {}
        self._bars = root.scope.services.recorder.bars
        self.cores: int | None = None  # tasks at once that do not wait, where there are threads for more; None: no more

    def stages(self) -> Iterator[RunningStage]:
        """The stages that may have work, the one nearest the consumer first."""
        pending = [self.root]
        while pending:
            stage = pending.pop(0)
            yield stage
            pending.extend(source for source in stage.wanted() if not source.closed)

    def waiting_bytes(self) -> int:
        return sum(stage.counts.waiting_bytes for stage in self.stages())

    def claim(self, only_short: bool = False) -> Task | None:
        """The next task to run, None when nothing can start until something commits or is taken.

        `only_short`: only of a stage whose tasks are known to be short.
        """
        if self._closed:
            return None
        stages = list(self.stages())
        for stage in reversed(stages):
            stage.pump()
        stages = list(self.stages())
        held = sum(stage.counts.waiting_bytes + stage.expected_bytes() for stage in stages)
        has_core = self.cores is None or sum(map(_on_core, stages)) < self.cores
        for stage in stages:
            if not has_core and not stage.setting.waits:
                continue
            if (held > self._ram_budget_bytes and not stage.is_idle) or (only_short and not stage.is_short()):
                continue
            task = stage.claim()
            if task is not None:
                return task
        return None

    def commit(self, task: Task, outcome: Outcome) -> None:
        """Take back what a task gave."""
        task.stage.commit(task, outcome, self._check)
        for stage in reversed(list(self.stages())):
            stage.pump()

    def _check(self, outcome: Outcome) -> None:
        """When an outcome's turn has come: its specs must be those seen before; then what it told is merged."""
        for seen in outcome.log.seen:
            first = self.seen.setdefault(seen.number, seen)
            if first is not seen and not agree(first, seen):
                outcome.blocks = [empty_block(NOWHERE, Failure(disagreement(first, seen)))]
                break
        self.skipped.extend(outcome.log.skipped)
        if self._share is not None:
            outcome.blocks = self._share.judged(outcome.number, outcome.blocks, outcome.log.skipped)
        for key, totals in outcome.log.tally.steps.items():
            known = self.totals.get(key)
            if known is None:
                known = self.totals[key] = totals
            else:
                known.add(totals)
            self._bars[key] = known.slowest.bar_s

    def next_block(self) -> Marked | None:
        """A finished block of the root with its mark, or None if none waits."""
        return self.root.take() if self.root.ready else None

    def has_source(self) -> bool:
        """Whether a source may come to keep its task waiting while it has something to give."""
        return any(isinstance(stage, SourceRun) and not stage.ended for stage in self.stages())

    def hurry(self) -> None:
        """The consumer starves: have sources hand over what they hold, before their tasks end."""
        for stage in self.stages():
            outcome = stage.hurry() if isinstance(stage, SourceRun) else None
            if outcome is not None:
                stage.put_out(outcome, self._check, START)

    def is_stuck(self) -> bool:
        """Nothing runs, nothing waits for the consumer, and more should come: a fault of the engine, not of a user."""
        return not (self.root.ready or self.ended or self._closed) and all(not s.running for s in self.stages())

    @property
    def ended(self) -> bool:
        return self.root.ended

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.root.close()


def _on_core(stage: RunningStage) -> int:
    """Tasks of a stage that take a core."""
    return 0 if stage.setting.waits else max(0, stage.running - stage.away.tasks)
