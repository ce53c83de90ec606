"""Files of tests that need a process of their own: a framework has one backend, and its devices, for life."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent


def run_behaviours(files: Sequence[str], *flags: str, needs: Sequence[str], **variables: str) -> None:
    """Run `files` of this folder in one process, with these variables; skipped where one of `needs` is missing."""
    for module in needs:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    paths = [str(FOLDER / file) for file in files]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *paths, "-q", *flags, "-p", "no:cacheprovider", "-p", "no:xdist"],
        env=os.environ | variables,
        cwd=FOLDER.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stdout[-20_000:] + run.stderr[-5_000:]
