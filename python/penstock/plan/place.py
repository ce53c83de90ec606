"""Where a user's function may run: how many workers, and the reason in words for `explain()`.

Policy: known to be pure, as many workers as the CPU budget. Not known to be pure: one worker, in order, as tf.data
would run it. An integer `num_parallel_calls`, or `executor="threads"`, is the user's word and wins.
"""

from __future__ import annotations

from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Indexed, Map
from penstock.options import AUTOTUNE
from penstock.plan.stage import Width
from penstock.trace.purity import impurity

_PURE = "threads: its functions are pure"


def width_of(node: Node, cpus: int) -> Width:
    """The width of one node alone; a node without user code takes the whole CPU budget."""
    if isinstance(node, Chain):
        widths = [width_of(step, cpus) for step in node.steps]
        return next((w for w in widths if w.serial), max(widths, key=lambda w: w.workers))
    if isinstance(node, Indexed):
        return _source_width(node, cpus)
    if isinstance(node, Map):
        return _map_width(node, cpus)
    if isinstance(node, Filter):
        reason = impurity(node.predicate)
        return Width(cpus, _PURE) if reason is None else _serial(reason)
    return Width(cpus, "native")


def _map_width(node: Map, cpus: int) -> Width:
    if node.num_parallel_calls is None:
        return Width(1, "Python, one worker in order: num_parallel_calls=None", serial=True)
    if node.num_parallel_calls != AUTOTUNE:
        workers = node.num_parallel_calls
        return Width(workers, f"Python in threads: num_parallel_calls={workers}", serial=workers == 1)
    if node.executor == "threads":
        return Width(cpus, 'Python in threads: executor="threads"')
    reason = impurity(node.function)
    return Width(cpus, _PURE) if reason is None else _serial(reason)


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
    return Width(node.num_parallel_calls, f"num_parallel_calls={node.num_parallel_calls}")
