"""Pressure as the kernel tells it."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.machine.pressure import read_pressure
from penstock.machine.readings import Pressure

SOME = "some avg10={} avg60=9.99 avg300=9.99 total=1\nfull avg10=7.00 avg60=0.00 avg300=0.00 total=0\n"


def written(root: Path, **texts: str) -> Path:
    folder = root / "proc/pressure"
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    return root


def test_shares_of_the_last_ten_seconds(tmp_path: Path) -> None:
    root = written(tmp_path, cpu=SOME.format("1.50"), memory=SOME.format("20.00"), io=SOME.format("0.00"))
    assert read_pressure(root) == Pressure(cpu=0.015, memory=0.2, io=0.0)


@pytest.mark.parametrize("text", ["", "some", "some avg10=x", "some avg60=1.00", "full avg10=1.00"])
def test_a_kernel_that_tells_something_else_tells_nothing(tmp_path: Path, text: str) -> None:
    assert read_pressure(written(tmp_path, cpu=text, memory=text, io=text)) is None


def test_a_kernel_without_it_tells_nothing(tmp_path: Path) -> None:
    assert read_pressure(tmp_path) is None
