"""One script under `penstock doctor`, and whether what it says first is what was planted."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.faults.table import Planted
from benchmarks.harness import ROOT

LIMIT_S = 300
_PENSTOCK = "from penstock.cli import main; main()"


@dataclass(frozen=True, slots=True)
class Examined:
    """What the doctor said. told: kind and blame of its findings, notes left out; verdict: kind; why: of no report."""

    planted: Planted
    seconds: float
    line: str = ""
    verdict: str = ""
    au: float | None = None
    told: tuple[tuple[str, str], ...] = ()
    why: str = ""

    @property
    def is_right(self) -> bool:
        """The first finding has the planted kind and blames a marked line; of a healthy script: there is none."""
        if self.why:
            return False
        if not self.planted.kinds:
            return not self.told and self.verdict in ("compute-bound", "balanced")
        if self.planted.kinds == ("slow_model",):
            return not self.told and self.verdict == "compute-bound"
        return bool(self.told) and self._names(*self.told[0])

    @property
    def is_named(self) -> bool:
        """Whether any finding has the planted kind and line, the first or not."""
        return self.is_right or any(self._names(*one) for one in self.told)

    def _names(self, kind: str, blame: str) -> bool:
        found = re.search(rf"{re.escape(self.planted.script)}\.py:(\d+)", blame)
        return kind in self.planted.kinds and found is not None and int(found[1]) in self.planted.lines


def examine(planted: Planted, keep: Path | None = None) -> Examined:
    """Run the script under the doctor, in a process of its own. keep: a folder for the trace."""
    options = [] if keep is None else ["--save-trace", str(keep / f"{planted.script}.json")]
    command = [sys.executable, "-c", _PENSTOCK, "doctor", "--json", *options, str(planted.path)]
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        try:
            done = subprocess.run(
                command, cwd=folder, env=_environment(), capture_output=True, text=True, timeout=LIMIT_S, check=False
            )
        except subprocess.TimeoutExpired:
            return Examined(planted, LIMIT_S, why=f"no end within {LIMIT_S} s")
    took_s = time.perf_counter() - began
    last = done.stdout.strip().splitlines()[-1:]
    if done.returncode or not last or not last[0].startswith("{"):
        told = (done.stderr or done.stdout).strip().splitlines()[-1:]
        return Examined(planted, took_s, why=f"status {done.returncode}, no diagnosis: {' '.join(told)}")
    return _read(planted, took_s, json.loads(last[0]))


def _environment() -> dict[str, str]:
    path = f"{ROOT / 'python'}{os.pathsep}{os.environ.get('PYTHONPATH', '')}".rstrip(os.pathsep)
    return {**os.environ, "PYTHONPATH": path, "TF_CPP_MIN_LOG_LEVEL": "3"}


def _read(planted: Planted, seconds: float, report: dict[str, Any]) -> Examined:
    verdict = report["verdict"]
    told = tuple((one["kind"], one["blame"]) for one in report["findings"] if one["level"] != "note")
    return Examined(planted, seconds, report["line"], verdict["kind"], verdict["au"], told)
