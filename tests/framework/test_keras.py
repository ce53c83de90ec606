"""The behaviours of Keras' adapter and of the monitor, in a process per backend: Keras has one backend for life."""

from __future__ import annotations

import pytest

from tests.framework.behaviours import run_behaviours

OWN = {"tensorflow": ["tf_behaviours.py"]}


@pytest.mark.framework
@pytest.mark.parametrize("backend", ["tensorflow", "jax", "torch"])
def test_keras_is_fed_right(backend: str) -> None:
    files = ["keras_behaviours.py", "keras_monitor.py", *OWN.get(backend, [])]
    run_behaviours(files, needs=[backend, "keras"], KERAS_BACKEND=backend)
