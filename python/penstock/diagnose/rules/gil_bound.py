"""Python functions wait for one another: only one thread at a time holds the GIL.

Found where the input binds, several threads run the step to blame, and half of its time or more is holding or waiting
for the GIL; where that was not estimated, where its CPU time shows no more than about one thread at work although all
were busy. Of a foreign loader: it runs Python in several threads, and about one core's worth is used.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding
from penstock.diagnose.knobs import knob
from penstock.diagnose.rules.slow_storage import is_reading
from penstock.diagnose.steps import core_use, integer, line_of, node_of, ops_of, verbs_of
from penstock.model.predict import Executor
from penstock.telemetry.trace import StageTrace, StepTrace

_MOST = 0.5
_ONE_CORE, _SEVERAL = 1.2, 1.5
_THREADS_OF = {
    "keras": ("workers", "use_multiprocessing"),
    "tf.data": ("num_parallel_calls", ""),
    "grain": ("num_threads", "worker_count"),
}


def find(case: Case) -> Finding | None:
    """`gil_bound`, blaming the step, or the loader."""
    if not case.is_input_bound:
        return None
    if case.step is None:
        return _of_loader(case)
    return _of_step(case, case.step) or _of_python_in_graph(case, case.step)


def _of_step(case: Case, step: StepTrace) -> Finding | None:
    stage = case.stage
    if stage is None or stage.executor != "threads" or step.busy_s <= 0 or case.busy_share(step) < 0.3:
        return None
    if step.gil_s is None:
        if not _acts_like_one_thread(case, step, stage):
            return None
        facts = [Fact("threads at work at once", step.busy_s / case.trace.seconds),
                 Fact("cores they kept busy", step.cpu_s / case.trace.seconds)]  # fmt: skip
    elif step.gil_s < _MOST * step.busy_s:
        return None
    else:
        facts = [Fact("holding or waiting for the GIL, share of the step", min(step.gil_s / step.busy_s, 1.0), "share")]
    if stage.workers > 1:
        facts.append(Fact("threads", stage.workers))
    node = node_of(case.trace, step)
    why = node.facts.get("why_python") if node is not None else None
    advice = [f"at {line_of(step.label)}: {knob(case.trace, 'processes')}"]
    if why:
        advice.append(f"make it compile, then it holds no GIL: {why}")
    return Finding(
        kind="gil_bound", blame=step.label, claim=f"{step.label} holds the GIL: its threads run one at a time",
        advice=tuple(advice), evidence=tuple(facts),
        confidence="medium" if step.gil_s is None else "high", level=case.level,
        predicted_gain=case.gain_after(Executor(step=step.id, executor="processes"), case.trace.host.cpus),
    )  # fmt: skip


def _of_python_in_graph(case: Case, step: StepTrace) -> Finding | None:
    """tf.data's functions that call Python: as many as there are calls, one at a time. One that waits holds nothing."""
    calls_s = sum(op.busy_s for op in ops_of(case.trace, step) if "PyFunc" in op.verb)
    calls = integer(case.trace, "num_parallel_calls")
    if calls_s < _MOST * step.busy_s or step.busy_s <= 0 or calls in (None, 0, 1):
        return None
    functions = [one for one in verbs_of(case.trace) if one.verb == "function"]
    ops = [op for one in functions for op in ops_of(case.trace, one)]
    waits_s = sum(op.busy_s for op in ops if op.verb == "sleep" or is_reading(op.verb))
    if waits_s > _MOST * sum(op.busy_s for op in ops):
        return None
    blame = max(functions, key=lambda one: one.busy_s).label if functions else step.label
    return Finding(
        kind="gil_bound", blame=blame, claim=f"{blame} is Python in TensorFlow's threads: one call at a time works",
        advice=(knob(case.trace, "processes"),), level=case.level,
        predicted_gain=case.gain_up_to(case.trace.host.cpus),
        evidence=(Fact("calls of Python, share of the step", min(calls_s / step.busy_s, 1.0), "share"),),
    )  # fmt: skip


def _acts_like_one_thread(case: Case, step: StepTrace, stage: StageTrace) -> bool:
    """Whether a Python function, in several threads that were busy, used no more than one core or so."""
    node = node_of(case.trace, step)
    if node is None or node.facts.get("compiles") is not False or stage.workers < 2 or case.trace.seconds <= 0:
        return False
    if "does not hold the GIL" in str(node.facts.get("why_there", "")):
        return False
    at_once, cores = step.busy_s / case.trace.seconds, step.cpu_s / case.trace.seconds
    return cores <= _ONE_CORE and at_once >= _SEVERAL * max(cores, 0.5)


def _of_loader(case: Case) -> Finding | None:
    trace = case.trace
    runs_python = trace.settings.get("python_function") is True or trace.source == "keras"
    threads, processes = _THREADS_OF.get(trace.source, ("", ""))
    many = trace.settings.get(threads)
    is_parallel = isinstance(many, int) and (many > 1 or many == -1)
    if not runs_python or not is_parallel or trace.settings.get(processes):
        return None
    cores = core_use(trace)
    if cores is None or trace.host.cpus < 2 or not 0.5 <= cores * trace.host.cpus <= 1.6:
        return None
    return Finding(
        kind="gil_bound", blame=case.blame,
        claim=f"{case.blame} runs Python in several threads, of which one works at a time",
        advice=(knob(trace, "processes"),), level=case.level, predicted_gain=case.gain_up_to(trace.host.cpus),
        evidence=(Fact("cores busy, of all", cores, "share"), Fact("cores", trace.host.cpus)),
    )  # fmt: skip
