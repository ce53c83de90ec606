"""The tuner: at each look, what to change. It holds what it saw before, and reads no clock.

Objective: a block waits for the consumer at 0.99 of its requests wherever there is capacity for it, with the least CPU
and memory. So: while the consumer starves, the stage that uses its workers up gets more (up to the cores at once;
beyond them, where tasks wait, as a trial that has to pay); where no stage is used up, results are kept further ahead;
while it is content, what is not needed is given back; and memory pressure goes before all. One thing at a time where
the effect has to be measured, and what did not help is not tried again soon (`holds.py`).
"""

from __future__ import annotations

import math

from penstock.tune.consumer import Consumer
from penstock.tune.holds import Holds, Place
from penstock.tune.load import Load
from penstock.tune.trial import USED_UP, Trial
from penstock.tune.values import Decision, Knob, Look, StageLook

_JITTER = 0.95  # below that, capacity is there but comes unevenly
_JITTER_SHARE = 0.2  # waits longer than that are no jitter
WAITS = 0.4  # of a task's time on a core: below, more tasks than cores may pay
_HARDLY = 0.1  # of a task's time on a core: it waits so much that there may be many of them soon
MOST_TASKS = 64
MOST_READ_AHEAD = 128
MOST_BLOCKS = 64
LEAST_BLOCKS = 2
FIRST_READ_AHEAD = 16
_TRIED_FROM = 32  # tasks that wait for storage: fewer need no proof
_HALF = 0.5  # of its workers at work: it gets more while there are cores
_ALL_CORES = 0.9
_AWAY = 0.6  # of the tasks there may be: so many wait for storage
FILLED = 0.7  # of its time a worker works, when as few are kept as will do
_WORSE = 0.8  # of the rate before a trial that paid: it does so no longer
_WORTH = 0.75  # fewer workers are kept only if they are that few of those there are
HIGH_PRESSURE = 0.10
LOW_PRESSURE = 0.05
_PRESSURE_S = 2.0
_DEEPER_S = 0.5
_SHALLOWER_S = 5.0
_LARGE_BLOCK = 2**20
_SIZE_STEP = 8


