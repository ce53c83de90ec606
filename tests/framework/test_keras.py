"""The behaviours of Keras' adapter and of the monitor, in a process per backend: Keras has one backend for life."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent
BEHAVIOURS = [str(FOLDER / name) for name in ("keras_behaviours.py", "keras_monitor.py")]
OWN = {"tensorflow": [str(FOLDER / "tf_behaviours.py")]}


@pytest.mark.framework
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_keras_is_fed_right(backend: str) -> None:
    for module in (backend, "keras"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    files = BEHAVIOURS + OWN.get(backend, [])
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *files, "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        env=os.environ | {"KERAS_BACKEND": backend},
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
