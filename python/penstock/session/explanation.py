"""How a dataset runs and why, in text."""

from __future__ import annotations

from penstock.graph.node import Node, is_index_driven
from penstock.graph.nodes import Filter, Map
from penstock.graph.render import render_graph
from penstock.graph.walk import nodes_of
from penstock.optimize.fuse_images import fuse_images
from penstock.plan.place import executor_of
from penstock.plan.stage import Stage
from penstock.session.look import first_block
from penstock.session.preparation import Prepared, prepare
from penstock.trace.tracer import Call, Untraced, obstacle, trace
from penstock.units import format_bytes


def explain(root: Node) -> str:
    """The graph as written, each rule's effect, and the stages it runs in, with the reason for each width."""
    prepared = prepare(root)
    lines = ["graph:", _indent(render_graph(prepared.user_graph))]
    for step in prepared.steps:
        lines += [f"after {step.rule}:", _indent(render_graph(step.after))]
    lines.append("functions:")
    for node in nodes_of(root):
        if isinstance(node, Map | Filter):
            what = _compilation(node)
            lines.append(f"  {node.label}: {what}{_moves(node, prepared) if what.startswith('Python') else ''}")
    lines.append("stages, from the source:")
    lines += [f"  {line}" for line in _stage_lines(prepared.plan.root)]
    obstacle = prepared.plan.state_obstacle
    how = "by position" if is_index_driven(prepared.plan.graph) else "by marks"
    lines.append(f"resume: {how if obstacle is None else f'not possible: {obstacle}'}")
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
    if isinstance(node, Map) and not node.compiles:
        reason = "is under compile=False"
    if reason is not None:
        return f"Python, because it {reason}"
    try:
        block, _ = first_block(node.input)
    except Exception as error:  # noqa: BLE001  # explaining must not fail where running would
        return f"not known: the element before it could not be computed ({type(error).__name__})"
    if block is None or not len(block):
        return "not known: there is no element to compile it for"
    call = Call(function, isinstance(node, Map) and node.takes_rng)
    found = trace([call], block, block.origins.ids)
    if isinstance(found, Untraced):
        return f"Python, because it {found.reason}"
    return "compiled into " + "; ".join(str(fuse_images(found)).splitlines())


def _moves(node: Map | Filter, prepared: Prepared) -> str:
    """What may become of a function that starts in threads."""
    if prepared.budget.cpus < 2 or executor_of(node, prepared.executor) != "measured":
        return ""
    from penstock.engine.executors.remote import recipe_by_value  # pickling and processes: 30 ms to import

    try:
        recipe_by_value(node)
    except Exception as error:  # noqa: BLE001  # whatever pickling a user's objects raises
        return f"; in threads: it cannot be sent to a worker process ({error})"
    return "; in threads, moves to processes if measured to hold the GIL"


def _stage_lines(stage: Stage) -> list[str]:
    lines = [line for source in stage.inputs for line in _stage_lines(source)]
    names = [node.label for node in nodes_of(stage.node)] if not stage.inputs else [stage.node.label]
    order = "" if stage.ordered else ", as completed"
    width = stage.width
    lines.append(f"{stage.kind} ({' -> '.join(names)}): {width.workers} worker(s){order}; {width.reason}")
    return lines


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