class Tuner:
    """Of one run."""

    def __init__(self) -> None:
        self._consumer = Consumer()
        self._loads: dict[str, Load] = {}
        self._holds = Holds()
        self._trial: Trial | None = None
        self._paid: list[Trial] = []  # one upon the other: what each stood on is the `before` of the next
        self._pressed_at = -math.inf
        self._deepened_at = -math.inf
        self._calm_since = math.inf  # that the depth was not changed

    def look(self, look: Look) -> list[Decision]:
        """What to change now; at most a few things, often none."""
        self._consumer.add(look)
        for stage in look.stages:
            self._loads.setdefault(stage.stage, Load()).add(look.window_s, stage)
        self._calm_since = min(self._calm_since, look.at_s)
        decisions = self._decided(look)
        for decision in decisions:
            self._loads[decision.stage].forget()
        if any(decision.knob != "block_size" for decision in decisions):
            self._consumer.forget(look.at_s)
        return decisions

    def _decided(self, look: Look) -> list[Decision]:
        pressure = look.pressure or 0.0
        if pressure >= HIGH_PRESSURE:
            return self._relieve(look, pressure)
        judged = self._judge(look) or self._regret(look) or _as_many_as_processes(look)
        if judged:
            return judged
        calm = pressure < LOW_PRESSURE and look.at_s - self._pressed_at > _PRESSURE_S
        decisions = self._larger_blocks(look) if calm else []
        if self._consumer.starves or self._consumer.falls_short:
            return decisions + (self._restore(look) or self._grow(look, calm) or self._deepen(look, calm))
        return decisions or (self._give_back(look) if self._consumer.is_content(look.at_s) else [])

    # -- memory pressure --------------------------------------------------------------------------------------------

    def _relieve(self, look: Look, pressure: float) -> list[Decision]:
        """Hold less: blocks ahead, large blocks, requests in flight."""
        if look.at_s - self._pressed_at < _PRESSURE_S:
            return []
        self._pressed_at = look.at_s
        self._trial = None
        why = f"tasks of this machine waited for memory {pressure:.0%} of the time"
        decisions = []
        for stage in look.stages:
            if "prefetch" in stage.free and stage.prefetch > 1:
                decisions.append(_changed(stage, "prefetch", stage.prefetch // 2, why))
            rows = stage.task_rows if stage.block_size is None else min(stage.block_size, stage.task_rows)
            if "block_size" in stage.free and stage.task_bytes >= _LARGE_BLOCK and rows > 1:
                decisions.append(_changed(stage, "block_size", rows // 2, why))
            if "read_ahead" in stage.free and stage.waited_s > 0 and stage.read_ahead > 1:
                decisions.append(_changed(stage, "read_ahead", stage.read_ahead // 2, why))
        return decisions

    # -- what was tried ---------------------------------------------------------------------------------------------

    def _judge(self, look: Look) -> list[Decision]:
        """Whether the trial that is open pays; while it is open nothing else beyond the cores is tried."""
        trial = self._trial
        stage = None if trial is None else _named(look, trial.stage)
        if trial is None or stage is None or getattr(stage, trial.knob) != trial.after:
            self._trial = None
            return []
        load = self._loads[trial.stage]
        verdict = trial.verdict(load, stage, look.at_s, self._consumer.starves)
        if verdict == "wait":
            return []
        self._trial = None
        if verdict == "keep":
            self._paid.append(trial)
            return []
        return self._taken_back(trial, stage, look.at_s)

    def _regret(self, look: Look) -> list[Decision]:
        """A trial that paid once, and pays no longer: for a while fewer rows come than before it."""
        while self._paid and self._trial is None:
            trial = self._paid[-1]
            stage = _named(look, trial.stage)
            if stage is None or getattr(stage, trial.knob) != trial.after:
                self._paid.pop()
                continue
            load = self._loads[trial.stage]
            is_used = self._consumer.starves and load.usage(stage) >= USED_UP
            if not (load.is_full and is_used and load.rate < _WORSE * trial.rate):
                return []
            self._paid.pop()
            return self._taken_back(trial, stage, look.at_s)
        return []

    def _taken_back(self, trial: Trial, stage: StageLook, at_s: float) -> list[Decision]:
        self._holds.failed((trial.stage, trial.knob), at_s)
        rate = self._loads[trial.stage].rate
        why = f"{trial.after} brought {rate:.0f} rows/s where {trial.before} had brought {trial.rate:.0f}"
        return [_changed(stage, trial.knob, trial.before, why, trial.rate)]

    # -- more -------------------------------------------------------------------------------------------------------

    def _larger_blocks(self, look: Look) -> list[Decision]:
        """Tasks that may take fewer rows than was measured to be best."""
        decisions = []
        for stage in look.stages:
            if stage.block_size is None or "block_size" not in stage.free or not stage.tasks:
                continue
            after = stage.block_size * _SIZE_STEP
            if stage.task_rows > stage.block_size:
                why = f"a task of {stage.task_rows} rows was measured to be best"
                decisions.append(_changed(stage, "block_size", None if after >= stage.task_rows else after, why))
        return decisions

    def _restore(self, look: Look) -> list[Decision]:
        """What was given back a moment ago, and should not have been."""
        decisions = []
        for (name, knob), before in self._holds.regretted(look.at_s):
            stage = _named(look, name)
            if stage is not None and knob in stage.free and getattr(stage, knob) < before:
                decisions.append(_changed(stage, knob, before, "the consumer waits since it was turned down"))
        return decisions

    def _grow(self, look: Look, calm: bool) -> list[Decision]:
        """More at once, in the stages that use up what they have, the most used up first."""
        cores = sum(load.cores for load in self._loads.values())
        decisions: list[Decision] = []
        for stage in sorted(look.stages, key=lambda stage: -self._loads[stage.stage].usage(stage)):
            load = self._loads[stage.stage]
            if load.usage(stage) < _enough(stage, look) or not load.is_known:
                continue
            step = (self._more_read_ahead(stage, load, look, cores) if calm else None) or self._more_tasks(
                stage, load, look, cores
            )
            if step is None:
                break  # what follows is not what holds the pipeline up
            decisions.append(step)
            if self._trial is not None:
                break
        return decisions

    def _more_tasks(self, stage: StageLook, load: Load, look: Look, cores: float) -> Decision | None:
        before = stage.parallelism
        if "parallelism" not in stage.free or load.working / before < _enough(stage, look):
            return None
        room = min(MOST_TASKS, _fitting(stage, look.free_bytes))
        if before < look.cpus:
            after = min(look.cpus, 2 * before, max(room, before))
            why = f"the consumer waits, and its {_workers(before)} work {load.working / before:.0%} of the time"
            return _more(stage, "parallelism", after, why, load.rate * after / before)
        share = load.core_share
        if share >= WAITS or stage.in_processes or self._trial is not None:
            return None
        if cores >= _ALL_CORES * look.cpus or load.waiting > 0:
            return None  # more would only wait for a core, or it is storage that they wait for
        step = 4 if share < _HARDLY else 2
        after = min(step * before, room, int(look.cpus / share) if share > 0 else MOST_TASKS)
        if after < 1.25 * before or not self._holds.may_grow((stage.stage, "parallelism"), look.at_s):
            return None
        why = f"the consumer waits, and its {_workers(before)} wait themselves {1 - share:.0%} of the time"
        predicted = load.rate * min(after / before, look.cpus / cores if cores > 0 else math.inf)
        self._trial = Trial(stage.stage, "parallelism", before, after, load.rate, look.at_s)
        return _more(stage, "parallelism", after, why, predicted)

    def _more_read_ahead(self, stage: StageLook, load: Load, look: Look, cores: float) -> Decision | None:
        before, slots = stage.read_ahead, stage.parallelism + stage.read_ahead
        if "read_ahead" not in stage.free:
            return None
        # Answers that come together are worked off together, while nothing is asked for: more of them fill the cores.
        in_turns = load.waiting > 0.1 * slots and stage.parallelism >= look.cpus and cores < _ALL_CORES * look.cpus
        if load.waiting < _AWAY * slots and not in_turns:
            return None
        after = min(max(2 * before, FIRST_READ_AHEAD), MOST_READ_AHEAD, _fitting(stage, look.free_bytes))
        if after <= before or not self._holds.may_grow((stage.stage, "read_ahead"), look.at_s):
            return None
        predicted = load.rate * (stage.parallelism + after) / slots
        if before >= _TRIED_FROM:
            if self._trial is not None:
                return None
            self._trial = Trial(stage.stage, "read_ahead", before, after, load.rate, look.at_s)
        why = f"the consumer waits, and {load.waiting:.1f} of {slots} tasks wait for storage"
        return _more(stage, "read_ahead", after, why, predicted)

    def _deepen(self, look: Look, calm: bool) -> list[Decision]:
        """Capacity is there, but a block is not always ready: keep more ahead, at the end and where a stage is held."""
        if not calm or look.at_s - self._deepened_at < _DEEPER_S or not look.stages:
            return []
        used = max(self._loads[stage.stage].usage(stage) for stage in look.stages)
        if used >= (_JITTER if self._consumer.now.wait_share < _JITTER_SHARE else USED_UP):
            return []
        if not any(self._loads[stage.stage].is_known for stage in look.stages):
            return []
        decisions = []
        for number, stage in enumerate(look.stages):
            is_kept_back = stage.held if number else self._loads[stage.stage].was_full
            is_kept_back = is_kept_back or stage.prefetch < LEAST_BLOCKS  # stages take turns then
            if "prefetch" not in stage.free or not is_kept_back:
                continue  # it never had as much ready as it may: more room would not be used
            most = min(MOST_BLOCKS, _fitting(stage, look.free_bytes / 2))
            after = min(2 * stage.prefetch, most)
            if after > stage.prefetch:
                why = f"the consumer waits now and then, though no stage works more than {used:.0%} of the time"
                decisions.append(_changed(stage, "prefetch", after, why))
        if decisions:
            self._deepened_at = self._calm_since = look.at_s
        return decisions

    # -- less -------------------------------------------------------------------------------------------------------

    def _give_back(self, look: Look) -> list[Decision]:
        """The consumer is what is slow: keep as many workers and blocks as it needs, one change at a time."""
        for stage in look.stages:
            load = self._loads[stage.stage]
            place: Place = (stage.stage, "parallelism")
            if "parallelism" not in stage.free or not load.is_full or not self._holds.may_shrink(place, look.at_s):
                continue
            after = max(1, math.ceil(load.working / FILLED))
            if after <= _WORTH * stage.parallelism:
                self._holds.shrank(place, stage.parallelism, look.at_s)
                why = f"the consumer finds what it asks for, and {load.working:.1f} workers are at work on average"
                return [_changed(stage, "parallelism", after, why, load.rate)]
        return self._shallower(look)

    def _shallower(self, look: Look) -> list[Decision]:
        if look.at_s - self._calm_since < _SHALLOWER_S:
            return []
        for stage in look.stages:
            load = self._loads[stage.stage]
            place: Place = (stage.stage, "prefetch")
            spare = load.spare_blocks
            if "prefetch" not in stage.free or not load.is_full or spare is None:
                continue
            if stage.prefetch <= LEAST_BLOCKS or spare < stage.prefetch / 2:
                continue
            if self._holds.may_shrink(place, look.at_s):
                after = max(LEAST_BLOCKS, stage.prefetch // 2)
                self._holds.shrank(place, stage.prefetch, look.at_s)
                self._calm_since = look.at_s
                return [_changed(stage, "prefetch", after, f"{spare} blocks were never needed")]
        return []


def _as_many_as_processes(look: Look) -> list[Decision]:
    """A function that has moved to worker processes needs as many calls at once as there are of these."""
    return [
        _changed(
            stage, "parallelism", look.cpus, "its functions run in worker processes now, of which there are as many"
        )
        for stage in look.stages
        if stage.in_processes and stage.parallelism > look.cpus and "parallelism" in stage.free
    ]


def _enough(stage: StageLook, look: Look) -> float:
    """How much of its workers a stage has to use to be given more."""
    return _HALF if stage.parallelism < look.cpus and "parallelism" in stage.free else USED_UP


def _named(look: Look, name: str) -> StageLook | None:
    return next((stage for stage in look.stages if stage.stage == name), None)


def _workers(count: int) -> str:
    return "worker" if count == 1 else f"{count} workers"


def _fitting(stage: StageLook, free_bytes: float) -> int:
    """How many results of a stage fit in half of the bytes that are left."""
    if stage.task_bytes <= 0 or math.isinf(free_bytes):
        return MOST_READ_AHEAD
    return max(1, int(free_bytes / 2 / stage.task_bytes))


def _more(stage: StageLook, knob: Knob, after: int, why: str, predicted: float) -> Decision | None:
    return _changed(stage, knob, after, why, predicted) if after > getattr(stage, knob) else None


def _changed(stage: StageLook, knob: Knob, after: int | None, why: str, predicted: float | None = None) -> Decision:
    return Decision(
        stage=stage.stage, knob=knob, before=getattr(stage, knob), after=after, why=why, predicted=predicted
    )
