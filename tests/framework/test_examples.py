"""The examples that train, in a process of their own per backend: Keras has one backend for life."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BEHAVIOURS = Path(__file__).with_name("example_behaviours.py")


@pytest.mark.framework
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_examples_train(backend: str) -> None:
    for module in (backend, "keras", "skimage", "sklearn"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", str(BEHAVIOURS), "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        env=os.environ | {"KERAS_BACKEND": backend},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
