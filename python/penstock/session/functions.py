"""Where each function of a dataset runs and why: compiled (and into what), or Python, and what would change that."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.block.block import Block
from penstock.block.columns import RowsColumn
from penstock.engine.operators.functions import left_out
from penstock.engine.operators.steps import is_whole
from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Map, TakeWhile
from penstock.graph.walk import nodes_of
from penstock.ops.program import Program
from penstock.optimize.programs import optimize_program
from penstock.plan.place import executor_of, width_of
from penstock.session.advice import advice
from penstock.session.look import first_block
from penstock.session.preparation import Prepared
from penstock.trace.tracer import Call, Untraced, obstacle, trace

Function = Map | Filter | TakeWhile


def function_lines(prepared: Prepared) -> list[str]:
    """A paragraph for each function, from the source on; maps that become one program have one together."""
    functions = {node.number: node for node in nodes_of(prepared.user_graph) if isinstance(node, Function)}
    together = _joined(prepared.plan.graph)
    lines: list[str] = []
    told: set[int] = set()
    for number, node in functions.items():
        if number in told:
            continue
        run = [functions[other] for other in together.get(number, ()) if other in functions]
        joined = _joined_lines(run) if len(run) > 1 else None
        if joined is not None:
            told.update(other.number for other in run)
            lines += joined
        else:
            lines += _alone(node, prepared)
    return lines


def _joined(graph: Node) -> dict[int, tuple[int, ...]]:
    """The first of each run of maps that may become one program, and all of it, by number."""
    runs = {}
    for node in nodes_of(graph):
        if isinstance(node, Chain):
            for start, stop in node.joined:
                run = tuple(step.number for step in node.steps[start:stop])
                runs[run[0]] = run
    return runs


def _joined_lines(run: Sequence[Function]) -> list[str] | None:
    """What they become together; None when they do not trace as one."""
    found = _traced(run)
    if not isinstance(found, tuple):
        return None
    labels = " + ".join(node.label for node in run)
    return [f"{labels}: one program, {_compiled(found)}", *_steps(found[0])]


def _alone(node: Function, prepared: Prepared) -> list[str]:
    function = node.function if isinstance(node, Map) else node.predicate
    reason = "is under compile=False" if isinstance(node, Map) and not node.compiles else obstacle(function)
    if reason is None:
        found = _traced([node])
        if isinstance(found, tuple):
            return [f"{node.label}: {_compiled(found)}", *_steps(found[0])]
        if isinstance(found, str):
            return [f"{node.label}: not known: {found}"]
        reason = found.reason
    lines = [f"{node.label}: {_place(node, prepared)}, because it {reason}"]
    cure = advice(reason)
    return lines if cure is None else [*lines, f"  instead: {cure}"]


def _traced(run: Sequence[Function]) -> tuple[Program, Block] | Untraced | str:
    """The program and the element it was found with; or why there is none; or why that is not known."""
    try:
        block, _ = first_block(run[0].input)
    except Exception as error:  # noqa: BLE001  # explaining must not fail where running would
        return f"the element before it could not be computed ({type(error).__name__})"
    if block is not None and block.failure is not None and not len(block):
        return f"the element before it could not be computed ({type(block.failure.error).__name__})"
    if block is None or not len(block):
        return "there is no element to compile it for"
    calls = [
        Call(node.function, node.takes_rng) if isinstance(node, Map) else Call(node.predicate, False) for node in run
    ]
    found = trace(calls, block, block.origins.ids)
    return found if isinstance(found, Untraced) else (optimize_program(found, left_out(run[-1])), block)


def _compiled(found: tuple[Program, Block]) -> str:
    program, block = found
    if not program.steps:
        return "compiled into nothing to compute"
    if any(isinstance(column, RowsColumn) for column in block.columns):
        return "compiled, row by row where rows differ in shape or are large, into"
    native = sum(step.op.startswith("fused.") for step in program.steps)
    whole = sum(is_whole(step) for step in program.steps)
    counts = {"in one native pass": native, "on whole blocks": whole, "row by row": len(program.steps) - native - whole}
    return "compiled, " + ", ".join(f"{count} {how}" for how, count in counts.items() if count) + ", into"


def _steps(program: Program) -> list[str]:
    return [f"  {line}" for line in str(program).splitlines()]


def _place(node: Function, prepared: Prepared) -> str:
    """Where Python calls of it run."""
    if isinstance(node, TakeWhile):
        return "Python in order"
    cpus, said = prepared.budget.cpus, prepared.executor
    place = executor_of(node, said)
    if place == "processes":
        return "Python in processes"
    if width_of(node, cpus, said).serial:
        return "Python in order"
    if place == "measured" and cpus > 1:
        return f"Python in threads{_moves(node)}"
    return "Python in threads"


def _moves(node: Node) -> str:
    """What may become of a function that starts in threads."""
    from penstock.engine.executors.remote import recipe_by_value  # pickling and processes: 30 ms to import

    try:
        recipe_by_value(node)
    except Exception as error:  # noqa: BLE001  # whatever pickling a user's objects raises
        return f" (it cannot be sent to a worker process: {error})"
    return " (in processes if measured to hold the GIL)"
