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


@pytest.fixture(scope="module")
def on_jax() -> dict[str, Any]:
    """The trainings of one process with two devices."""
    needs("jax", "keras")
    flags = "--xla_force_host_platform_device_count=2"
    path = os.pathsep.join(path for path in sys.path if path)
    found: dict[str, Any] = alone("two-devices", "0", KERAS_BACKEND="jax", XLA_FLAGS=flags, PYTHONPATH=path)
    return found


@pytest.mark.parametrize("case", ["even", "uneven", "raw"])
def test_two_devices_of_jax_learn_what_one_does(on_jax: dict[str, Any], case: str) -> None:
    one, two = on_jax[case]
    assert len(one) == 6
    assert two == pytest.approx(one, abs=TOLERANCE)


def test_rows_of_weight_0_change_nothing(on_jax: dict[str, Any]) -> None:
    one, two = on_jax["padded"]
    for epoch in (0, 3):  # its last batch has more rows, and Keras weighs the losses it logs by rows
        assert two[epoch : epoch + 2] == pytest.approx(one[epoch : epoch + 2], abs=TOLERANCE)


def test_a_last_batch_that_does_not_divide_is_refused_with_what_to_do(on_jax: dict[str, Any]) -> None:
    assert "got 9 rows, expected a multiple of 2; say batch(..., drop_remainder=True)" in on_jax["refused"]


def test_a_split_model_learns_the_same_and_patterns_that_miss_are_named(on_jax: dict[str, Any]) -> None:
    assert on_jax["model parallel"] == pytest.approx(on_jax["even"][0], abs=TOLERANCE)
    assert on_jax["unmatched"] == ["hidden.*bias"]


def test_undo_takes_the_distribution_back(on_jax: dict[str, Any]) -> None:
    assert on_jax["distribution after undo"]


def test_two_processes_of_keras_on_jax_learn_what_one_does(
    on_jax: dict[str, Any], monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    assert run(["launch", "--backend", "jax", str(SCRIPT), "keras-jax", "42"]) == 0
    ranks = losses_of(capfd.readouterr().out)
    assert len(ranks) == 2
    for rank in ranks:
        assert rank == pytest.approx(on_jax["uneven"][0], abs=TOLERANCE)


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
