"""From a graph and options to a plan, and what a run of it needs: optimize, lower, limits, seed, services."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from penstock.engine.kept import Kept
from penstock.engine.reads import engine_clock
from penstock.engine.scope import Services
from penstock.errors import InvalidArgumentError, user_location, warn_user
from penstock.graph.distribution import distributed
from penstock.graph.node import Node
from penstock.graph.nodes import Distribute, Shard, Shuffle, Skip, Stride, Take
from penstock.graph.walk import chain_of, collected_options, nodes_of, numbered
from penstock.machine.budget import Budget, recent_budget
from penstock.machine.process import is_helper
from penstock.optimize.driver import optimize
from penstock.optimize.index_files import with_indices
from penstock.optimize.rule import Step
from penstock.options import Options
from penstock.plan.lower import lower
from penstock.plan.stage import Plan, SourceStage, Stage, stages_of
from penstock.session.stored.resolve import Found, with_stored
from penstock.telemetry.clock import Clock
from penstock.telemetry.gil import GilWatch
from penstock.telemetry.recorder import Recorder
from penstock.units import parse_bytes

_SMALL_CHILD = 4096
_ADDRESSING = (Shuffle, Take, Skip, Shard, Stride)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A graph made ready to run: the user's (numbered), the optimized one, the plan, the rules' trace, the limits.

    executor: where functions run that nothing was said of; "threads" in a process that works for another. caches: what
    was found of each `cache(directory)`.
    """

    user_graph: Node
    plan: Plan
    steps: list[Step]
    options: Options
    budget: Budget
    ram_budget_bytes: int
    executor: str | None
    caches: tuple[Found, ...] = ()


def prepare(root: Node, options: Options | None = None, *, everywhere: bool = False) -> Prepared:
    """Index files, look for what caches keep, optimize and lower; runs no user code and starts nothing.

    `everywhere`: caches in directories are wanted by number.
    Cost: about a millisecond; the first time, a pass over text files whose lines are wanted by number.
    """
    said = collected_options(root)
    merged = said if options is None else said.merged(options)
    measured = recent_budget()
    cpus = measured.cpus if merged.cpu_budget is None else min(measured.cpus, merged.cpu_budget)
    waiting = measured.memory_bytes // 2
    if merged.ram_budget is not None:
        waiting = min(waiting, parse_bytes(merged.ram_budget))
    budget = replace(measured, cpus=cpus)
    user_graph = numbered(with_indices(root))
    clock = Clock()
    _check_seed(user_graph, merged)
    seed = 0 if merged.seed is None else merged.seed
    graph, caches = with_stored(distributed(user_graph), user_graph, seed, everywhere=everywhere)
    optimized, steps = optimize(graph, merged.skip_rules or frozenset(), clock.now)
    stays = is_helper() or not merged.tunes  # in the threads where functions begin
    executor = "threads" if merged.executor is None and stays else merged.executor
    plan = lower(optimized, cpus, merged.deterministic is not False, executor)
    return Prepared(user_graph, plan, steps, merged, budget, waiting, executor, caches)


def planned(graph: Node, prepared: Prepared) -> Prepared:
    """A part of a prepared graph, numbered as there, made ready to run by itself."""
    options = prepared.options
    optimized, steps = optimize(graph, options.skip_rules or frozenset(), Clock().now)
    plan = lower(optimized, prepared.budget.cpus, options.deterministic is not False, prepared.executor)
    return replace(prepared, user_graph=graph, plan=plan, steps=steps, caches=())


def _check_seed(graph: Node, options: Options) -> None:
    """Raises: InvalidArgumentError: fresh entropy for each of several ranks, whose parts would not fit together."""
    node = next((node for node in nodes_of(graph) if isinstance(node, Distribute) and node.world_size > 1), None)
    if node is not None and options.seed == "entropy":
        raise InvalidArgumentError(
            'Options: seed="entropy" under distribute: ranks would shuffle apart', where=node.label,
            remedy="a number that all ranks share, drawn anew for each run if you like",
        )  # fmt: skip


def resolve_seed(options: Options) -> int:
    """The seed that unseeded nodes derive from: what was said, 0, or fresh entropy if that was asked for."""
    if options.seed == "entropy":
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0])
    return 0 if options.seed is None else int(options.seed)


def services_of(
    prepared: Prepared, seed: int, kept: Kept, process_workers: int = 0, recorder: Recorder | None = None
) -> Services:
    said = prepared.options.cache_budget
    cache = prepared.budget.memory_bytes // 2 if said is None else parse_bytes(said)
    clock, closing = engine_clock(), threading.Event()
    recorder = Recorder() if recorder is None else recorder
    return Services(
        seed, kept.pool, clock, cache, _warn_once(),
        process_workers=process_workers, executor=prepared.executor, sizes=kept.sizes, findings=kept.findings,
        block_size=prepared.options.block_size, optimized=_optimizer(prepared.options.skip_rules or frozenset()),
        max_image_pixels=prepared.options.max_image_pixels, remote=prepared.options.remote,
        closing=closing, recorder=recorder,
        gil=GilWatch(clock, closing, starts=process_workers > 0, looks=recorder.looks),
    )  # fmt: skip


def _optimizer(skip: frozenset[str]) -> Callable[[Node], Node]:
    """The rules on the graph of a nested dataset, where they may have something to say that is worth their time.

    They put things together, and address by number what would be passed over; in a few elements nothing is gained.
    """
    clock = Clock()

    def optimized(graph: Node) -> Node:
        graph = with_indices(graph)
        nodes = chain_of(graph) or list(nodes_of(graph))
        if not any(isinstance(node, _ADDRESSING) for node in nodes) or all(
            node.inputs or 0 <= node.cardinality() <= _SMALL_CHILD for node in nodes
        ):
            return graph
        return optimize(graph, skip, clock.now)[0]

    return optimized


def _warn_once() -> Callable[[str], None]:
    """Tells each text once, wherever it comes from, at the line that runs the pipeline."""
    told: set[str] = set()
    where = user_location()

    def warn(text: str) -> None:
        if text not in told:
            told.add(text)
            warn_user(text, where)

    return warn


def thread_count(stage: Stage, cpus: int) -> int:
    """Worker threads for a plan: the widest stage, and one more for each source that may block in user code."""
    stages = list(stages_of(stage))
    widest = max(cpus, *(one.width.workers for one in stages))
    return widest + sum(isinstance(one, SourceStage) for one in stages)
