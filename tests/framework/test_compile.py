"""Compiling, schedules and placement, in a process of its own per backend: Keras has one backend for life."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import pytest

BEHAVIOURS = Path(__file__).with_name("compile_behaviours.py")


@pytest.mark.framework
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_steps_are_compiled_scheduled_and_placed(backend: str) -> None:
    for module in (backend, "keras"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    run = subprocess.run(
        [sys.executable, "-m", "pytest", str(BEHAVIOURS), "-q", "-p", "no:cacheprovider", "-p", "no:xdist"],
        env=os.environ | {"KERAS_BACKEND": backend, "XLA_FLAGS": "--xla_force_host_platform_device_count=2"},
        cwd=BEHAVIOURS.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
