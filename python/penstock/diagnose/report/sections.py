"""The sections of the page: from a trace and its diagnosis to HTML, each "" where it would be empty."""

from __future__ import annotations

from datetime import UTC, datetime
from html import escape

from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.finding import Finding, percent, quantity
from penstock.diagnose.report.charts import Series, lanes, line_chart, step_chart
from penstock.diagnose.report.graph import draw_graph
from penstock.diagnose.report.tables import bar, section, table
from penstock.diagnose.steps import ops_of, seconds_of, verbs_of
from penstock.diagnose.verdict import WORDS
from penstock.diagnose.waiting import waiting_of
from penstock.telemetry.trace import Trace

_SLOWEST = 5


def figures_section(trace: Trace, diagnosis: Diagnosis) -> str:
    """The run in a few figures."""
    verdict, limits = diagnosis.verdict, diagnosis.limits
    unit = "elements/s" if trace.consumer.rows is not None else "batches/s"
    known = {
        "AU": None if verdict.au is None else percent(verdict.au),
        "waiting": None if verdict.waiting_share is None else percent(verdict.waiting_share),
        "readiness": None if verdict.readiness is None else percent(verdict.readiness),
        "steps": f"{trace.consumer.steps:,}",
        unit: f"{limits.elements_per_s:,.0f}" if limits.elements_per_s else None,
        "a step": quantity(waiting_of(trace).step_s, "s") if waiting_of(trace).steps else None,
        "limit": verdict.binding.removeprefix("the ") or None,
        "of it used": None if verdict.closeness is None else percent(min(verdict.closeness, 1.0)),
    }
    cells = "".join(f"<div><dt>{name}</dt><dd>{escape(told)}</dd></div>" for name, told in known.items() if told)
    return f'<dl class="figures">{cells}</dl>'


def findings_section(diagnosis: Diagnosis) -> str:
    """What was found and what to do about it."""
    cards = "".join(_finding(one) for one in diagnosis.findings)
    return section("What to do", cards or '<p class="card">Nothing was found.</p>')


def _finding(finding: Finding) -> str:
    advice = "".join(f"<li>{escape(one)}</li>" for one in finding.advice)
    facts = " · ".join(escape(fact.text) for fact in finding.evidence)
    foot = [f"confidence: {finding.confidence}"]
    if finding.gain_text and finding.level != "note":
        foot.insert(0, f"predicted: {finding.gain_text}")
    return (
        f'<div class="card finding"><span class="pill {finding.level}">{finding.level}</span>'
        f"<h3>{escape(finding.claim)}</h3><p class='soft small'>{facts}</p>"
        f"{f'<ul>{advice}</ul>' if advice else ''}<p class='soft small'>{'; '.join(foot)}</p></div>"
    )


def pipeline_section(trace: Trace, diagnosis: Diagnosis) -> str:
    """The pipeline as a graph, and its steps in numbers."""
    rows = []
    for step in verbs_of(trace):
        for one, name in [(step, step.label), *((op, f"  {op.verb}") for op in ops_of(trace, step)[:6])]:
            each = quantity(one.busy_s / one.elements, "s") if one.elements else ""
            on_core = percent(min(one.cpu_s / one.busy_s, 1.0)) if one.busy_s > 0 else ""
            waits = percent(one.storage_s / max(one.busy_s, one.storage_s)) if one.storage_s else ""
            gil = percent(min(one.gil_s / one.busy_s, 1.0)) if one.gil_s and one.busy_s > 0 else ""
            rows.append((name, f"{one.elements:,}", quantity(one.busy_s, "s"), each, on_core, waits, gil))
    head = ("step", "elements", "busy", "each", "on a core", "storage", "GIL")
    slowest = sorted((one for step in verbs_of(trace) for one in step.slow), key=lambda one: -one.seconds)[:_SLOWEST]
    slow = [(one.origin, quantity(one.seconds, "s")) for one in slowest]
    parts = [f'<div class="card">{draw_graph(trace, diagnosis)}</div>']
    numbers = table(head, rows, wide=(1,)) + (table(("slowest elements", "seconds"), slow) if slow else "")
    if numbers:
        parts.append(f'<div class="card">{numbers}</div>')
    return section("The pipeline", f'<div class="two">{"".join(parts)}</div>')


def steps_section(trace: Trace, diagnosis: Diagnosis) -> str:
    """A step on average, the steps over time, and what waited between stages."""
    waiting = waiting_of(trace)
    charts = []
    if waiting.steps and waiting.share is not None:
        step_s, waited_s = waiting.step_s, waiting.seconds / waiting.steps
        rows = [("trainer", [("wait", waited_s), ("work", step_s - waited_s)])]
        for step in verbs_of(trace)[:8]:
            each_s = seconds_of(trace, step) / max(trace.consumer.steps, 1)
            if each_s >= 0.01 * step_s:
                rows.append((step.label, [("blame", each_s)]))
        note = "Of a verb: how long a batch keeps its workers busy; beyond the trainer's own work, it is behind."
        charts.append(lanes("A step, on average", rows, note if len(rows) > 1 else ""))
    own_s = trace.consumer.between_s / max(trace.consumer.steps, 1)
    charts.append(step_chart("Steps over time", _steps(trace, own_s)))
    stages = [
        Series(stage.label, tuple((one.at_s, float(one.blocks)) for one in stage.occupancy)) for stage in trace.stages
    ]
    charts.append(line_chart("Blocks that wait to be taken", stages))
    tasks = [
        Series(stage.label, tuple((one.at_s, float(one.running)) for one in stage.occupancy)) for stage in trace.stages
    ]
    charts.append(line_chart("Tasks at work", tasks))
    return section("Steps", _cards(charts))


