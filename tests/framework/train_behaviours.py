"""Devices and precision on the backend named by KERAS_BACKEND; run by test_train.py, in order: devices are set once."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest

BACKEND: Any = os.environ["KERAS_BACKEND"]
framework = importlib.import_module(BACKEND)

import penstock.train as pt  # noqa: E402  # after the framework, so that its first use is seen
from penstock.errors import TooLateError  # noqa: E402  # likewise


def test_two_logical_devices_are_two_devices() -> None:
    memory = "growth" if BACKEND != "tensorflow" else None
    runtime = pt.setup(backend=BACKEND, logical=2, memory=memory, strategy="one_device", verbose=False)
    lines = [str(change) for change in runtime.changes]
    if BACKEND == "torch":
        assert any("PyTorch has none" in line for line in lines)
        return
    assert any(line.startswith("memory: 2 ") for line in lines)
    if BACKEND == "tensorflow":
        assert len(framework.config.list_logical_devices("CPU")) == 2
    else:
        assert any("memory growth: not needed" in line for line in lines)
        assert len(framework.devices("cpu")) == 2


@pytest.mark.skipif(BACKEND == "torch", reason="nothing of it is fixed without a GPU")
def test_what_comes_too_late_names_the_line_that_was_first() -> None:
    with pytest.raises(TooLateError, match=r"3 (logical CPUs|CPU devices)") as caught:
        pt.setup(backend=BACKEND, logical=3, strategy="one_device", verbose=False)
    assert caught.value.first_call is not None
    assert caught.value.first_call.file == __file__
    pt.setup(backend=BACKEND, logical=2, strategy="one_device", verbose=False)  # as it is already


def test_devices_are_listed_without_a_gpu() -> None:
    listed = pt.devices(BACKEND)
    assert len(listed) >= 1
    assert len({*listed.notes}) == len(listed.notes)
    assert "memory" in str(listed)


def test_release_keeps_the_policy_and_reports() -> None:
    import keras

    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        released = pt.release()
        assert keras.config.dtype_policy().name == "mixed_bfloat16"
        assert "Keras' session" in released.cleared
    finally:
        keras.config.set_dtype_policy("float32")
