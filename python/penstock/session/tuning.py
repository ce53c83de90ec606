"""The tuner of one iterator: what its stages start with, what it is told, what is done with its answers, and the log.

It has no thread: the run calls it on its commits and the consumer's requests, at most every `INTERVAL_S` seconds, under
its lock. A look costs some 0.2 ms.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace

from penstock.engine.executors.evidence import Finding
from penstock.engine.kept import Kept
from penstock.engine.knobs import Key, Setting, Window, first_setting, knobs_of
from penstock.engine.run import Run, Ticker
from penstock.engine.stages import RunningStage
from penstock.machine.pressure import read_pressure
from penstock.plan.stage import Stage, stages_of
from penstock.session.frozen import tuning_to_start_from
from penstock.session.preparation import Prepared
from penstock.telemetry.trace import TuningEntry, Value
from penstock.tune.tuner import Tuner
from penstock.tune.values import Decision, Look, StageLook
from penstock.tuned import StageTuning
from penstock.units import format_bytes, format_seconds

INTERVAL_S = 0.25
_REALISED_S = 1.0
_PRESSURE_S = 2.0
_MOST_ENTRIES = 1000
_RESIZED = 8  # times more or fewer rows in a task: smaller changes are many, and are not told


@dataclass(slots=True)
class _Noted:
    """A decision, and the rows its stage has taken since, for what it came to."""

    entry: TuningEntry
    rows: int = 0


@dataclass(frozen=True, slots=True)
class Change:
    """What the engine decided by itself, by what it measured."""

    stage: str
    knob: str
    before: Value
    after: Value
    why: str
    predicted: float | None = None


class Tuning:
    """Of one iterator, over its runs. opened: its clock when it was made, from which the log counts."""

    def __init__(self, prepared: Prepared, kept: Kept, opened: float) -> None:
        self._prepared = prepared
        self._kept = kept
        self._opened = opened
        self._start = tuning_to_start_from(prepared)
        self._block_size = prepared.options.block_size
        self._tuner = Tuner()
        self._looked_at = opened
        self._log: deque[_Noted] = deque(maxlen=_MOST_ENTRIES)
        self._open: list[_Noted] = []  # of which it is not known yet what they came to
        self._findings: dict[Key, Finding] = dict(kept.findings)
        self._sizes: dict[Key, int] = {}
        self._pressure: float | None = None
        self._pressure_at = -_PRESSURE_S

    @property
    def log(self) -> tuple[TuningEntry, ...]:
        """What was decided so far, in order."""
        return tuple(noted.entry for noted in list(self._log))

    # -- what a run starts with -------------------------------------------------------------------------------------

    def settings(self) -> dict[Key, Setting]:
        """A setting for each stage: as the epoch before left it, else as was said, else as the plan says."""
        settings: dict[Key, Setting] = {}
        for stage in stages_of(self._prepared.plan.root):
            setting = first_setting(stage)
            found: Setting | StageTuning | None = self._start.get(stage.id)
            if self._prepared.options.tunes:
                found = self._kept.settings.get(stage.node.key, found)
            if found is not None:
                self._take_over(setting, stage, found)
            settings[stage.node.key] = setting
        return settings

    def _take_over(self, setting: Setting, stage: Stage, found: Setting | StageTuning) -> None:
        """What was found for knobs that are not fixed, within the budget of cores."""
        for knob in knobs_of(stage, self._block_size):
            value = getattr(found, knob)
            if value is not None:
                setattr(setting, knob, value)
        cpus = max(self._prepared.budget.cpus, stage.width.workers)
        setting.waits = found.waits and setting.parallelism > cpus
        setting.parallelism = setting.parallelism if setting.waits else min(setting.parallelism, cpus)

    def ticker(self) -> Ticker | None:
        """Whom a run calls; None where nothing may be changed."""
        return Ticker(INTERVAL_S, self.tick) if self._prepared.options.tunes else None

    def begin(self, run: Run, now: float) -> None:
        """A run is about to start with these settings."""
        self._tuner = Tuner()
        self._looked_at = now
        self._give_threads(run)

    def _give_threads(self, run: Run) -> None:
        """As many more threads as tasks may wait in user code; the rest then keep to the cores by their number."""
        settings = run.scheduler.root.scope.services.settings
        more = 0
        for stage in stages_of(self._prepared.plan.root):
            setting = settings.get(stage.node.key)
            if setting is not None and setting.waits:
                more += max(0, setting.parallelism - stage.width.workers)
        run.more_threads = more
        run.scheduler.cores = run.limits.workers if more else None

    # -- at work ----------------------------------------------------------------------------------------------------

    def tick(self, run: Run, now: float) -> None:
        """Look, decide, change. Called under the run's lock."""
        stages: dict[str, RunningStage] = {}
        for stage in run.scheduler.stages():
            stages.setdefault(stage.stage.id, stage)
        look = self._look(run, stages, now)
        self._looked_at = now
        self._realise(look)
        self._note_executors(now)
        self._note_sizes(stages, now)
        decisions = self._tuner.look(look)
        for decision in decisions:
            self._apply(stages[decision.stage], decision, now)
        if decisions:
            self._give_threads(run)

    def _look(self, run: Run, stages: dict[str, RunningStage], now: float) -> Look:
        if now - self._pressure_at >= _PRESSURE_S:
            self._pressure_at = now
            read = read_pressure()
            self._pressure = None if read is None else read.memory
        held = sum(stage.counts.waiting_bytes + stage.expected_bytes() for stage in stages.values())
        asked = run.take_asked(now)
        return Look(
            at_s=now, window_s=now - self._looked_at, cpus=self._prepared.budget.cpus,
            stages=tuple(_stage_look(name, stage, self._block_size) for name, stage in stages.items()),
            requests=asked.requests, ready=asked.ready, wait_s=asked.wait_s,
            free_bytes=max(0.0, run.limits.ram_budget_bytes - held), pressure=self._pressure,
        )  # fmt: skip

    def _apply(self, running: RunningStage, decision: Decision, now: float) -> None:
        setting, stage = running.setting, running.stage
        setattr(setting, decision.knob, decision.after)
        if decision.knob == "parallelism":
            setting.waits = setting.parallelism > max(self._prepared.budget.cpus, stage.width.workers)
        self._kept.settings[stage.node.key] = replace(setting)
        self._note(decision, now)

    # -- the log ----------------------------------------------------------------------------------------------------

    def _note(self, decision: Decision | Change, now: float) -> None:
        """Write a decision down; what it came to follows."""
        entry = TuningEntry(
            at_s=now - self._opened, knob=decision.knob, stage=decision.stage, before=decision.before,
            after=decision.after, why=decision.why, predicted=decision.predicted,
        )  # fmt: skip
        noted = _Noted(entry)
        self._log.append(noted)
        self._open.append(noted)

    def _realise(self, look: Look) -> None:
        """Fill in what came of decisions a second ago: rows per second of their stage since."""
        rows = {stage.stage: stage.rows for stage in look.stages}
        still: list[_Noted] = []
        for noted in self._open:
            noted.rows += rows.get(noted.entry.stage, 0)
            since = look.at_s - self._opened - noted.entry.at_s
            if since < _REALISED_S:
                still.append(noted)
            elif noted.entry.stage in rows:
                noted.entry = replace(noted.entry, realised=noted.rows / since)
        self._open = still

    def _note_executors(self, now: float) -> None:
        """What the functions found by themselves of where they run best."""
        told: list[Finding] = []
        for key, finding in list(self._kept.findings.items()):
            before = self._findings.get(key)
            self._findings[key] = finding
            if before is finding or any(finding is one for one in told):
                continue
            told.append(finding)
            if before is None or before.executor != finding.executor:
                executor = "threads" if before is None else before.executor
                self._note(Change(f"{key[0]}:{key[1]}", "executor", executor, finding.executor, finding.why), now)

    def _note_sizes(self, stages: dict[str, RunningStage], now: float) -> None:
        """What was measured to be the best number of rows of a task, where nothing holds it."""
        for name, running in stages.items():
            size = running.size
            if "block_size" not in knobs_of(running.stage, self._block_size) or size.row_s is None:
                continue
            before = self._sizes.setdefault(running.stage.node.key, size.rows)
            if running.setting.block_size is None and not before / _RESIZED < size.rows < before * _RESIZED:
                self._sizes[running.stage.node.key] = size.rows
                cost = f"{format_seconds(size.row_s)} and {format_bytes(int(size.row_bytes or 0))}"
                why = f"a row was measured to take {cost}"
                self._note(Change(name, "block_size", before, size.rows, why), now)


def _stage_look(name: str, stage: RunningStage, block_size: int | None) -> StageLook:
    """What a stage did since this was last called."""
    window, stage.counts.window = stage.counts.window, Window()
    setting, counts = stage.setting, stage.counts
    has_input = not stage.inputs or bool(stage.inputs[0].ready)
    is_held = has_input and stage.running < setting.parallelism and not stage.ready and not stage.has_room()
    largest = max((waiting.nbytes for waiting in stage.ready), default=0)
    return StageLook(
        stage=name, parallelism=setting.parallelism, prefetch=setting.prefetch, block_size=setting.block_size,
        read_ahead=setting.read_ahead, free=knobs_of(stage.stage, block_size), rows=window.rows, tasks=window.tasks,
        seconds=window.seconds, waited_s=window.waited_s, cpu_s=window.cpu_s, task_s=counts.task_s,
        task_bytes=max(counts.task_bytes, largest), task_rows=stage.size.rows, least_ready=window.least_ready,
        most_ready=window.most_ready, held=is_held, in_processes=stage.is_handed_over,
    )  # fmt: skip
