"""Diagnosis: the verdict, what was found, and the two tables of the model; prints itself."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from penstock.diagnose.finding import Finding
from penstock.diagnose.text import WIDTH, as_html, as_markup, as_text
from penstock.diagnose.verdict import Verdict
from penstock.diagnose.whatif import WhatIf
from penstock.model.limits import Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """What a trace says of a run.

    findings: faults first, then hints, then notes. limits, whatifs: empty where steps were not measured. notes: how
    the numbers were obtained. `print(diagnosis)` shows it, `to_json()` is it for programs; in a notebook it is a table.
    """

    verdict: Verdict
    limits: Limits
    findings: tuple[Finding, ...] = ()
    whatifs: tuple[WhatIf, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The first line, always: the verdict, and whether there is nothing to fix."""
        done = self.verdict.kind in ("compute-bound", "balanced") and not self.faults
        return f"{self.verdict.line} Nothing to fix." if done else self.verdict.line

    @property
    def faults(self) -> tuple[Finding, ...]:
        """What asks for something to be done: faults and hints, no notes."""
        return tuple(finding for finding in self.findings if finding.level != "note")

    def to_json(self) -> str:
        """All of it as a JSON document: `line`, `verdict`, `findings`, `limits`, `whatifs`, `notes`."""
        return json.dumps({"line": self.line, **asdict(self)}, indent=2, ensure_ascii=False)

    def __str__(self) -> str:
        return as_text(self)

    def __rich_console__(self, console: Any, options: Any) -> Iterator[str]:
        del console
        yield as_markup(self, min(options.max_width, WIDTH))

    def _repr_html_(self) -> str:
        return as_html(self)
