"""Examples run as they stand, and show what they say."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_pack_sequences(capsys: pytest.CaptureFixture[str]) -> None:
    shares = runpy.run_path(str(EXAMPLES / "pack_sequences.py"))["main"]()
    assert list(shares.values()) == sorted(shares.values(), reverse=True)
    assert shares["pack"] < 0.05
    assert "padding" in capsys.readouterr().out


def test_find_what_is_slow(capsys: pytest.CaptureFixture[str]) -> None:
    before, after = runpy.run_path(str(EXAMPLES / "find_what_is_slow.py"))["main"]()
    assert before.verdict.kind == "input-bound"
    assert before.findings[0].kind == "no_parallelism"
    assert "find_what_is_slow.py" in before.findings[0].blame
    assert after.verdict.au > before.verdict.au
    assert "num_parallel_calls" in capsys.readouterr().out
