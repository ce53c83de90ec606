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

PROGRAM = "import sys, penstock; penstock.Dataset; print(*sorted({name.partition('.')[0] for name in sys.modules}))"


@pytest.fixture(scope="module")
def imported() -> set[str]:
    """Top-level modules that a fresh interpreter holds after the first use of `penstock`."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    result = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert result.returncode == 0, result.stderr
    return set(result.stdout.split())


def test_import_brings_numpy(imported: set[str]) -> None:
    assert {"penstock", "numpy"} <= imported


@pytest.mark.parametrize("module", LATE)
def test_import_leaves_late_modules_alone(module: str, imported: set[str]) -> None:
    assert module not in imported
