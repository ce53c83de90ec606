"""One device, two devices, two workers: the same losses and weights from the same seed, to what float32 can tell."""

from __future__ import annotations

import importlib.util
import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

SCRIPT = Path(__file__).with_name("distributed_training.py")
TOLERANCE = 1e-6
CASES = ("whole", "short", "weighted", "sum", "normalised")
pytestmark = [
    pytest.mark.framework,
    pytest.mark.skipif(
        any(importlib.util.find_spec(name) is None for name in ("tensorflow", "keras")), reason="TensorFlow and Keras"
    ),
]


def start(mode: str, **variables: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), mode], env=os.environ | variables, cwd=SCRIPT.parents[2], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def free_ports(count: int) -> list[int]:
    listeners = [socket.socket() for _ in range(count)]
    for listener in listeners:
        listener.bind(("127.0.0.1", 0))
    ports = [listener.getsockname()[1] for listener in listeners]
    for listener in listeners:
        listener.close()
    return ports


@pytest.fixture(scope="module")
def devices() -> dict[str, Any]:
    process = start("devices")
    out, errors = process.communicate(timeout=280)
    assert process.returncode == 0, errors[-5_000:]
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


@pytest.fixture(scope="module")
def workers() -> list[tuple[int, list[str], str]]:
    """Of each rank: the exit code, the lines it wrote, and its errors."""
    cluster = {"worker": [f"127.0.0.1:{port}" for port in free_ports(2)]}
    config = [json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}}) for rank in (0, 1)]
    processes = [start("worker", TF_CONFIG=text) for text in config]
    try:
        output = [process.communicate(timeout=280) for process in processes]
    finally:
        for process in processes:
            process.kill()
    return [
        (process.returncode, out.splitlines(), errors) for process, (out, errors) in zip(processes, output, strict=True)
    ]


def far(one: dict[str, list[float]], other: dict[str, list[float]]) -> dict[str, float]:
    """What differs, by how much of its own size."""
    assert one.keys() == other.keys()
    pairs = {name: (np.asarray(one[name]), np.asarray(other[name])) for name in one}
    errors = {name: np.abs(a - b).max() / max(1.0, np.abs(a).max()) for name, (a, b) in pairs.items()}
    return {name: error for name, error in errors.items() if not error < TOLERANCE}


@pytest.mark.parametrize("case", CASES)
def test_two_devices_train_as_one(devices: dict[str, Any], case: str) -> None:
    assert far(devices["one_device"][case], devices["mirrored"][case]) == {}


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("case", CASES)
def test_two_workers_train_as_one(
    devices: dict[str, Any], workers: list[tuple[int, list[str], str]], case: str, rank: int
) -> None:
    _, lines, errors = workers[rank]
    assert lines, errors[-5_000:]
    assert far(devices["one_device"][case], json.loads(lines[-1])[case]) == {}


def test_a_last_batch_of_fewer_rows_than_replicas_teaches_the_same(devices: dict[str, Any]) -> None:
    one, two = devices["one_device"]["one row"], devices["mirrored"]["one row"]
    assert far({"weights": one["weights"]}, {"weights": two["weights"]}) == {}


def test_a_replica_without_rows_leaves_an_evaluation_as_it_is(devices: dict[str, Any]) -> None:
    assert far(devices["one_device"]["one row in all"], devices["mirrored"]["one row in all"]) == {}


@pytest.mark.parametrize("rank", [0, 1])
def test_uneven_files_are_evaluated_once_each_in_equally_many_steps(
    devices: dict[str, Any], workers: list[tuple[int, list[str], str]], rank: int
) -> None:
    mine = json.loads(workers[rank][1][-1])["files"]
    assert far({"evaluate": devices["one_device"]["files"]["evaluate"]}, {"evaluate": mine["evaluate"]}) == {}
    assert mine["steps"] == [9]


def test_workers_say_what_was_set_up(workers: list[tuple[int, list[str], str]]) -> None:
    said = "\n".join(workers[1][1][:-1])
    assert "multi_worker, 1 device (CPU:0), rank 1 of 2 processes, gradients by ring" in said
    assert "fit of Keras" in said


def test_a_lost_worker_ends_the_other_which_names_it(workers: list[tuple[int, list[str], str]]) -> None:
    (code, _, errors), (killed, *_) = workers
    assert (code, killed) == (1, -9), errors[-5_000:]
    assert "penstock: rank 1 (127.0.0.1:" in errors.splitlines()[-1], errors[-3_000:]
