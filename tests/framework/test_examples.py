"""The examples that train, in processes of their own: Keras has one backend for life, and a process its devices."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
BEHAVIOURS = Path(__file__).with_name("example_behaviours.py")

pytestmark = pytest.mark.framework


def run(backend: str, *arguments: str) -> str:
    """What `python ...` prints, on that backend."""
    for module in (backend, "keras", "skimage", "sklearn"):
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    alone = {name: value for name, value in os.environ.items() if name not in ("XLA_FLAGS", "TF_CONFIG", "RANK")}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=alone | {"KERAS_BACKEND": backend, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-5_000:]
    return done.stdout


@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_examples_train(backend: str) -> None:
    run(backend, "-m", "pytest", str(BEHAVIOURS), "-q", "-p", "no:cacheprovider", "-p", "no:xdist")


@pytest.mark.parametrize("backend", ["tensorflow"])  # JAX: test_ranks.py, at length
def test_mirrored(backend: str) -> None:
    printed = run(backend, str(EXAMPLES / "mirrored.py"))
    found = re.search(r"accuracy (\d+)% on 2 replicas", printed)
    assert found is not None, printed
    assert int(found[1]) > 80


@pytest.mark.parametrize("backend", ["tensorflow", "torch"])  # likewise
def test_two_workers(backend: str) -> None:
    printed = run(backend, "-m", "penstock", "launch", "--workers", "2", str(EXAMPLES / "two_workers.py"))
    weights = re.findall(r"rank (\d) of 2: accuracy (\d+)%, sum of weights ([\d.]+)", printed)
    assert {rank for rank, _, _ in weights} == {"0", "1"}, printed
    assert len({total for _, _, total in weights}) == 1
    assert all(int(accuracy) > 80 for _, accuracy, _ in weights)
