"""The input waits for storage, not for a core.

Found where the input binds and a step spends half of its time or more in reading. Where that was not timed, where a
step is on no core most of the time and reads: from a remote place, or by an op that is known to (urlopen, read). Where
steps are not known: tasks of the machine wait for I/O (its pressure) while cores are idle. More requests at once hide
latency; they need no cores. Storage behind a network wants deeper prefetch still, and what was read kept near.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import core_use, line_of, mean, ops_of, verbs_of, waits_share
from penstock.telemetry.trace import StepTrace

_MOST, _WAITS = 0.5, 0.8
_PART = 0.3
_PRESSURE = 0.2
_READS = ("urlopen", "read", "recv", "request", "download", "get_object", "fromfile", "open", "fetch")


def find(case: Case) -> Finding | None:
    """`slow_storage`, blaming the step that reads, or the loader."""
    if not case.is_input_bound:
        return None
    steps = [step for step in verbs_of(case.trace) if case.busy_share(step) >= _PART]
    step = max(steps, key=lambda one: reading_s(case, one), default=None)
    if step is None:
        return _of_host(case)
    return _of_step(case, step) if reading_s(case, step) >= _MOST * step.busy_s > 0 else None


def is_remote(case: Case) -> bool:
    """Whether any source lies behind a network."""
    return any(node.facts.get("storage") == "remote" for node in case.trace.nodes)


def reading_s(case: Case, step: StepTrace) -> float:
    """Seconds of a step in which it waited for storage: as timed, else as far as it can be told."""
    if step.storage_s > 0:
        return min(step.storage_s, step.busy_s)
    waiting_s = waits_share(step) * step.busy_s
    if is_remote(case) and waits_share(step) >= _WAITS:
        return waiting_s
    reading = [op.busy_s - op.cpu_s for op in ops_of(case.trace, step) if is_reading(op.verb)]
    return min(sum(reading), waiting_s) if case.trace.source != "penstock" or reading else 0.0


def is_reading(name: str) -> bool:
    """Whether an op, by its name, reads from a file or over a network."""
    return any(part in name.lower() for part in _READS)


def _of_step(case: Case, step: StepTrace) -> Finding:
    read_s = reading_s(case, step)
    share = read_s / step.busy_s
    facts = [Fact("waiting for storage, share of the step", share, "share")]
    if step.elements:
        facts.append(Fact("waiting, one element", read_s / step.elements, "s"))
    if step.storage_bytes:
        facts.append(Fact("read", step.storage_bytes / max(case.trace.seconds, 1e-9), "bytes"))
    known = case.trace.host.capacities.storage
    if known:
        facts.append(Fact("this storage gives, each second", known, "bytes"))
    return Finding(
        kind="slow_storage", blame=step.label,
        claim=f"{step.label} waits for storage {percent(share)} of its time",
        advice=_advice(case, line_of(step.label)), evidence=tuple(facts),
        confidence="high" if step.storage_s > 0 else "medium",
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