def _steps(trace: Trace, own_s: float) -> list[tuple[float, float, float]]:
    """When each asked, waited and worked; of steps that were thinned, the trainer's work is the mean."""
    intervals = trace.intervals
    whole = len(intervals) >= trace.consumer.steps
    found = []
    for number, one in enumerate(intervals):
        following = intervals[number + 1].at_s if number + 1 < len(intervals) else None
        work_s = following - one.at_s - one.wait_s if whole and following is not None else own_s
        found.append((one.at_s, one.wait_s, max(work_s, 0.0)))
    return found[1:] if len(found) > 2 else found  # the first opens files and fills buffers


def host_section(trace: Trace) -> str:
    """Cores, memory and accelerators over time."""
    samples = trace.samples
    cores = [(one.at_s, one.host.cores) for one in samples if one.host.cores]
    charts = [
        line_chart("Cores", [
            Series("mean", tuple((at_s, sum(each) / len(each)) for at_s, each in cores)),
            Series("busiest", tuple((at_s, max(each)) for at_s, each in cores)),
        ], "share", 1.0),
        line_chart("Memory", [
            Series("this process and its children", tuple((one.at_s, float(one.host.rss_bytes)) for one in samples)),
        ], "bytes"),
        line_chart("Accelerators", [
            *device_series(trace, "utilisation"), *device_series(trace, "sm_activity", ", SM activity"),
        ], "share", 1.0),
        line_chart("Accelerator memory", device_series(trace, "memory_used_bytes"), "bytes"),
        line_chart("Power, W", device_series(trace, "power_w")),
        line_chart("Temperature, °C", device_series(trace, "temperature_c")),
    ]  # fmt: skip
    return section("The machine", _cards(charts))


def device_series(trace: Trace, attribute: str, suffix: str = "") -> list[Series]:
    """What each accelerator said of one thing over time."""
    points: dict[str, list[tuple[float, float]]] = {}
    for sample in trace.samples:
        for one in sample.host.accelerators:
            value = getattr(one, attribute)
            if value is not None:
                points.setdefault(f"{one.index}: {one.name}{suffix}", []).append((sample.at_s, float(value)))
    return [Series(name, tuple(each)) for name, each in points.items()]


def model_section(diagnosis: Diagnosis) -> str:
    """What each resource allows, and what each change would give."""
    limits, rate = diagnosis.limits, diagnosis.limits.elements_per_s
    bounds = [
        (f"{WORDS[one.resource]}{f' ({one.blame})' if one.blame else ''}: {one.why}", f"{one.elements_per_s:,.0f}",
         f"{one.batches_per_s:,.1f}", bar(percent(rate / one.elements_per_s), rate / one.elements_per_s))
        for one in limits.bounds
    ]  # fmt: skip
    best = max((one.gain for one in diagnosis.whatifs), default=1.0)
    changes = [
        (one.change, f"{one.elements_per_s:,.0f}", bar(f"{one.gain:.2f} x", one.gain / max(best, 1.0)))
        for one in diagnosis.whatifs
    ]
    tables = [
        table(("limit", "elements/s", "batches/s", "reached"), bounds, last_is_html=True, wide=(2,)),
        table(("what if", "elements/s", "of now"), changes, last_is_html=True),
    ]
    return section("Limits, and what would change them", _cards(tables))


def tuning_section(trace: Trace) -> str:
    """What was decided while it ran."""
    rows = [
        (f"{one.at_s:.1f} s: {one.knob} of {one.stage}", f"{one.before} → {one.after}",
         _rate(one.predicted), _rate(one.realised), one.why)
        for one in trace.tuning
    ]  # fmt: skip
    head = ("decision", "change", "predicted/s", "realised/s", "why")
    return section("Tuning log", f'<div class="card">{table(head, rows)}</div>' if rows else "")


def measured_section(trace: Trace, diagnosis: Diagnosis) -> str:
    """Where, when and how it was measured."""
    when = f", {datetime.fromtimestamp(trace.began_at, UTC):%Y-%m-%d %H:%M} UTC" if trace.began_at else ""
    host = trace.host
    place = f"{host.cpus} CPUs ({host.cpu_reason or 'budget'}), {quantity(float(host.memory_bytes), 'bytes')} of memory"
    lines = [f"{trace.loader or 'a loader'} ({trace.source}), {quantity(trace.seconds, 's')}{when}", place]
    if trace.settings:
        lines.append("settings: " + ", ".join(f"{name}={value}" for name, value in trace.settings.items()))
    told = "".join(f"<li>{escape(line)}</li>" for line in (*lines, *diagnosis.notes))
    return section("How it was measured", f'<ul class="card small soft" style="padding-left:2rem">{told}</ul>')


def _rate(elements_per_s: float | None) -> str:
    return "" if elements_per_s is None else f"{elements_per_s:,.0f}"


def _cards(charts: list[str]) -> str:
    drawn = [f'<div class="card">{chart}</div>' for chart in charts if chart]
    return f'<div class="two">{"".join(drawn)}</div>' if drawn else ""
