"""Composition root: from a graph and options to a running iterator. Optimize, lower, place, build, run.

Nothing above knows how a pipeline runs, nothing below knows where its graph came from.
"""

from __future__ import annotations

import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.spec import Spec
from penstock.engine.buffers import BufferPool
from penstock.engine.build import build
from penstock.engine.operators.indexed import indexed_operator
from penstock.engine.run import Run, RunLimits
from penstock.engine.scope import Scope, Seen, Services, Skipped
from penstock.errors import (
    NotResumableError,
    PenstockWarning,
    StateMismatchError,
    UnknownLengthError,
)
from penstock.graph.fingerprint import order_description, order_fingerprint
from penstock.graph.node import Node, Signature
from penstock.graph.nodes import Filter, Indexed, Map
from penstock.graph.render import render_graph
from penstock.graph.walk import collected_options, nodes_of, numbered
from penstock.machine.budget import Budget, measure_budget
from penstock.optimize.driver import optimize
from penstock.optimize.fuse_images import fuse_images
from penstock.optimize.rule import Step
from penstock.options import Options
from penstock.plan.lower import lower
from penstock.plan.place import process_workers
from penstock.plan.stage import Plan, SourceStage, Stage
from penstock.rng import element_scope
from penstock.telemetry.clock import Clock
from penstock.telemetry.snapshot import IteratorStats, StageStats
from penstock.trace.tracer import Untraced, obstacle, trace
from penstock.units import format_bytes, parse_bytes

STATE_VERSION = 1
_END = object()


@dataclass(frozen=True, slots=True)
class Prepared:
    """A graph made ready to run: the user's (numbered), the optimized one, the plan, the rules' trace, the limits."""

    user_graph: Node
    plan: Plan
    steps: list[Step]
    options: Options
    budget: Budget
    ram_budget_bytes: int


def prepare(root: Node, options: Options | None = None) -> Prepared:
    """Optimize and lower; runs no user code and starts nothing. Cost: about a millisecond."""
    said = collected_options(root)
    merged = said if options is None else said.merged(options)
    measured = measure_budget()
    cpus = measured.cpus if merged.cpu_budget is None else min(measured.cpus, merged.cpu_budget)
    waiting = measured.memory_bytes // 2
    if merged.ram_budget is not None:
        waiting = min(waiting, parse_bytes(merged.ram_budget))
    budget = replace(measured, cpus=cpus)
    user_graph = numbered(root)
    clock = Clock()
    optimized, steps = optimize(user_graph, merged.skip_rules or frozenset(), clock.now)
    plan = lower(optimized, cpus, merged.deterministic is not False, merged.executor)
    return Prepared(user_graph, plan, steps, merged, budget, waiting)


def resolve_seed(options: Options) -> int:
    """The seed that unseeded nodes derive from: what was said, 0, or fresh entropy if that was asked for."""
    if options.seed == "entropy":
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return 0 if options.seed is None else int(options.seed)


def _services(prepared: Prepared, seed: int, pool: BufferPool, process_workers: int = 0) -> Services:
    said = prepared.options.cache_budget
    cache = prepared.budget.memory_bytes // 2 if said is None else parse_bytes(said)
    executor = prepared.options.executor
    return Services(seed, pool, Clock(), cache, _warn_once(), process_workers=process_workers, executor=executor)


def _warn_once() -> Callable[[str], None]:
    told: set[str] = set()

    def warn(text: str) -> None:
        if text not in told:
            told.add(text)
            warnings.warn(text, PenstockWarning, stacklevel=3)

    return warn


def _threads(stage: Stage, cpus: int) -> int:
    """Worker threads for a plan: the widest stage, and one more for each source that may block in user code."""
    widest, blocking = cpus, 0
    pending = [stage]
    while pending:
        current = pending.pop()
        pending.extend(current.inputs)
        widest = max(widest, current.width.workers)
        blocking += isinstance(current, SourceStage)
    return widest + blocking


