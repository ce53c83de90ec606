"""The report as one HTML page with everything in it: opens offline, loads nothing, runs no script."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path

from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.report.file import write_whole
from penstock.diagnose.report.sections import (
    figures_section,
    findings_section,
    host_section,
    measured_section,
    model_section,
    pipeline_section,
    steps_section,
    tuning_section,
)
from penstock.diagnose.report.style import STYLE
from penstock.telemetry.trace import Trace


def write_html(trace: Trace, diagnosis: Diagnosis, path: str | os.PathLike[str]) -> Path:
    """Write the page; the path. Raises: WriteError: the path cannot be written; nothing half written stays."""
    return write_whole("HTML report", path, page_of(trace, diagnosis).encode("utf-8", "replace"))


def page_of(trace: Trace, diagnosis: Diagnosis, training: str = "") -> str:
    """The page. Sections of which nothing is known are left out. training: a section more, below what was found."""
    kind = diagnosis.verdict.kind
    sections = [
        f'<span class="pill {kind}">{kind}</span><h1>{escape(diagnosis.line)}</h1>',
        figures_section(trace, diagnosis),
        findings_section(diagnosis),
        training,
        pipeline_section(trace, diagnosis),
        steps_section(trace, diagnosis),
        host_section(trace),
        model_section(diagnosis),
        tuning_section(trace),
        measured_section(trace, diagnosis),
    ]
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(trace.loader or trace.source)}: {kind}</title>'
        f"<style>{STYLE}</style></head><body><main>{''.join(sections)}</main></body></html>\n"
    )
