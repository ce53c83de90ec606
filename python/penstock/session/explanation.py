"""How a dataset runs and why, in text."""

from __future__ import annotations

from penstock.graph.node import Node, index_obstacle, is_index_driven
from penstock.graph.nodes import Permute, Shuffle
from penstock.graph.render import graph_difference, render_graph
from penstock.graph.walk import nodes_of
from penstock.plan.stage import Stage
from penstock.session.functions import function_lines
from penstock.session.preparation import prepare
from penstock.units import format_bytes


def explain(root: Node) -> str:
    """The graph as written, what each rule changes in it, each function, and the stages, with the reason for each."""
    prepared = prepare(root)
    lines = ["graph:", _indent(render_graph(prepared.user_graph))]
    for step in prepared.steps:
        lines += [f"{step.rule}:", *(f"  {line}" for line in graph_difference(step.before, step.after))]
    if prepared.steps:
        lines += ["graph after all rules:", _indent(render_graph(prepared.plan.graph))]
    functions = function_lines(prepared)
    if functions:
        lines += ["functions:", *(f"  {line}" for line in functions)]
    if prepared.caches:
        lines += ["kept:", *(f"  {found.line()}" for found in prepared.caches)]
    lines += _shuffle_lines(prepared.plan.graph)
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


def _shuffle_lines(graph: Node) -> list[str]:
    """How each shuffle shuffles."""
    lines = []
    for node in nodes_of(graph):
        if isinstance(node, Permute) and node.pieces is not None:
            pieces = node.pieces
            lines.append(
                f"  {node.label}: {len(pieces.rows)} pieces that are read as a whole, permuted; of as many as "
                f"hold {pieces.together} elements, these are permuted too; nothing is stored"
            )
        elif isinstance(node, Permute) and node.window is None:
            lines.append(f"  {node.label}: a permutation of all {node.cardinality()}, computed; nothing is stored")
        elif isinstance(node, Permute):
            lines.append(f"  {node.label}: each window of {node.window} permuted, computed; nothing is stored")
        elif isinstance(node, Shuffle):
            early = ", which delivers from a sixteenth on" if node.start_early else ""
            why = index_obstacle(node.input) or "its rule is skipped"
            lines.append(f"  {node.label}: a buffer of {node.size}{early}, because {why}")
    return ["order:", *lines] if lines else []


def _stage_lines(stage: Stage) -> list[str]:
    lines = [line for source in stage.inputs for line in _stage_lines(source)]
    names = [node.label for node in nodes_of(stage.node)] if not stage.inputs else [stage.node.label]
    order = "" if stage.ordered else ", as completed"
    width = stage.width
    lines.append(f"{stage.kind} ({' -> '.join(names)}): {width.workers} worker(s){order}; {width.reason}")
    return lines


def _indent(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.splitlines())
