"""`to_torch` and `to_jax`, each in a process of its own."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


@pytest.mark.framework
@pytest.mark.parametrize("framework", ["torch", "jax"])
def test_a_loop_is_fed_right(framework: str) -> None:
    if importlib.util.find_spec(framework) is None:
        pytest.skip(f"{framework} is not installed")
    behaviours = FOLDER / f"{framework}_behaviours.py"
    run = subprocess.run(
        [sys.executable, "-m", "pytest", str(behaviours), "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
