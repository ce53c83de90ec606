"""The report as JSON: the diagnosis and the trace it was concluded from, for programs."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from penstock.diagnose.diagnosis import Diagnosis
from penstock.diagnose.report.file import write_whole
from penstock.telemetry.saved import VERSION
from penstock.telemetry.trace import Trace

FORMAT = "penstock-report"


def as_json(trace: Trace, diagnosis: Diagnosis) -> str:
    """One document: `format`, `version` (of traces), `diagnosis` as its `to_json`, `trace` as `save_trace` has it."""
    document = {
        "format": FORMAT, "version": VERSION, "diagnosis": json.loads(diagnosis.to_json()), "trace": asdict(trace),
    }  # fmt: skip
    return json.dumps(document, indent=1, ensure_ascii=False)


def write_json(trace: Trace, diagnosis: Diagnosis, path: str | os.PathLike[str]) -> Path:
    """Write it; the path. Raises: WriteError."""
    return write_whole("JSON report", path, as_json(trace, diagnosis).encode())
