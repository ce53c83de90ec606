"""The doctor names what was planted: two quick scripts of the suite. All of it: `python -m benchmarks faults`."""

from __future__ import annotations

import pytest

from benchmarks.faults.examine import examine
from benchmarks.faults.table import FAULTS, HEALTHY, Planted

QUICK = ("slow_storage_penstock", "small_shuffle_buffer_penstock")


@pytest.mark.parametrize("planted", [one for one in FAULTS if one.script in QUICK], ids=lambda one: one.script)
def test_the_doctor_names_a_planted_fault(planted: Planted) -> None:
    found = examine(planted)
    assert found.is_named, (found.line, found.told, found.why)


@pytest.mark.parametrize("planted", FAULTS + HEALTHY, ids=lambda one: one.script)
def test_a_script_marks_the_lines_to_blame(planted: Planted) -> None:
    assert bool(planted.lines) == (bool(planted.kinds) and planted.kinds != ("slow_model",))
