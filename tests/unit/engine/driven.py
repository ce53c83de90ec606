"""A run driven by hand: no thread, no clock but ours; the test says which task runs next."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as ps
from penstock.block.block import Block
from penstock.block.columns import ArrayColumn
from penstock.block.origin import SourceOrigins
from penstock.block.tree import LEAF
from penstock.engine.buffers import BufferPool
from penstock.engine.build import build
from penstock.engine.scheduler import Scheduler
from penstock.engine.scope import Scope, Services
from penstock.engine.stages import Task
from penstock.graph.walk import numbered
from penstock.optimize.driver import optimize
from penstock.plan.lower import lower
from penstock.telemetry.clock import Clock

PLENTY = 2**40


class FakeClock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def clock(self) -> Clock:
        return Clock(lambda: self.now_s, lambda: self.now_s, lambda: 0.0)


def scope_of(
    clock: FakeClock | None = None,
    *,
    cache_budget_bytes: int = PLENTY,
    epoch: int = 0,
    told: list[str] | None = None,
) -> Scope:
    """A scope outside any task; warnings go to `told`."""
    time = FakeClock() if clock is None else clock
    warn = ([] if told is None else told).append
    return Scope(Services(0, BufferPool(), time.clock(), cache_budget_bytes, warn), epoch)


def schedule(
    dataset: ps.Dataset,
    *,
    workers: int = 3,
    budget_bytes: int = PLENTY,
    block_size: int | None = 1,
    clock: FakeClock | None = None,
    deterministic: bool = True,
) -> Scheduler:
    """The scheduler of one epoch, nothing started."""
    graph, _ = optimize(numbered(dataset._node), frozenset(), lambda: 0.0)
    plan = lower(graph, workers, deterministic)
    return Scheduler(build(plan.root, scope_of(clock), block_size), budget_bytes)


def claim_all(scheduler: Scheduler) -> list[Task]:
    """Every task that may start now."""
    tasks: list[Task] = []
    while (task := scheduler.claim()) is not None:
        tasks.append(task)
    return tasks


def finish(scheduler: Scheduler, task: Task) -> None:
    scheduler.commit(task, task.execute())


def taken(scheduler: Scheduler) -> list[Any]:
    """The elements that wait at the root now; raises the failure that follows them."""
    values: list[Any] = []
    while (marked := scheduler.next_block()) is not None:
        block = marked.block
        values += [np.asarray(element).tolist() for element in block.elements()]
        if block.failure is not None:
            raise block.failure.error
    return values


def drain(scheduler: Scheduler, choose: Callable[[list[Task]], Task] | None = None) -> list[Any]:
    """All elements, running whichever claimed task `choose` picks next (the last one: as late as can be)."""
    values: list[Any] = []
    open_tasks: list[Task] = []
    while not scheduler.ended:
        open_tasks += claim_all(scheduler)
        if open_tasks:
            task = open_tasks[-1] if choose is None else choose(open_tasks)
            open_tasks.remove(task)
            finish(scheduler, task)
        else:
            assert scheduler.root.ready or scheduler.ended, "stuck"
        values += taken(scheduler)
    return values


def at_random(seed: int) -> Callable[[list[Task]], Task]:
    return random.Random(seed).choice


def numbers(start: int, stop: int) -> Block:
    """A block of the integers between, each its own origin."""
    values = np.arange(start, stop, dtype=np.int64)
    return Block(LEAF, (ArrayColumn(values),) if stop > start else (), SourceOrigins(0, "numbers", values))


def cut(count: int, sizes: list[int]) -> list[Block]:
    """The integers below `count` in blocks of these sizes, over and over."""
    blocks, start, turn = [], 0, 0
    while start < count:
        stop = min(count, start + sizes[turn % len(sizes)])
        blocks.append(numbers(start, stop))
        start, turn = stop, turn + 1
    return blocks
