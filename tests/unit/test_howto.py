"""The how-to guides that promise to run do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "docs" / "howto"
RUNNABLE = (
    "convert.md",
    "device-memory.md",
    "diagnose.md",
    "doctor.md",
    "from-tf-data.md",
    "keep-data.md",
    "learning-rate.md",
    "measure.md",
    "mixed-precision.md",
    "monitor.md",
    "nested.md",
    "parquet-and-others.md",
    "placement.md",
    "records.md",
    "retraces.md",
    "text.md",
    "tuning.md",
)


@pytest.mark.parametrize("name", RUNNABLE)
def test_example_runs_as_it_stands(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = (FOLDER / name).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    exec(compile("\n".join(blocks), name, "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()
