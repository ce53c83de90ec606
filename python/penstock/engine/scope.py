"""Scope: what an operator needs to know beyond its input: which epoch and pass, which seed, whom to tell."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Array
from penstock.block.spec import Spec, render_spec
from penstock.block.tree import Structure
from penstock.engine.buffers import BufferPool
from penstock.engine.executors.crowd import Crowd
from penstock.engine.executors.evidence import Finding
from penstock.engine.knobs import Setting
from penstock.engine.sizing import TaskSize
from penstock.errors import StructureError
from penstock.graph.node import Node
from penstock.options import RemoteOptions
from penstock.rng import derive_key
from penstock.telemetry.clock import Clock
from penstock.telemetry.gil import GilWatch
from penstock.telemetry.recorder import Recorder
from penstock.telemetry.tally import Tally


@dataclass(frozen=True, slots=True)
class Services:
    """What all operators of one run share.

    process_workers: worker processes that functions may use, 0 for none: all runs here. executor: where functions run
    that nothing was said of, see `Options.executor`. sizes: of tasks, by step, as iterators before found them best.
    settings: of the stages, by step, as they are now. block_size: rows of a block, as said in the options. optimized: a
    nested dataset's graph after the rules. findings: where functions were found to run best, by step. crowd: how many
    run at once in this iterator. max_image_pixels, remote: as the options, None for the defaults. closing: set when the
    run ends, for whoever waits in it. recorder: of what is measured beside the totals of steps. gil: is told when
    functions run as Python.
    """

    seed: int
    pool: BufferPool
    clock: Clock
    cache_budget_bytes: int
    warn: Callable[[str], None]
    process_workers: int = 0
    executor: str | None = None
    max_image_pixels: int | None = None
    remote: RemoteOptions | None = None
    sizes: dict[tuple[int, str], TaskSize] = field(default_factory=dict)
    settings: dict[tuple[int, str], Setting] = field(default_factory=dict)
    block_size: int | None = None
    optimized: Callable[[Node], Node] = lambda node: node
    findings: dict[tuple[int, str], Finding] = field(default_factory=dict)
    crowd: Crowd = field(default_factory=Crowd)
    closing: threading.Event = field(default_factory=threading.Event)
    recorder: Recorder = field(default_factory=Recorder)
    gil: GilWatch = field(default_factory=lambda: GilWatch(Clock(), threading.Event()))


@dataclass(frozen=True, slots=True)
class Skipped:
    """One element dropped by `on_error="skip"` or `ignore_errors`: where it came from, which verb dropped it, and why.

    number, place: of the verb in the graph, and how many elements it had let through before in the same task; for the
    engine's count.
    """

    origin: str
    verb: str
    error: str
    traceback: str
    number: int = -1
    place: int = 0


@dataclass(frozen=True, slots=True)
class Seen:
    """What one step put out in one task; steps of one run must agree, and the first in order decides."""

    number: int
    label: str
    structure: Structure
    specs: tuple[Spec, ...]
    origin: str

    @classmethod
    def of(cls, node: Node, block: Block) -> Seen:
        """What `node` put out in `block`, which is not empty."""
        return cls(node.number, node.label, block.structure, block.specs, block.describe(0))


def agree(first: Seen, later: Seen) -> bool:
    """Whether elements of these two can stand in one dataset: one structure, and dtype and rank of every leaf."""
    if first.structure is not later.structure and first.structure != later.structure:
        return False
    return all(
        a.dtype == b.dtype
        and a.ragged_rank == b.ragged_rank
        and (a.shape is None or b.shape is None or len(a.shape) == len(b.shape))
        for a, b in zip(first.specs, later.specs, strict=True)
    )


def disagreement(first: Seen, later: Seen) -> StructureError:
    """The error for two that do not."""
    return StructureError(
        "another structure, dtype or rank",
        got=render_spec(later.structure.unflatten(later.specs)),
        expected=f"{render_spec(first.structure.unflatten(first.specs))}, as at {first.origin}",
        where=f"{later.label}, {later.origin}",
    )


@dataclass(slots=True)
class TaskLog:
    """What one task has to tell, merged in order when its turn comes."""

    tally: Tally
    skipped: list[Skipped] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)


Destination = Callable[[int, tuple[int, ...], np.dtype[Any]], Array | None]
"""Leaf, shape [rows, ...] and dtype of a task's results -> their place in the batch, None where there is none."""


@dataclass(frozen=True, slots=True)
class Scope:
    """The place of a computation: epoch, passes of the repeats around it, and the log of the task it is in.

    `passes` holds (node number, pass) for every repeat beyond its first pass, so that a pipeline without the repeat
    draws what the first pass draws. `destination`: where the last function of a task may write its results at once.
    `rows_before`: elements let through before, where a block is computed row by row.
    `staging`: in a worker process, where large rows that a Python function returns are copied one by one, still warm.
    """

    services: Services
    epoch: int
    passes: tuple[tuple[int, int], ...] = ()
    log: TaskLog | None = None
    destination: Destination | None = None
    staging: Destination | None = None
    rows_before: int = 0

    @property
    def task_log(self) -> TaskLog:
        if self.log is None:
            raise AssertionError("an operator ran outside a task")
        return self.log

    def in_task(self) -> Scope:
        return replace(self, log=TaskLog(Tally(self.services.clock, bars=self.services.recorder.bars)))

    def aside(self) -> Scope:
        """For a computation whose result is not that of the task."""
        if self.destination is None and self.staging is None:
            return self
        return replace(self, destination=None, staging=None)

    def allocate(self, leaves: Sequence[int | None], shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Array]:
        """Memory for rows of some leaves of a function's results (None: for something else), which are alike."""
        pool, destination = self.services.pool, self.destination
        if destination is None:
            return pool.arrays((shape,) * len(leaves), dtype)
        places = [None if leaf is None else destination(leaf, shape, dtype) for leaf in leaves]
        return [pool.array(shape, dtype) if place is None else place for place in places]

    def in_pass(self, number: int, repetition: int) -> Scope:
        return self if repetition == 0 else replace(self, passes=(*self.passes, (number, repetition)))

    def in_child(self, number: int, origin_id: int, log: TaskLog) -> Scope:
        """Within the nested dataset that node `number` opened for the element of this identity."""
        return replace(self, passes=(*self.passes, (-2 - number, origin_id)), log=log, destination=None, staging=None)

    def frozen(self) -> Scope:
        """Below a cache: the first pass of the first epoch, always (of each nested dataset its own)."""
        return replace(self, epoch=0, passes=tuple(step for step in self.passes if step[0] < 0))

    def key(self, purpose: str, number: int, seed: int | None, *, per_iteration: bool = True) -> int:
        """The stream of node `number`; without `per_iteration`, the same in every epoch and pass."""
        base = self.services.seed if seed is None else seed
        if not per_iteration:
            return derive_key(purpose, base, number)
        return derive_key(purpose, base, number, self.epoch, *(n for p in self.passes for n in p))
