"""TensorFlow, once a session, on the CPU alone; how much was compared is printed at the end."""

from __future__ import annotations

import os
from types import ModuleType
from typing import Any

import pytest


@pytest.fixture(scope="session")
def tf() -> ModuleType:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    return pytest.importorskip("tensorflow")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Adds up what passed tests recorded as ("compared with tf.data", (pipelines, elements))."""
    found = [
        counts
        for report in terminalreporter.getreports("passed")
        for name, counts in report.user_properties
        if name == "compared with tf.data"
    ]
    if found:
        pipelines, elements = map(sum, zip(*found, strict=True))
        terminalreporter.write_line(f"compared with tf.data: {pipelines} pipelines, {elements} elements")
