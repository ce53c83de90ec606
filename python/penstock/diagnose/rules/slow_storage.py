"""The input waits for storage, not for a core.

Found where the input binds and, of the step to blame, half of the time or more is waiting for storage. Where steps are
not known: tasks of the machine wait for I/O (its pressure) while cores are idle. More requests at once hide latency;
they need no cores. Storage behind a network wants deeper prefetch still, and what was read kept on a local disk.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import core_use, line_of, mean, verbs_of
from penstock.telemetry.trace import StepTrace

_MOST = 0.5
_PRESSURE = 0.2


def find(case: Case) -> Finding | None:
    """`slow_storage`, blaming the step that reads, or the loader."""
    if not case.is_input_bound:
        return None
    step = max(verbs_of(case.trace), key=lambda one: one.storage_s, default=None)
    if step is not None and step.storage_s > 0:
        return _of_step(case, step) if _reads_most(case, step) else None
    return _of_host(case)


def is_remote(case: Case) -> bool:
    """Whether any source lies behind a network."""
    return any(node.facts.get("storage") == "remote" for node in case.trace.nodes)


def _reads_most(case: Case, step: StepTrace) -> bool:
    return step.storage_s >= _MOST * step.busy_s and case.busy_share(step) >= 0.3


def _of_step(case: Case, step: StepTrace) -> Finding:
    share = step.storage_s / max(step.busy_s, step.storage_s)
    facts = [Fact("waiting for storage, share of the step", share, "share")]
    if step.elements:
        facts.append(Fact("waiting, one element", step.storage_s / step.elements, "s"))
    if step.storage_bytes:
        facts.append(Fact("read", step.storage_bytes / max(case.trace.seconds, 1e-9), "bytes"))
    known = case.trace.host.capacities.storage
    if known:
        facts.append(Fact("this storage gives, each second", known, "bytes"))
    return Finding(
        kind="slow_storage", blame=step.label,
        claim=f"{step.label} waits for storage {percent(share)} of its time",
        advice=_advice(case, line_of(step.label)), evidence=tuple(facts), confidence="high",
        level=case.level, predicted_gain=case.gain,
    )  # fmt: skip


def _of_host(case: Case) -> Finding | None:
    waits = [one.host.pressure.io for one in case.trace.samples if one.host.pressure is not None]
    cores = core_use(case.trace)
    if not waits or mean(waits) < _PRESSURE or cores is None or cores > 0.5:
        return None
    return Finding(
        kind="slow_storage", blame=case.blame, claim=f"{case.blame} waits for storage while cores are idle",
        advice=_advice(case, case.blame), level=case.level, predicted_gain=case.gain,
        evidence=(Fact("some task waits for I/O", mean(waits), "share"), Fact("cores busy", cores, "share")),
    )  # fmt: skip


def _advice(case: Case, where: str) -> tuple[str, ...]:
    if is_remote(case):
        return (
            f"at {where}: read further ahead, waiting costs no core: {knob(case.trace, 'parallel')}",
            "keep what was read on a local disk: Options(remote=RemoteOptions(...)) bounds it"
            if case.trace.source == "penstock"
            else "copy the data to a local disk, or keep what was read there",
            "pack small objects into shards of some 100 MB: penstock convert SRC DST",
        )
    return (
        f"at {where}: read more at once: {knob(case.trace, 'parallel')}",
        "pack small files into shards that are read in order: penstock convert SRC DST",
        f"cache what was read, if it fits: {knob(case.trace, 'cache')}",
    )
