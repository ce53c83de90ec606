"""A monitored run in a page of text; with rich's markup where rich prints it."""

from __future__ import annotations

from collections.abc import Sequence

from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.finding import percent, quantity
from penstock.diagnose.text import as_text as diagnosis_as_text
from penstock.diagnose.waiting import waiting_of
from penstock.telemetry.trace import Trace
from penstock.train.monitor.alarms import Alarm
from penstock.train.monitor.columns import columns
from penstock.train.monitor.epoch import Epoch

_ROWS = 12
"""Epochs that are shown: the first and the last ones."""


def as_text(trace: Trace, diagnosis: Diagnosis, epochs: Sequence[Epoch], alarms: Sequence[Alarm]) -> str:
    """What `print(monitor)` shows: the run in a line, its epochs, its alarms, what the doctor says."""
    blocks = [headline(trace)]
    if epochs:
        head, rows = columns(epochs, is_upper_bound=trace.consumer.method == "host wait")
        if len(rows) > _ROWS:
            half = _ROWS // 2
            rows = [*rows[:half], ["..."] + [""] * (len(head) - 1), *rows[-half:]]
        blocks.append(_table(head, rows))
    if alarms:
        blocks.append("\n".join(f"alarm at {quantity(one.at_s, 's')}: {one}" for one in alarms))
    return "\n\n".join([*blocks, diagnosis_as_text(diagnosis)])


def headline(trace: Trace) -> str:
    """`412 steps on jax in 38.1 s: 92 ms a step, 696 elements/s, the device starved 31 % of the time`."""
    consumer, waiting = trace.consumer, waiting_of(trace)
    seconds = consumer.wait_s + consumer.between_s
    told = f"{consumer.steps:,} step{'' if consumer.steps == 1 else 's'}"
    told += f" on {trace.framework}" if trace.framework else ""
    told += f" in {quantity(seconds, 's')}"
    parts = [f"{quantity(seconds / consumer.steps, 's')} a step"] if consumer.steps else []
    if consumer.rows and seconds > 0:
        parts.append(f"{consumer.rows / seconds:,.0f} elements/s")
    if waiting.share is not None:
        share = percent(waiting.share)
        parts.append(
            f"the host waited for input {share} of the time, the device starved at most as long"
            if waiting.is_upper_bound
            else f"the device starved {share} of the time"
        )
    return f"{told}: {', '.join(parts)}" if parts else told


def as_markup(text: str) -> str:
    """For `rich.print`: the first line bold, alarms in red; no word of it is taken for markup."""
    lines = text.replace("[", "\\[").split("\n")
    lines[0] = f"[bold]{lines[0]}[/bold]"
    return "\n".join(f"[red]{line}[/red]" if line.startswith("alarm at ") else line for line in lines)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[n]) for row in (head, *rows)) for n in range(len(head))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in (head, *rows)]
    return "\n".join(line.rstrip() for line in lines)
