from __future__ import annotations

import os
import subprocess
import sys

import pytest

# Frameworks and displays; each costs more to import than all of Penstock may (150 ms beyond NumPy).
LATE = [
    "array_record",
    "datasets",
    "jax",
    "keras",
    "psutil",
    "pyarrow",
    "pynvml",
    "rich",
    "tensorflow",
    "torch",
    "typer",
]

TOP_LEVEL = "import sys; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


def _modules_after(program: str) -> set[str]:
    """Top-level modules that a fresh interpreter holds after `program`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, "-c", f"{program}; {TOP_LEVEL}"]
    result = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """What is there after the first use of `penstock`."""
    return _modules_after("import penstock; penstock.Dataset")


def test_import_alone_brings_nothing_but_itself() -> None:
    assert not {"numpy", "ml_dtypes", *LATE} & _modules_after("import penstock")


def test_import_brings_numpy(imported: set[str]) -> None:
    assert {"penstock", "numpy"} <= imported


@pytest.mark.parametrize("module", LATE)
def test_import_leaves_late_modules_alone(module: str, imported: set[str]) -> None:
    assert module not in imported
