"""Questions about a trace that several conclusions ask: which step, which op, which line, how much of the machine."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.model.limits import Limits
from penstock.telemetry.trace import NodeTrace, StageTrace, StepTrace, Trace

_CALLING = ("map", "interleave", "flat_map", "from_generator")


def verbs_of(trace: Trace) -> tuple[StepTrace, ...]:
    """The steps that are verbs, not ops within one."""
    return tuple(step for step in trace.steps if not step.part_of)


def ops_of(trace: Trace, step: StepTrace) -> tuple[StepTrace, ...]:
    """The ops of a step's function, the longest first."""
    return tuple(sorted((one for one in trace.steps if one.part_of == step.id), key=lambda one: -one.busy_s))


def stage_of(trace: Trace, step: StepTrace) -> StageTrace | None:
    """The stage that runs a step."""
    return next((stage for stage in trace.stages if stage.id == step.stage), None)


def node_of(trace: Trace, step: StepTrace) -> NodeTrace | None:
    """The node of the user's graph that a step came from: the one named as it is, or after the same function."""
    return next((node for node in trace.nodes if step.label in names_of(node)), None)


def names_of(node: NodeTrace) -> tuple[str, str]:
    """What its step may be called: by its line, or where that was not seen by its function."""
    return node.label, f"{node.verb} of {node.facts.get('function')}"


def step_to_blame(trace: Trace, limits: Limits) -> StepTrace | None:
    """The step that the model blames; else the one that keeps its workers busy longest. None: no step was measured."""
    bound = limits.pipeline
    if bound is not None and bound.blame:
        return next((step for step in verbs_of(trace) if step.label == bound.blame), None)
    return max(verbs_of(trace), key=lambda step: seconds_of(trace, step), default=None)


def label_to_blame(trace: Trace, step: StepTrace | None) -> str:
    """The step's label; where none was measured, that of the only node which calls a function, else the loader."""
    if step is not None:
        return step.label
    functions = [node.label for node in trace.nodes if node.verb in _CALLING]
    return functions[0] if len(functions) == 1 else loader_of(trace)


def op_to_blame(trace: Trace, step: StepTrace) -> str:
    """The op that takes most of a step; "" where none was measured, or none takes half."""
    ops = ops_of(trace, step)
    return ops[0].verb if ops and ops[0].busy_s >= 0.5 * sum(op.busy_s for op in ops) else ""


def seconds_of(trace: Trace, step: StepTrace) -> float:
    """Seconds that a step kept each of its workers busy."""
    stage = stage_of(trace, step)
    return step.busy_s / max(1, stage.workers if stage is not None else 1)


def line_of(label: str) -> str:
    """`train.py:12` of `map at train.py:12`; the label itself where it names no line."""
    return label.rpartition(" at ")[2]


def loader_of(trace: Trace) -> str:
    """The loader, as its user wrote it."""
    return trace.loader or "the loader"


def ancestors_of(trace: Trace, node: NodeTrace) -> tuple[NodeTrace, ...]:
    """The nodes below one, nearest first, each once."""
    known = {one.id: one for one in trace.nodes}
    found: dict[str, NodeTrace] = {}
    waiting = list(node.inputs)
    while waiting:
        one = known.get(waiting.pop(0))
        if one is not None and one.id not in found:
            found[one.id] = one
            waiting += one.inputs
    return tuple(found.values())


def core_use(trace: Trace) -> float | None:
    """Mean busy share of the cores this process may use, whoever keeps them busy; None: not sampled."""
    shares = [share for sample in trace.samples for share in sample.host.cores]
    return mean(shares) if shares else None


def own_use(trace: Trace) -> float | None:
    """Share of the cores' time that the pipeline and its trainer used; None: no step was measured."""
    cpu_s = sum(step.cpu_s for step in verbs_of(trace)) + (trace.consumer.cpu_s or 0.0)
    return cpu_s / (trace.seconds * trace.host.cpus) if cpu_s and trace.seconds > 0 else None


def waits_share(step: StepTrace) -> float:
    """Of a step's time, the share in which it was neither on a core nor waiting for one, or for the GIL."""
    known_s = step.cpu_s + (step.gil_s or 0.0) + (step.queued_s or 0.0)
    return max(0.0, 1.0 - known_s / step.busy_s) if step.busy_s > 0 else 0.0


def queued_share(trace: Trace) -> float | None:
    """Of the time in which steps could have been on a core, the share they waited for one; None: not measured."""
    queued = [step.queued_s for step in verbs_of(trace) if step.queued_s is not None]
    cpu_s = sum(step.cpu_s for step in verbs_of(trace))
    return sum(queued) / max(sum(queued) + cpu_s, 1e-9) if queued else None


def batch_rows(trace: Trace) -> float | None:
    """Elements in a batch."""
    consumer = trace.consumer
    if consumer.rows is not None and consumer.steps:
        return consumer.rows / consumer.steps
    told = next((node.facts["batch_size"] for node in trace.nodes if "batch_size" in node.facts), None)
    told = trace.settings.get("batch_size") if told is None else told
    return float(told) if isinstance(told, int) else None


def integer(trace: Trace, *names: str) -> int | None:
    """The first of these settings that is a number."""
    for name in names:
        value = trace.settings.get(name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return int(value)
    return None


def mean(values: Iterable[float]) -> float:
    """Their mean; 0 of none."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0
