"""Where a user's function may run: how many workers, and the reason in words for `explain()`.

Policy: known to be pure, as many workers as the CPU budget. Not known to be pure: one worker, in order, as tf.data
would run it. An integer `num_parallel_calls`, or an `executor`, is the user's word and wins; `executor="processes"` may
also be said in the options, for all functions that are known to be pure. Where nothing is said of a pure function,
measurement decides between threads and processes while it runs (engine/executors/measured.py).
"""

from __future__ import annotations

import sys
from typing import Literal, TypeGuard

from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Indexed, Map
from penstock.graph.walk import nodes_of
from penstock.options import AUTOTUNE
from penstock.plan.stage import Width
from penstock.trace.purity import impurity

Place = Literal["threads", "processes", "measured"]

_PURE = "threads: its functions are pure"
_MEASURED = "threads, processes if measured to hold the GIL: its functions are pure"
_IN_PROCESSES = 'processes: its functions are pure, and Options(executor="processes")'


def is_pure(node: Node) -> bool:
    """Whether all user code of a map, a filter or a chain of them is known to be pure."""
    steps = node.steps if isinstance(node, Chain) else (node,)
    functions = [step.predicate if isinstance(step, Filter) else step.function for step in steps if _is_function(step)]
    return all(impurity(function) is None for function in functions)


def executor_of(node: Node, said: str | None) -> Place:
    """Where the calls of a segment run; `said`: the options' word, for what has none of its own."""
    if isinstance(node, Chain):
        places = {executor_of(step, said) for step in node.steps}
        return places.pop() if len(places) == 1 else "threads"
    if isinstance(node, Map) and node.executor != "auto":
        return node.executor
    if said not in (None, "processes") or not _is_function(node) or not is_pure(node):
        return "threads"
    if said == "processes":
        return "processes"
    return (
        "measured" if _has_gil() and not (isinstance(node, Map) and node.num_parallel_calls in (None, 1)) else "threads"
    )


def _has_gil() -> bool:
    return bool(getattr(sys, "_is_gil_enabled", lambda: True)())


def process_workers(graph: Node, cpus: int, said: str | None) -> int:
    """How many worker processes the functions of a graph may use: as wide as the widest placed there."""
    placed = [node for node in nodes_of(graph) if isinstance(node, Map | Filter | Chain)]
    widths = [width_of(node, cpus, said).workers for node in placed if executor_of(node, said) != "threads"]
    return max(widths, default=cpus)


def _is_function(node: Node) -> TypeGuard[Map | Filter]:
    return isinstance(node, Map | Filter)


def width_of(node: Node, cpus: int, said: str | None = None) -> Width:
    """The width of one node alone; a node without user code takes the whole CPU budget."""
    if isinstance(node, Chain):
        widths = [width_of(step, cpus, said) for step in node.steps]
        return next((w for w in widths if w.serial), max(widths, key=lambda w: w.workers))
    if isinstance(node, Indexed):
        return _source_width(node, cpus)
    if isinstance(node, Map):
        return _map_width(node, cpus, said)
    if isinstance(node, Filter):
        reason = impurity(node.predicate)
        if executor_of(node, said) == "processes":
            return Width(cpus, _IN_PROCESSES)
        return _pure_width(node, cpus, said) if reason is None else _serial(reason)
    return Width(cpus, "native")


def _pure_width(node: Node, cpus: int, said: str | None) -> Width:
    return Width(cpus, _MEASURED if cpus > 1 and executor_of(node, said) == "measured" else _PURE)


def _map_width(node: Map, cpus: int, said: str | None) -> Width:
    place = executor_of(node, said)
    if node.num_parallel_calls is None:
        return Width(
            1,
            "Python, one worker in order: num_parallel_calls=None" + (" (a process)" if place == "processes" else ""),
            serial=True,
        )
    if node.num_parallel_calls != AUTOTUNE:
        workers = node.num_parallel_calls
        if place == "measured":
            return Width(
                workers,
                f"Python in threads, in processes if measured to hold the GIL: num_parallel_calls={workers}",
                said=True,
            )
        return Width(workers, f"Python in {place}: num_parallel_calls={workers}", serial=workers == 1, said=True)
    if node.executor != "auto":
        return Width(cpus, f'Python in {place}: executor="{node.executor}"')
    if place == "processes":
        return Width(cpus, _IN_PROCESSES)
    reason = impurity(node.function)
    return _pure_width(node, cpus, said) if reason is None else _serial(reason)


def _serial(reason: str) -> Width:
    return Width(
        1,
        f"Python, one worker in order, because it {reason}; num_parallel_calls=N runs it in N threads",
        serial=True,
    )


def _source_width(node: Indexed, cpus: int) -> Width:
    if isinstance(node.obj, list | tuple | range):
        return Width(cpus, "a built-in sequence: threads")
    if node.num_parallel_calls == 1:
        name = type(node.obj).__qualname__
        return Width(
            1, f"{name}.__getitem__ is user code: one worker; num_parallel_calls=N calls it from N", serial=True
        )
    return Width(node.num_parallel_calls, f"num_parallel_calls={node.num_parallel_calls}", said=True)
