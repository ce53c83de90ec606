"""The verdict: input-bound, compute-bound or balanced, in one line.

A share of waiting above 30 % is a fault; from 20 % on a run is called input-bound; up to 8 % it is called
compute-bound, for that much is noise on a shared machine; between them it is balanced, and no input is blamed. An upper
bound of the waiting convicts no input whose batches were ready, or whose accelerator was busy all along.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.diagnose.finding import percent
from penstock.diagnose.steps import label_to_blame, op_to_blame, step_to_blame
from penstock.diagnose.waiting import Waiting
from penstock.model.limits import Limit, Limits, Resource
from penstock.telemetry.trace import Trace

FAULT_SHARE = 0.30
INPUT_SHARE = 0.20
COMPUTE_SHARE = 0.08
_BUSY = 0.9
_READY = 0.95

WORDS: dict[Resource, str] = {
    "cpu": "the CPU", "gil": "the GIL", "storage": "storage", "memory": "memory bandwidth",
    "host_to_device": "the way to the device", "trainer": "the trainer", "stage": "the number of workers",
    "threads": "the number of threads", "no_overlap": "taking turns",
}  # fmt: skip
"""What binds, for a person."""

Kind = Literal["input-bound", "compute-bound", "balanced", "unknown"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the run was held back by.

    au, readiness, waiting_share: 0 to 1, None where not known; is_upper_bound: of the last. stage, op: to blame, ""
    where the input is not. binding, closeness: the resource that runs out first, and how much of it was used.
    """

    kind: Kind
    line: str
    au: float | None = None
    readiness: float | None = None
    waiting_share: float | None = None
    is_upper_bound: bool = False
    how: str = ""
    stage: str = ""
    op: str = ""
    binding: str = ""
    closeness: float | None = None

    @property
    def is_fault(self) -> bool:
        """Whether more of the step was spent waiting than may be."""
        return self.kind == "input-bound" and (self.waiting_share or 0.0) > FAULT_SHARE


def judge(trace: Trace, waiting: Waiting, limits: Limits) -> Verdict:
    """The verdict on a trace."""
    kind = _kind(trace, waiting)
    binding = _binding(kind, limits)
    step = step_to_blame(trace, limits) if kind == "input-bound" else None
    stage = label_to_blame(trace, step) if kind == "input-bound" else ""
    op = op_to_blame(trace, step) if step is not None else ""
    name = "" if binding is None else WORDS[binding.resource]
    closeness = None if binding is None else limits.elements_per_s / binding.elements_per_s
    line = _line(trace, kind, waiting, _limit(name, closeness), f"{stage} ({op})" if op else stage)
    return Verdict(
        kind=kind, line=line, au=waiting.au, readiness=waiting.readiness, waiting_share=waiting.share,
        is_upper_bound=waiting.is_upper_bound, how=waiting.how, stage=stage, op=op, binding=name, closeness=closeness,
    )  # fmt: skip


def _kind(trace: Trace, waiting: Waiting) -> Kind:
    if waiting.share is None:
        return "unknown"
    if waiting.share <= COMPUTE_SHARE:
        return "compute-bound"
    if waiting.share < INPUT_SHARE:
        return "balanced"
    if waiting.is_upper_bound and (_is_busy(trace) or (waiting.readiness or 0.0) >= _READY):
        return "compute-bound"
    return "input-bound"


def _is_busy(trace: Trace) -> bool:
    used = [one.utilisation for sample in trace.samples for one in sample.host.accelerators]
    known = [share for share in used if share is not None]
    return bool(known) and sum(known) / len(known) >= _BUSY


def _line(trace: Trace, kind: Kind, waiting: Waiting, limit: str, blame: str) -> str:
    if kind == "unknown":
        seen = f"{trace.consumer.steps} step{'' if trace.consumer.steps == 1 else 's'} seen"
        return f"No verdict: {seen}, too few to tell waiting from starting; run more of them."
    share, au = waiting.share or 0.0, waiting.au or 0.0
    at_most = "at most " if waiting.is_upper_bound else ""
    figures = f"AU {'at least ' if waiting.is_upper_bound else ''}{percent(au)}"
    if waiting.readiness is not None:
        figures += f", readiness {percent(waiting.readiness)}"
    if kind == "input-bound":
        whom = f"; {blame} is to blame" if blame else ""
        waits = f"{at_most}{percent(share)} of each step is waiting for input"
        return f"Input-bound: {waits} ({figures}){whom}{limit}."
    if kind == "compute-bound":
        return f"Compute-bound: the trainer sets the pace ({figures}); the input keeps up{limit}."
    waits = f"{at_most}{percent(share)} of each step is waiting"
    return f"Balanced: input and compute take about as long, {waits} ({figures}){limit}."


def _binding(kind: Kind, limits: Limits) -> Limit | None:
    """What binds; of an input that is to blame never the trainer, whatever the model thinks of it."""
    return limits.pipeline if kind == "input-bound" else limits.binding


def _limit(name: str, closeness: float | None) -> str:
    return "" if closeness is None else f"; {name} is the limit, {percent(min(closeness, 1.0))} of it used"
