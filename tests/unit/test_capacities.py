"""Capacities are measured once a day and kept; what is damaged or of another day is measured again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from penstock.machine.capacities import StorageSpeed
from penstock.machine.readings import Capacities
from penstock.session import capacities
from penstock.session.capacities import cache_file, host_capacities, known_capacities

MEASURED = Capacities(memcpy_core=1.0, memcpy_all=2.0, jpeg_core=3.0)


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []

    def answer(name: str, value: object) -> object:
        calls.append(name)
        return value

    monkeypatch.setattr(capacities, "memcpy_core", lambda: answer("core", 1.0))
    monkeypatch.setattr(capacities, "memcpy_all", lambda cpus: answer("all", 2.0))
    monkeypatch.setattr(capacities, "calls_per_s", lambda call: answer("jpeg", 3.0))
    monkeypatch.setattr(capacities, "storage_speed", lambda path: answer("storage", StorageSpeed(4.0, 5.0, True)))
    return calls


def test_measured_once_and_known_from_then_on(counted: list[str], tmp_path: Path) -> None:
    file = tmp_path / "new" / "a.json"
    assert known_capacities(file=file) == Capacities()
    assert host_capacities(cpus=2, file=file) == MEASURED
    assert host_capacities(cpus=2, file=file) == known_capacities(file=file) == MEASURED
    assert counted == ["core", "all", "jpeg"]


def test_storage_is_that_of_the_path(counted: list[str], tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    host_capacities(cpus=2, file=file)
    found = host_capacities(str(tmp_path), cpus=2, file=file)
    assert (found.storage, found.storage_latency_s, found.storage_is_cold) == (4.0, 5.0, True)
    assert known_capacities(str(tmp_path), file=file) == found
    assert known_capacities("s3://bucket/a", file=file).storage is None
    assert host_capacities("/nowhere/at/all", cpus=2, file=file).storage is None
    assert counted == ["core", "all", "jpeg", "storage"]


@pytest.mark.parametrize("change", [{"date": "2001-01-01"}, {"version": 9}, {"cpus": 64}, {"measured": 3}])
def test_what_is_of_another_day_or_damaged_is_measured_again(
    change: dict[str, object], counted: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "a.json"
    host_capacities(cpus=2, file=file)
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))
    assert host_capacities(cpus=2, file=file) == MEASURED
    assert len(counted) == 6


def test_where_nothing_can_be_kept_it_is_measured_all_the_same(counted: list[str], tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert host_capacities(cpus=2, file=tmp_path / "file" / "a.json") == MEASURED


def test_the_file_may_be_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PENSTOCK_CAPACITIES", str(tmp_path / "mine.json"))
    assert cache_file() == tmp_path / "mine.json"
    monkeypatch.delenv("PENSTOCK_CAPACITIES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_file().parent == tmp_path / "penstock"


def test_the_image_that_is_decoded_is_like_a_photograph() -> None:
    decoded = capacities._decode_jpeg()()
    assert decoded.shape == (375, 500, 3)  # type: ignore[attr-defined]  # an array
