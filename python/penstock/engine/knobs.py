"""What may be changed of a stage while it runs: how much at once, and how far ahead. Never what comes, nor its order.

A setting starts from the plan. Whoever changes it does so under the run's lock; the stage reads it when it is asked
whether it may start. A number the user said is no knob.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.plan.stage import IndexedStage, NestedStage, SegmentStage, Stage

Knob = Literal["parallelism", "prefetch", "block_size", "read_ahead"]
Key = tuple[int, str]

AHEAD_BLOCKS = 2
AWAY_TASKS = 64


@dataclass(slots=True)
class Setting:
    """The knobs of one stage.

    parallelism: tasks on a core, or waiting by themselves, at once. prefetch: finished blocks kept for what follows.
    block_size: rows a task takes at most; None: as many as was measured to be best. read_ahead: tasks beyond these that
    may wait for storage. waits: its tasks mostly wait in user code, so they take no core from other stages.
    """

    parallelism: int
    prefetch: int = AHEAD_BLOCKS
    block_size: int | None = None
    read_ahead: int = AWAY_TASKS
    waits: bool = False


def first_setting(stage: Stage) -> Setting:
    """What a stage starts with where nothing is known of it."""
    return Setting(stage.width.workers)


def knobs_of(stage: Stage, block_size: int | None) -> frozenset[Knob]:
    """The knobs of `stage` that are not fixed by the user's word or by its kind. block_size: as said in the options."""
    knobs: set[Knob] = set()
    if stage.ahead is None:
        knobs.add("prefetch")
    if isinstance(stage, IndexedStage | SegmentStage):
        if block_size is None:
            knobs.add("block_size")
        if not (stage.width.said or stage.width.serial):
            knobs |= {"parallelism", "read_ahead"}
    elif isinstance(stage, NestedStage) and not stage.width.said:
        knobs.add("parallelism")
    return frozenset(knobs)


@dataclass(slots=True)
class Window:
    """What the tasks of a stage came to since somebody last looked.

    rows: taken by tasks (given, of those that take none). seconds: in tasks, of which waited_s for storage; cpu_s on a
    core. least_ready, most_ready: finished blocks there were when one was taken, that one counted; None: none was.
    """

    tasks: int = 0
    rows: int = 0
    seconds: float = 0.0
    cpu_s: float = 0.0
    waited_s: float = 0.0
    least_ready: int | None = None
    most_ready: int | None = None

    def took(self, ready: int) -> None:
        """One of so many finished blocks was taken."""
        self.least_ready = ready if self.least_ready is None else min(self.least_ready, ready)
        self.most_ready = ready if self.most_ready is None else max(self.most_ready, ready)
