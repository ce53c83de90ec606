"""TensorFlow, once a session, on the CPU alone."""

from __future__ import annotations

import os
from types import ModuleType

import pytest


@pytest.fixture(scope="session")
def tf() -> ModuleType:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    return pytest.importorskip("tensorflow")
