"""The levers of `penstock.train` on real frameworks, in a process of its own per backend: devices are set once."""

from __future__ import annotations

import pytest

from tests.framework.behaviours import run_behaviours


@pytest.mark.framework
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_levers_do_what_they_say(backend: str) -> None:
    files = ["train_behaviours.py", "compile_behaviours.py"]
    run_behaviours(files, "-x", needs=[backend, "keras"], KERAS_BACKEND=backend)
