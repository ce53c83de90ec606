from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from penstock.probes.book import Book
from penstock.probes.child import patches
from penstock.probes.patching import Patcher
from penstock.probes.startup.sitecustomize import MODULES
from penstock.probes.version import Releases, UnknownVersionError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder to import from; what came from it is gone afterwards."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_module_is_patched_after_it_is_imported(folder: Path) -> None:
    (folder / "some_framework.py").write_text("value = 1\nsecond = value + 1\n")

    def patch(module: Any) -> None:
        module.value = 10

    Patcher({"some_framework": patch}, lambda name, error: None).install()
    assert "some_framework" not in sys.modules
    module = importlib.import_module("some_framework")
    assert (module.value, module.second, module.__spec__.loader) == (10, 2, module.__loader__)  # type: ignore[union-attr]


def test_a_module_inside_a_package_is_patched(folder: Path) -> None:
    (folder / "package_of_it").mkdir()
    (folder / "package_of_it" / "__init__.py").write_text("")
    (folder / "package_of_it" / "inner.py").write_text("value = 1\n")
    Patcher({"package_of_it.inner": lambda module: setattr(module, "value", 2)}, lambda name, error: None).install()
    assert importlib.import_module("package_of_it.inner").value == 2


def test_what_is_imported_already_is_patched_at_once(folder: Path) -> None:
    (folder / "early_framework.py").write_text("value = 1\n")
    module = importlib.import_module("early_framework")
    Patcher({"early_framework": lambda module: setattr(module, "value", 2)}, lambda name, error: None).install()
    assert module.value == 2


def test_a_patch_that_fails_is_told_and_leaves_the_module(folder: Path) -> None:
    (folder / "odd_framework.py").write_text("value = 1\n")
    told: list[str] = []

    def patch(module: Any) -> None:
        module.missing  # noqa: B018 - that it is not there is the point

    Patcher({"odd_framework": patch}, lambda name, error: told.append(f"{name} {type(error).__name__}")).install()
    assert importlib.import_module("odd_framework").value == 1
    assert told == ["odd_framework AttributeError"]


def test_an_import_that_fails_fails_as_before(folder: Path) -> None:
    (folder / "broken_framework.py").write_text("raise ZeroDivisionError\n")
    Patcher({"broken_framework": lambda module: None}, lambda name, error: None).install()
    with pytest.raises(ZeroDivisionError):
        importlib.import_module("broken_framework")
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_framework")


def test_the_start_of_a_process_waits_for_what_the_probes_patch() -> None:
    assert set(patches(Book(), None)) == MODULES


@pytest.mark.parametrize(
    ("version", "expected"),
    [("2.0.0", ""), ("2.13.0+cpu", ""), ("2.14", "newer"), ("3.0", "newer"), ("git", "unknown")],
)
def test_a_version_that_was_not_tested_is_told(version: str, expected: str) -> None:
    note = Releases("PyTorch", (2, 0), (2, 13)).note(version)
    assert expected in note
    assert bool(note) is bool(expected)


def test_a_version_that_is_too_old_is_refused() -> None:
    tested = Releases("PyTorch", (2, 0), (2, 13))
    with pytest.raises(UnknownVersionError) as caught:
        tested.note("1.13")
    assert (caught.value.got, caught.value.expected) == ("1.13", "2.0 or newer")
    with pytest.raises(UnknownVersionError):
        tested.require(object(), "__next__")
