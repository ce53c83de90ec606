"""One device, two devices, two workers: the same losses and weights from the same seed, to what float32 can tell.

One test of many parts: the three trainings take most of a minute of processor time, and each process of pytest-xdist
would make them anew for parts that it took.
"""

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


def trained_on_devices() -> dict[str, Any]:
    process = start("devices")
    out, errors = process.communicate(timeout=280)
    assert process.returncode == 0, errors[-5_000:]
    result: dict[str, Any] = json.loads(out.splitlines()[-1])
    return result


def trained_by_workers() -> list[tuple[int, list[str], str]]:
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


def test_devices_and_workers_train_as_one_device(subtests: pytest.Subtests) -> None:
    devices, workers = trained_on_devices(), trained_by_workers()
    one, two = devices["one_device"], devices["mirrored"]
    for case in CASES:
        with subtests.test("two devices", case=case):
            assert far(one[case], two[case]) == {}
    with subtests.test("a last batch of fewer rows than replicas teaches the same"):
        assert far({"weights": one["one row"]["weights"]}, {"weights": two["one row"]["weights"]}) == {}
    with subtests.test("a replica without rows leaves an evaluation as it is"):
        assert far(one["one row in all"], two["one row in all"]) == {}
    for rank, (_, lines, errors) in enumerate(workers):
        assert lines, errors[-5_000:]
        learned = json.loads(lines[-1])
        for case in CASES:
            with subtests.test("two workers", case=case, rank=rank):
                assert far(one[case], learned[case]) == {}
        with subtests.test("uneven files are evaluated once each, in equally many steps", rank=rank):
            mine = learned["files"]
            assert far({"evaluate": one["files"]["evaluate"]}, {"evaluate": mine["evaluate"]}) == {}
            assert mine["steps"] == [9]
    with subtests.test("workers say what was set up"):
        said = "\n".join(workers[1][1][:-1])
        assert "multi_worker, 1 device (CPU:0), rank 1 of 2 processes, gradients by ring" in said
        assert "fit of Keras" in said
    with subtests.test("a lost worker ends the other, which names it"):
        (code, _, errors), (killed, *_) = workers
        assert (code, killed) == (1, -9), errors[-5_000:]
        assert "penstock: rank 1 (127.0.0.1:" in errors.splitlines()[-1], errors[-3_000:]
