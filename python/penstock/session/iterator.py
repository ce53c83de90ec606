"""The iterator a user holds: opens the run when first asked, delivers, measures, gives and takes its state."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any

from penstock.block.block import Block
from penstock.engine.build import build
from penstock.engine.kept import Kept
from penstock.engine.marks import START
from penstock.engine.nested.inside import is_in_task
from penstock.engine.run import Run, RunLimits
from penstock.engine.scope import Scope, Skipped
from penstock.errors import (
    NotResumableError,
)
from penstock.graph.node import Node
from penstock.graph.nodes import Slices
from penstock.graph.walk import nodes_of
from penstock.options import Options
from penstock.plan.place import process_workers
from penstock.session.frozen import frozen_of
from penstock.session.node_facts import rows_are_batched
from penstock.session.preparation import Prepared, resolve_seed, services_of, thread_count
from penstock.session.state import OnChange, Progress, progress_of, state_of
from penstock.session.stored.filling import fill_up, prepare_filled
from penstock.session.tracing import RowCount, Told, trace_of
from penstock.session.tuning import Tuning
from penstock.telemetry.clock import Clock
from penstock.telemetry.delivered import DELIVERED
from penstock.telemetry.recorder import Recorder
from penstock.telemetry.snapshot import IteratorStats, StageStats
from penstock.telemetry.thinned import Thinned
from penstock.telemetry.trace import Consumer, Trace, TuningEntry
from penstock.tuned import FrozenTuning

if TYPE_CHECKING:
    from penstock.diagnose import Diagnosis

_END = object()


class PipelineIterator(Iterator[Any]):
    """The elements of one epoch, computed ahead while the consumer works.

    A context manager: leaving it, `close()`, exhausting, abandoning or interrupting it stops its threads. Delivered
    arrays are 64-byte aligned and writable when they come from `batch`, and their memory is recycled only when the last
    reference to them has gone. `skipped` lists what `on_error="skip"` and `ignore_errors` dropped.
    """

    def __init__(self, root: Node, epoch: int, options: Options | None = None, kept: Kept | None = None) -> None:
        self._prepared = prepare_filled(root, options)
        self._epoch = epoch
        self._seed = resolve_seed(self._prepared.options)
        self._kept = Kept() if kept is None else kept
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._elements: Iterator[Any] = iter(())
        self._start = 0
        self._delivered = 0
        self._mark = self._began = START  # of element number `_marked`; of the first this run delivers
        self._marked = 0
        self._wait_s = 0.0
        self._between_s = 0.0
        self._returned_at = 0.0
        self._ready = 0
        self._requests = 0
        self._done = False
        self._now = Clock().now
        self._opened_at, self._began_at = self._now(), time.time()
        self._cpu_at, self._cpu_s = time.process_time(), 0.0  # of the process: then, and until the end
        self._tuning = Tuning(self._prepared, self._kept, self._opened_at)
        self._ended_at: float | None = None
        self._recorder = Recorder()
        self._intervals: Thinned[tuple[float, float, bool]] = Thinned()
        self._first_s = 0.0
        self._batched = rows_are_batched(self._prepared.user_graph)
        self._rows = RowCount()
        self._replay_step_s: float | None = None

    def __iter__(self) -> PipelineIterator:
        return self

    def __next__(self) -> Any:
        entered = self._now()
        with self._lock:
            ready = self._ready
            if self._returned_at:
                self._between_s += entered - self._returned_at
            try:
                if self._run is not None:
                    self._run.check_process()
                element = _END if self._done else next(self._elements, _END)
                if element is _END:
                    element = self._advance()
                else:
                    self._ready += 1
            except BaseException:
                self._finish()
                raise
            self._returned_at = left = self._now()
            if not self._requests & self._intervals.mask:
                self._note(entered, left, self._ready != ready)
            self._requests += 1
            self._delivered += 1
            self._wait_s += left - entered
        if DELIVERED.listeners:
            DELIVERED.tell(self, element, entered, left)
        return element

    def _note(self, entered: float, left: float, was_ready: bool) -> None:
        """One request of many, for the trace."""
        if not self._requests:
            self._first_s = left - entered
        self._intervals.keep((entered, left - entered, was_ready))

    def _advance(self) -> Any:
        """The first element of the next block; raises its failure, or StopIteration at the end."""
        while not self._done:
            run = self._opened()
            marked, was_ready = run.next_block()
            if marked is None:
                if self._prepared.caches:
                    fill_up(self._prepared, self._seed)
                break
            self._mark, self._marked = marked.mark, self._delivered
            if self._batched:
                self._rows = self._rows.with_block(marked.block)
            self._elements = deliver(marked.block)
            element = next(self._elements, _END)
            if element is not _END:
                self._ready += was_ready
                return element
        raise StopIteration

    def _opened(self) -> Run:
        if self._run is None:
            prepared = self._prepared
            executor = prepared.executor
            inline = executor == "inline" or is_in_task() or _is_over_window(prepared.user_graph)
            workers = 0 if inline else thread_count(prepared.plan.root, prepared.budget.cpus)
            processes = 0 if inline else process_workers(prepared.plan.graph, prepared.budget.cpus, executor)
            services = services_of(prepared, self._seed, self._kept, processes, self._recorder)
            scope = Scope(replace(services, settings=self._tuning.settings()), self._epoch)
            root = build(prepared.plan.root, scope, prepared.options.block_size, self._began)
            limits = RunLimits(workers, prepared.ram_budget_bytes, prepared.options.max_error_ratio)
            self._run = Run(root, limits, self._tuning.ticker() if workers else None)
            self._tuning.begin(self._run, self._now())
            self._finalizer = weakref.finalize(self, self._run.close)
            self._finalizer.atexit = False  # the run closes itself at exit
        return self._run

    def _finish(self) -> None:
        self._done = True
        self._elements = iter(())
        self._returned_at = 0.0
        if self._ended_at is None:
            self._ended_at = self._now()
            self._cpu_s = time.process_time() - self._cpu_at
        if self._run is not None:
            self._run.close()

    def close(self) -> None:
        """Stop; idempotent. Nothing of it stays behind, and `next()` then raises StopIteration."""
        self._finish()

    def __enter__(self) -> PipelineIterator:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def epoch(self) -> int:
        """The epoch this iterator delivers."""
        return self._epoch

    @property
    def skipped(self) -> Sequence[Skipped]:
        """What `on_error="skip"` and `ignore_errors` dropped so far, in order: origin, verb, error, traceback."""
        return () if self._run is None else tuple(self._run.scheduler.skipped)

    def stats(self) -> IteratorStats:
        """What was measured so far: see `IteratorStats`. Cost: microseconds."""
        stages: list[StageStats] = []
        waiting = 0
        if self._run is not None:
            scheduler = self._run.scheduler
            waiting = scheduler.waiting_bytes()
            waits: dict[tuple[int, str], float] = {}
            widths: dict[tuple[int, str], int] = {}
            for running in scheduler.stages():
                waits[running.stage.node.key] = running.record.wait_out_s
                for node in nodes_of(running.stage.node) if not running.inputs else [running.stage.node]:
                    widths[node.key] = running.setting.parallelism
            for key, t in list(scheduler.totals.items()):
                wait_s, workers = waits.get(key, 0.0), widths.get(key, 1)
                stages.append(
                    StageStats(
                        t.label, t.elements, t.bytes, t.busy_s, t.inclusive_s, t.cpu_s, wait_s, workers,
                        *self._place_of(key),
                    )
                )  # fmt: skip
        return IteratorStats(
            batches=self._delivered - self._start,
            wait_s=self._wait_s,
            between_s=self._between_s,
            ready=self._ready,
            requests=self._requests,
            skipped=len(self.skipped),
            waiting_bytes=waiting,
            stages=tuple(stages),
        )

    def trace(self) -> Trace:
        """What this iterator told so far, as plain data, also after its end: see `Trace`. Cost: about a millisecond."""
        run, now = self._run, self._now() if self._ended_at is None else self._ended_at
        rows = self._rows.delivered(self._delivered - self._marked) if self._batched else self._delivered - self._start
        consumer = Consumer(
            steps=self._delivered - self._start, rows=rows, wait_s=self._wait_s, between_s=self._between_s,
            first_s=self._first_s, ready=self._ready, requests=self._requests, replay_step_s=self._replay_step_s,
        )  # fmt: skip
        told = Told(
            prepared=self._prepared, recorder=self._recorder, totals={} if run is None else dict(run.scheduler.totals),
            findings=self._kept.findings, settings={} if run is None else run.scheduler.root.scope.services.settings,
            consumer=consumer, intervals=tuple(self._intervals.kept), opened=self._opened_at,
            began_at=self._began_at, seconds=now - self._opened_at,
            process_cpu_s=time.process_time() - self._cpu_at if self._ended_at is None else self._cpu_s,
            threads=None if run is None else run.limits.workers + run.more_threads,
        )  # fmt: skip
        return replace(trace_of(told), tuning=self._tuning.log)

    def tuning_log(self) -> tuple[TuningEntry, ...]:
        """What was changed while it ran: when (seconds since it was opened), what, why, predicted and realised.

        Rows per second of the stage it happened to, which `stage` names by number and verb ("3:map").
        """
        return self._tuning.log

    def _frozen_tuning(self) -> FrozenTuning:
        """As `penstock.freeze(iterator)`."""
        settings = self._tuning.settings() if self._run is None else self._run.scheduler.root.scope.services.settings
        return frozen_of(self._prepared, settings)

    def diagnose(self) -> Diagnosis:
        """What holds this run back so far, also after its end: `penstock.diagnose` of its trace. Cost: milliseconds."""
        from penstock.diagnose.conclude import diagnose

        return diagnose(self.trace())

    def replayed(self, step_s: float) -> None:
        """Take note of what a step takes the trainer by itself; the time since the last batch is not counted as work.

        `penstock.replay` calls it.
        """
        with self._lock:
            self._returned_at = 0.0
            self._replay_step_s = step_s

    def _place_of(self, key: tuple[int, str]) -> tuple[str, str]:
        """Where a step runs now, and why."""
        executor = self._prepared.executor
        if executor == "inline":
            return "inline", 'Options(executor="inline")'
        finding = self._kept.findings.get(key)
        return ("threads", "") if finding is None else (finding.executor, finding.why)

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer is, as a few JSON values: what it received, however far ahead the engine is.

        Raises: NotResumableError: naming the verb and line that cannot be resumed.
        """
        return self._bookmark()()

    def _bookmark(self) -> Callable[[], dict[str, Any]]:
        """`state_dict` as it would be now, for whenever the result is called. Cost: a microsecond."""
        mark = self._mark.after(self._delivered - self._marked)
        return partial(_state_at, self._prepared, Progress(self._seed, self._epoch, self._delivered, mark))

    def load_state_dict(self, state: dict[str, Any], on_change: OnChange = "refuse") -> None:
        """Continue where `state` was taken: the next element is the one after the last that was received then.

        on_change: for a state of a pipeline that has changed since: "refuse" it, saying what differs, or
        "keep_position": pass over as many elements as were received, whatever they are now (counted in rows where the
        pipeline ends in `batch`).
        Cost: an index-driven pipeline starts at once; a stream reads again what its verbs held, a generator replays.
        Raises: StateMismatchError: another pipeline or version; says what differs. NotResumableError: as `state_dict`.
        """
        _require_resumable(self._prepared, "take a")
        progress = progress_of(state, self._prepared.user_graph, self._prepared.plan, on_change)
        with self._lock:
            if self._run is not None:
                self._run.close()
            self._run = None
            self._recorder = Recorder()
            self._elements = iter(())
            self._done, self._ended_at = False, None
            self._rows = RowCount()
            self._seed, self._epoch = progress.seed, progress.epoch
            self._start = self._delivered = self._marked = progress.position
            self._mark = self._began = progress.mark


def _state_at(prepared: Prepared, progress: Progress) -> dict[str, Any]:
    _require_resumable(prepared, "give its")
    return state_of(prepared.user_graph, prepared.plan, progress)


def _require_resumable(prepared: Prepared, what: str) -> None:
    obstacle = prepared.plan.state_obstacle
    if obstacle is not None:
        raise NotResumableError(f"this pipeline cannot {what} state: {obstacle}")


def _is_over_window(graph: Node) -> bool:
    """Whether it draws from rows that a window keeps: of these there are many, and each is small."""
    return any(isinstance(node, Slices) and node.is_window for node in nodes_of(graph))


def deliver(block: Block) -> Iterator[Any]:
    """The elements of a block, then its failure."""
    yield from block.elements()
    if block.failure is not None:
        raise block.failure.error
