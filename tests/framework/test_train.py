"""The levers of `penstock.train` on real frameworks, in a process of its own per backend: devices are set once."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
BEHAVIOURS = [str(FOLDER / name) for name in ("train_behaviours.py", "compile_behaviours.py")]


@pytest.mark.framework
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_levers_do_what_they_say(backend: str) -> None:
    for module in (backend, "keras"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *BEHAVIOURS, "-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"],
        env=os.environ | {"KERAS_BACKEND": backend},
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
