"""A diagnosis in words: as plain text, with rich's markup, and as the HTML that notebooks show.

Nothing of rich is imported: its markup is text, and `rich.print` takes what `__rich_console__` gives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from textwrap import wrap
from typing import TYPE_CHECKING

from penstock.diagnose.finding import Finding, percent
from penstock.diagnose.verdict import WORDS

if TYPE_CHECKING:
    from penstock.diagnose.diagnosis import Diagnosis

WIDTH = 110
_COLOURS = {"fault": "red", "hint": "yellow", "note": "green"}


def as_text(diagnosis: Diagnosis, width: int = WIDTH) -> str:
    """What `print` shows: the verdict, the findings, the tables, how it was measured."""
    blocks = [_wrapped(diagnosis.line, "", "", width)]
    blocks += [_finding(number, one, width) for number, one in enumerate(diagnosis.findings, 1)]
    for title, header, rows in tables(diagnosis):
        blocks.append(_table((title, *header), rows))
    if diagnosis.notes:
        blocks.append("\n".join(_wrapped(note, "- ", "  ", width) for note in diagnosis.notes))
    return "\n\n".join(blocks)


def as_markup(diagnosis: Diagnosis, width: int = WIDTH) -> str:
    """The same for `rich.print`: the verdict bold, faults in red. What looks like markup in labels is escaped."""
    first, *rest = _escaped(as_text(diagnosis, width)).split("\n\n")
    text = "\n\n".join([f"[bold]{first}[/bold]", *rest])
    for level, colour in _COLOURS.items():
        text = re.sub(rf"(?m)^(\d+\. )({level}: .*)$", rf"\1[{colour}]\2[/{colour}]", text)
    return text


def as_html(diagnosis: Diagnosis) -> str:
    """A fragment of HTML without styles of its own: every word of it escaped."""
    parts = [f"<p><strong>{escape(diagnosis.line)}</strong></p>"]
    for finding in diagnosis.findings:
        told = "".join(f"<li>{escape(one)}</li>" for one in finding.advice)
        facts = escape("; ".join(fact.text for fact in finding.evidence))
        parts.append(
            f"<p><em>{finding.level}</em>: {escape(finding.claim)}<br><small>{facts}</small></p><ul>{told}</ul>"
        )
    for title, header, rows in tables(diagnosis):
        head = "".join(f"<th>{escape(cell)}</th>" for cell in (title, *header))
        body = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    return f"<div>{''.join(parts)}</div>"


Table = tuple[str, tuple[str, ...], list[tuple[str, ...]]]


def tables(diagnosis: Diagnosis) -> list[Table]:
    """Title, header and rows of the table of limits and of what-ifs, those that have rows."""
    limits: list[tuple[str, ...]] = []
    for one in diagnosis.limits.bounds:
        name = f"{WORDS[one.resource]} ({one.blame})" if one.blame else WORDS[one.resource]
        reached = percent(diagnosis.limits.elements_per_s / one.elements_per_s)
        limits.append((name, f"{one.elements_per_s:,.0f}", f"{one.batches_per_s:,.1f}", reached))
    changes: list[tuple[str, ...]] = [
        (one.change, f"{one.elements_per_s:,.0f}", f"{one.gain:.2f} x") for one in diagnosis.whatifs
    ]
    found: list[Table] = []
    if limits:
        found.append(("limit", ("elements/s", "batches/s", "reached"), limits))
    if changes:
        found.append(("what if", ("elements/s", "of now"), changes))
    return found


def _finding(number: int, finding: Finding, width: int) -> str:
    lines = [
        _wrapped(f"{finding.level}: {finding.claim} (confidence {finding.confidence})", f"{number}. ", "   ", width)
    ]
    if finding.evidence:
        lines.append(_wrapped("; ".join(fact.text for fact in finding.evidence), "   seen: ", "         ", width))
    lines += [_wrapped(one, "   do:   ", "         ", width) for one in finding.advice]
    if finding.gain_text and finding.level != "note":
        lines.append(f"   gain: {finding.gain_text}")
    return "\n".join(lines)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[n]) for row in (header, *rows)) for n in range(len(header))]
    lines = []
    for row in (header, *rows):
        first, *rest = zip(row, widths, strict=True)
        lines.append("  ".join([first[0].ljust(first[1]), *(cell.rjust(width) for cell, width in rest)]))
    return "\n".join(lines)


def _wrapped(text: str, first: str, rest: str, width: int) -> str:
    flat = " ".join(text.split())
    return "\n".join(
        wrap(flat, width, initial_indent=first, subsequent_indent=rest, break_long_words=False, break_on_hyphens=False)
    )


def _escaped(text: str) -> str:
    """As rich.markup.escape: a bracket that could open a tag, and a backslash at the end."""
    return re.sub(r"(\\*)(\[[a-z#/@][^[]*?])", lambda found: f"{found[1] * 2}\\{found[2]}", text)
