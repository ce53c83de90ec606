"""One device with a batch, two devices, and two processes of `penstock launch` learn the same, on JAX and PyTorch.

Each training is one of rank_trainings.py, in processes of its own; the losses of their steps are compared.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from penstock.cli.app import run

pytestmark = pytest.mark.framework
SCRIPT = Path(__file__).with_name("rank_trainings.py")
TOLERANCE = 1e-6


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    for name in ("XLA_FLAGS", "KERAS_BACKEND", "RANK", "WORLD_SIZE", "TF_CONFIG"):
        monkeypatch.delenv(name, raising=False)


def needs(*modules: str) -> None:
    for module in modules:
        if find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


def losses_of(output: str) -> list[Any]:
    """What each process printed, whatever stands before it."""
    return [json.loads(line.partition("LOSSES ")[2]) for line in output.splitlines() if "LOSSES " in line]


def alone(*arguments: str, **variables: str) -> Any:
    command = [sys.executable, str(SCRIPT), *arguments]
    done = subprocess.run(command, env=os.environ | variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return losses_of(done.stdout)[0]


def test_several_devices_and_processes_of_jax_learn_what_one_device_does(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], subtests: pytest.Subtests
) -> None:
    needs("jax", "keras")
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    found = alone("two-devices", "0", XLA_FLAGS="--xla_force_host_platform_device_count=2")
    for case in ("even", "uneven", "raw"):
        with subtests.test("two devices", case=case):
            one, two = found[case]
            assert len(one) == 6
            assert two == pytest.approx(one, abs=TOLERANCE)
    with subtests.test("rows of weight 0 change nothing"):
        one, two = found["padded"]
        for epoch in (0, 3):  # its last batch has more rows, and Keras weighs the losses it logs by rows
            assert two[epoch : epoch + 2] == pytest.approx(one[epoch : epoch + 2], abs=TOLERANCE)
    with subtests.test("a last batch that does not divide is refused with what to do"):
        assert "got 9 rows, expected a multiple of 2; say batch(..., drop_remainder=True)" in found["refused"]
    with subtests.test("a split model learns the same, and patterns that miss are named"):
        assert found["model parallel"] == pytest.approx(found["even"][0], abs=TOLERANCE)
        assert found["unmatched"] == ["hidden.*bias"]
    with subtests.test("undo takes the distribution back"):
        assert found["distribution after undo"]
    with subtests.test("two processes"):
        assert run(["launch", "--backend", "jax", str(SCRIPT), "keras-jax", "42"]) == 0
        ranks = losses_of(capfd.readouterr().out)
        assert len(ranks) == 2
        for rank in ranks:
            assert rank == pytest.approx(found["uneven"][0], abs=TOLERANCE)


def test_one_process_of_jax_that_dies_ends_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    needs("jax")
    assert run(["launch", "--grace", "1", "--backend", "jax", str(SCRIPT), "jax", "42", "--kill"]) == 137
    assert "worker 1 was ended by SIGKILL; the other workers are ended" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("kind", "arguments"), [("torch", ("41",)), ("torch", ("41", "--pad")), ("keras-torch", ("42",))]
)
def test_two_processes_of_torch_learn_what_one_does(
    kind: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    needs("torch", "keras")
    monkeypatch.setenv("KERAS_BACKEND", "torch")
    assert run(["launch", "--backend", "torch", str(SCRIPT), kind, *arguments]) == 0
    ranks = losses_of(capfd.readouterr().out)
    one = alone(kind, arguments[0])
    assert (len(ranks), len(one)) == (2, 6)
    for rank in ranks:
        assert rank == pytest.approx(one, abs=TOLERANCE)


def test_one_process_of_torch_that_dies_ends_the_others(capfd: pytest.CaptureFixture[str]) -> None:
    needs("torch")
    assert run(["launch", "--backend", "torch", str(SCRIPT), "torch", "41", "--kill"]) == 137
    assert "worker 1 was ended by SIGKILL; the other workers are ended" in capfd.readouterr().err
