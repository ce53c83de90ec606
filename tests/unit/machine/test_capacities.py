"""Capacities by a clock of ours: so much work at so much a piece."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from penstock.machine import capacities
from penstock.machine.capacities import calls_per_s, memcpy_all, memcpy_core, storage_speed

MIB = 2**20


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that advances at each look."""
    ticks = itertools.count()
    return lambda: next(ticks) * step_s


def test_calls_are_counted_in_the_best_run() -> None:
    passed = [0.0]
    costs = iter([5.0, 0.125, *[0.03125] * 4, 0.125])

    def call() -> None:
        passed[0] += next(costs)

    assert calls_per_s(call, lambda: passed[0], budget_s=0.375) == 32.0


def test_a_call_longer_than_the_budget_is_made_once_a_run() -> None:
    passed, calls = [0.0], [0]

    def call() -> None:
        passed[0] += 2.0
        calls[0] += 1

    assert calls_per_s(call, lambda: passed[0], budget_s=0.3) == 0.5
    assert calls[0] == 4


def test_copies_are_counted_in_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capacities, "_COPY_BYTES", MIB)
    assert memcpy_core(ticking(0.5), budget_s=0.75) == MIB / 1.0  # the clock is looked at before, after and at the end
    assert memcpy_all(2, ticking(0.1), budget_s=0.3) > 0


def test_storage_reads_a_file_to_its_end(tmp_path: Path) -> None:
    (tmp_path / "small").write_bytes(b"x")
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "large").write_bytes(bytes(3 * MIB))
    speed = storage_speed(tmp_path, ticking(0.001), budget_s=10.0)
    assert speed is not None
    assert speed.latency_s == pytest.approx(0.001)
    # three pieces of 1 MiB: the clock is looked at before, after each piece and at the end
    assert speed.bytes_per_s == pytest.approx(3 * MIB / 0.004)
    assert storage_speed(tmp_path / "inner" / "large", ticking(0.001)) is not None


def test_storage_ends_with_its_budget(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(np.zeros(8 * MIB, np.uint8))
    speed = storage_speed(tmp_path / "a", ticking(1.0), budget_s=2.0)
    assert speed is not None
    assert speed.bytes_per_s == pytest.approx(3 * MIB / 4.0)


@pytest.mark.parametrize("name", ["", "nothing", "empty"])
def test_nothing_to_read_has_no_speed(tmp_path: Path, name: str) -> None:
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "empty").chmod(0o600)
    assert storage_speed(tmp_path / name) is None