class PipelineIterator(Iterator[Any]):
    """The elements of one epoch, computed ahead while the consumer works.

    A context manager: leaving it, `close()`, exhausting, abandoning or interrupting it stops its threads. Delivered
    arrays are 64-byte aligned and writable when they come from `batch`, and their memory is recycled only when the last
    reference to them has gone. `skipped` lists what `on_error="skip"` dropped.
    """

    def __init__(self, root: Node, epoch: int, options: Options | None = None, pool: BufferPool | None = None) -> None:
        self._prepared = prepare(root, options)
        self._epoch = epoch
        self._seed = resolve_seed(self._prepared.options)
        self._pool = BufferPool() if pool is None else pool
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._finalizer: weakref.finalize[..., Any] | None = None
        self._elements: Iterator[Any] = iter(())
        self._start = 0
        self._delivered = 0
        self._wait_s = 0.0
        self._between_s = 0.0
        self._returned_at = 0.0
        self._ready = 0
        self._requests = 0
        self._done = False
        self._now = Clock().now

    def __iter__(self) -> PipelineIterator:
        return self

    def __next__(self) -> Any:
        entered = self._now()
        with self._lock:
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
            self._requests += 1
            self._delivered += 1
            self._returned_at = left = self._now()
            self._wait_s += left - entered
        return element

    def _advance(self) -> Any:
        """The first element of the next block; raises its failure, or StopIteration at the end."""
        while not self._done:
            run = self._opened()
            block, was_ready = run.next_block()
            if block is None:
                break
            self._elements = _deliver(block)
            element = next(self._elements, _END)
            if element is not _END:
                self._ready += was_ready
                return element
        raise StopIteration

    def _opened(self) -> Run:
        if self._run is None:
            prepared = self._prepared
            executor = prepared.options.executor
            inline = executor == "inline"
            workers = 0 if inline else _threads(prepared.plan.root, prepared.budget.cpus)
            processes = 0 if inline else process_workers(prepared.plan.graph, prepared.budget.cpus, executor)
            scope = Scope(_services(prepared, self._seed, self._pool, processes), self._epoch)
            root = build(prepared.plan.root, scope, prepared.options.block_size, self._start)
            self._run = Run(root, RunLimits(workers, prepared.ram_budget_bytes))
            self._finalizer = weakref.finalize(self, self._run.close)
            self._finalizer.atexit = False  # the run closes itself at exit
        return self._run

    def _finish(self) -> None:
        self._done = True
        self._elements = iter(())
        self._returned_at = 0.0
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
        """What `on_error="skip"` dropped so far, in order: origin, verb, error, traceback."""
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
                waits[running.stage.node.key] = running.counts.wait_s
                for node in nodes_of(running.stage.node) if not running.inputs else [running.stage.node]:
                    widths[node.key] = running.stage.width.workers
            for key, t in list(scheduler.totals.items()):
                wait_s, workers = waits.get(key, 0.0), widths.get(key, 1)
                stages.append(
                    StageStats(t.label, t.elements, t.bytes, t.busy_s, t.inclusive_s, t.cpu_s, wait_s, workers)
                )
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

    def state_dict(self) -> dict[str, Any]:
        """Where the consumer is, as a few JSON values: what it received, however far ahead the engine is.

        Raises: NotResumableError: naming the verb and line that cannot be resumed.
        """
        plan = self._prepared.plan
        if plan.state_obstacle is not None:
            raise NotResumableError(f"this pipeline cannot give its state: {plan.state_obstacle}")
        return {
            "version": STATE_VERSION,
            "order": order_fingerprint(self._prepared.user_graph),
            "verbs": order_description(self._prepared.user_graph),
            "seed": self._seed,
            "epoch": self._epoch,
            "position": self._delivered,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Continue where `state` was taken: the next element is the one after the last that was received then.

        Raises: StateMismatchError: another pipeline or version; says what differs. NotResumableError as `state_dict`.
        """
        plan = self._prepared.plan
        if plan.state_obstacle is not None:
            raise NotResumableError(f"this pipeline cannot take a state: {plan.state_obstacle}")
        position = _checked_state(state, self._prepared.user_graph)
        with self._lock:
            if self._run is not None:
                self._run.close()
            self._run = None
            self._elements = iter(())
            self._done = False
            self._seed, self._epoch = int(state["seed"]), int(state["epoch"])
            self._start = self._delivered = position


def _checked_state(state: Any, graph: Node) -> int:
    expected = {"version", "order", "verbs", "seed", "epoch", "position"}
    if not isinstance(state, dict) or not expected <= set(state):
        got = sorted(state) if isinstance(state, dict) else type(state).__name__
        raise StateMismatchError("not a state of a pipeline", got=got, expected=sorted(expected))
    if state["version"] != STATE_VERSION:
        raise StateMismatchError("a state of another version", got=state["version"], expected=STATE_VERSION)
    if state["order"] != order_fingerprint(graph):
        here = order_description(graph)
        differing = [(a, b) for a, b in zip(state["verbs"], here, strict=False) if a != b]
        was, now = differing[0] if differing else (f"{len(state['verbs'])} verbs", f"{len(here)} verbs")
        raise StateMismatchError(
            "a state of another pipeline", got=f"{was} in the state", expected=f"{now} as in this pipeline"
        )
    for name, lowest in (("position", 0), ("epoch", 0), ("seed", None)):
        value = state[name]
        if not isinstance(value, int) or isinstance(value, bool) or (lowest is not None and value < lowest):
            expected_value = "an integer" if lowest is None else f"an integer >= {lowest}"
            raise StateMismatchError(f"a state with a bad {name}", got=repr(value), expected=expected_value)
    return int(state["position"])


def _deliver(block: Block) -> Iterator[Any]:
    """The elements of a block, then its failure."""
    yield from block.elements()
    if block.failure is not None:
        raise block.failure.error


def read_positions(root: Node, positions: Sequence[int], options: Options | None = None) -> list[Any]:
    """The elements at these positions of an index-driven dataset in epoch 0, in the caller's thread."""
    prepared = prepare(root, options)
    services = _services(prepared, resolve_seed(prepared.options), BufferPool())
    scope = Scope(services, 0).in_task()
    block = indexed_operator(prepared.plan.graph).rows(np.array(positions, dtype=np.int64), scope)
    return list(_deliver(block))


def first_element(root: Node) -> Any:
    """The first element, computed in the caller's thread; nothing keeps running.

    Raises: UnknownLengthError: there is none.
    """
    inline = Options(executor="inline", block_size=1)
    with PipelineIterator(root, 0, inline) as iterator:
        for element in iterator:
            return element
    raise UnknownLengthError("an empty dataset has no first element", where=root.label)


def resolve_signature(root: Node) -> Signature | None:
    """What the elements of `root` look like; runs the first element, once, for functions nobody described.

    One run tells every function's result below it, and each is kept with its node. None for an empty dataset.
    """
    while root.signature() is None:
        opaque = [node for node in nodes_of(root) if isinstance(node, Map | Indexed) and node.signature() is None]
        if not opaque or not _probe(opaque[-1]):
            return None
    return root.signature()


def _probe(node: Node) -> bool:
    """Compute the first element of `node` and note what each function gave; False when there is none."""
    block, seen = _first_block(node)
    if block is not None and block.failure is not None:
        raise block.failure.error
    for step in nodes_of(node):
        if isinstance(step, Map | Indexed) and id(step.memo) in seen:
            found = seen[id(step.memo)]
            specs = tuple(map(_any_rows, found.specs)) if _rows_vary(step) else found.specs
            step.memo.signature = step.memo.signature or Signature(found.structure, specs)
    return node.signature() is not None


def _first_block(node: Node) -> tuple[Block | None, dict[int, Seen]]:
    """The first element of `node`, computed in this thread, and what each function below it gave, by memo."""
    prepared = prepare(node, Options(executor="inline", block_size=1))
    scope = Scope(_services(prepared, resolve_seed(prepared.options), BufferPool()), 0)
    run = Run(build(prepared.plan.root, scope, 1), RunLimits(0, prepared.ram_budget_bytes))
    try:
        block, _ = run.next_block()
        seen = run.scheduler.seen
    finally:
        run.close()
    functions = [step for step in nodes_of(prepared.user_graph) if isinstance(step, Map | Indexed)]
    return block, {id(step.memo): seen[step.number] for step in functions if step.number in seen}


def _rows_vary(step: Node) -> bool:
    """Whether what a function is given differs in its number of rows: batches, of which the last may be short."""
    inner = step.inputs[0].signature() if step.inputs else None
    return inner is not None and any(spec.shape and spec.shape[0] is None for spec in inner.specs)


def _any_rows(spec: Spec) -> Spec:
    return Spec((None, *spec.shape[1:]), spec.dtype) if spec.shape else spec


def explain(root: Node) -> str:
    """The graph as written, each rule's effect, and the stages it runs in, with the reason for each width."""
    prepared = prepare(root)
    lines = ["graph:", _indent(render_graph(prepared.user_graph))]
    for step in prepared.steps:
        lines += [f"after {step.rule}:", _indent(render_graph(step.after))]
    lines.append("functions:")
    lines += [f"  {node.label}: {_compilation(node)}" for node in nodes_of(root) if isinstance(node, Map | Filter)]
    lines.append("stages, from the source:")
    lines += [f"  {line}" for line in _stage_lines(prepared.plan.root)]
    obstacle = prepared.plan.state_obstacle
    lines.append(f"resume: {'by position' if obstacle is None else f'not possible: {obstacle}'}")
    budget = prepared.budget
    lines.append(
        f"budget: {budget.cpus} CPUs ({budget.cpu_reason}), {format_bytes(prepared.ram_budget_bytes)} for waiting "
        f"blocks ({budget.memory_reason})"
    )
    return "\n".join(lines)


def _compilation(node: Map | Filter) -> str:
    """Whether a function compiles, and into what: found by computing the first element that reaches it."""
    function = node.function if isinstance(node, Map) else node.predicate
    reason = obstacle(function)
    if isinstance(node, Map) and (node.takes_rng or not node.compiles):
        reason = "draws from a stream given to it" if node.takes_rng else "is under compile=False"
    if reason is not None:
        return f"Python, because it {reason}"
    try:
        block, _ = _first_block(node.input)
    except Exception as error:  # noqa: BLE001  # explaining must not fail where running would
        return f"not known: the element before it could not be computed ({type(error).__name__})"
    if block is None or not len(block):
        return "not known: there is no element to compile it for"
    with element_scope(0, block.origins.ids):
        found = trace(function, block)
    if isinstance(found, Untraced):
        return f"Python, because it {found.reason}"
    return "compiled into " + "; ".join(str(fuse_images(found)).splitlines())


def _stage_lines(stage: Stage) -> list[str]:
    lines = [line for source in stage.inputs for line in _stage_lines(source)]
    names = [node.label for node in nodes_of(stage.node)] if not stage.inputs else [stage.node.label]
    order = "" if stage.ordered else ", as completed"
    width = stage.width
    lines.append(f"{stage.kind} ({' -> '.join(names)}): {width.workers} worker(s){order}; {width.reason}")
    return lines


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
