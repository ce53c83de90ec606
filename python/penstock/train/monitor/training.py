"""The section of training curves on the doctor's page."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from penstock.diagnose.report.charts import Series, line_chart
from penstock.diagnose.report.sections import device_series
from penstock.diagnose.report.tables import section, table
from penstock.telemetry.trace import Trace
from penstock.train.monitor.alarms import Alarm
from penstock.train.monitor.columns import columns
from penstock.train.monitor.epoch import Epoch

_BINS = 60


def training_section(trace: Trace, epochs: Sequence[Epoch], alarms: Sequence[Alarm]) -> str:
    """Alarms, epochs, and over time: seconds of a step, the share starved, memory, utilisation."""
    is_upper_bound = trace.consumer.method == "host wait"
    steps, starved = curves(trace)
    memory = [Series("this process and its children", tuple((s.at_s, float(s.host.rss_bytes)) for s in trace.samples))]
    cores = [(sample.at_s, sample.host.cores) for sample in trace.samples if sample.host.cores]
    use = [Series("cores, mean", tuple((at_s, sum(each) / len(each)) for at_s, each in cores))]
    charts = [
        line_chart("Seconds of a step", [Series("a step", steps)], "s"),
        line_chart("Waiting for input, at most" if is_upper_bound else "Starved of input",
                   [Series("share of the time", starved)], "share", 1.0),
        line_chart("Memory", [*memory, *device_series(trace, "memory_used_bytes")], "bytes"),
        line_chart("Utilisation", [*use, *device_series(trace, "utilisation")], "share", 1.0),
    ]  # fmt: skip
    told = "".join(f"<li>{escape(str(one))}</li>" for one in alarms)
    head, rows = columns(epochs, is_upper_bound=is_upper_bound)
    numbers = table(head, rows)
    parts = [
        f'<div class="card"><b>Alarms</b><ul>{told}</ul></div>' if told else "",
        f'<div class="card">{numbers}</div>' if numbers else "",
        f'<div class="two">{"".join(f"""<div class="card">{one}</div>""" for one in charts if one)}</div>',
    ]
    return section("Training", "".join(parts))


Points = tuple[tuple[float, float], ...]


def curves(trace: Trace) -> tuple[Points, Points]:
    """Over time, the mean seconds of a step and the share of the time starved, from requests as they were kept.

    Where requests were thinned, what lies between two of them is spread over the steps left out.
    """
    requests = trace.intervals[1:]
    if len(requests) < 2:
        return (), ()
    every = max(1.0, trace.consumer.steps / max(1, len(trace.intervals)))
    size = -(-len(requests) // _BINS)
    steps, starved = [], []
    for first in range(0, len(requests) - 1, size):
        last = min(first + size, len(requests) - 1)
        seconds = requests[last].at_s - requests[first].at_s
        each = seconds / ((last - first) * every)
        waited = sum(one.starved_s or 0.0 for one in requests[first:last]) * every
        steps.append((requests[first].at_s, each))
        starved.append((requests[first].at_s, min(1.0, waited / seconds) if seconds > 0 else 0.0))
    return tuple(steps), tuple(starved)
