"""`penstock doctor` on tiny scripts of each framework: what it sees, and that results stay the same."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from penstock.cli.app import run
from penstock.telemetry.saved import load_trace
from penstock.telemetry.trace import Trace

pytestmark = pytest.mark.framework

TORCH = """
import time, torch
from torch.utils.data import DataLoader, Dataset

class Rows(Dataset):
    def __len__(self):
        return 96
    def __getitem__(self, index):
        time.sleep(0.004)
        return torch.rand(4) + index

if __name__ == "__main__":
    torch.manual_seed(0)
    total = 0.0
    for epoch in range(2):
        for batch in DataLoader(Rows(), batch_size=8, shuffle=True, num_workers=2):
            total += float(batch.sum())
    print(f"{total:.6f}")
"""
TF_DATA = """
import time
import tensorflow as tf

def load(row):
    text = tf.strings.as_string(tf.random.stateless_uniform([20000], [row, 1]))
    return tf.strings.to_hash_bucket_strong(text, 7, [1, 2])

rows = tf.data.Dataset.range(240, output_type=tf.int32).shuffle(20, seed=1).map(load).batch(4).prefetch(1)
total = 0
for batch in rows:
    total += int(tf.reduce_sum(batch))
print(total)
"""
KERAS = """
import time
import keras
import numpy as np

class Rows(keras.utils.PyDataset):
    def __len__(self):
        return 24
    def __getitem__(self, index):
        time.sleep(0.02)
        rows = np.random.default_rng(index).normal(size=(8, 16)).astype("float32")
        return rows, rows[:, :1]

keras.utils.set_random_seed(0)
model = keras.Sequential([keras.Input((16,)), keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile("sgd", "mse")
print(model.fit(Rows(), epochs=2, verbose=0, shuffle=False).history["loss"])
"""


def doctored(
    script: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    is_compared: bool = True,
) -> Trace:
    """The trace of a script; is_compared: whose output was the same with and without the doctor."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    (tmp_path / "train.py").write_text(script)
    plain = None
    if is_compared:
        plain = subprocess.run([sys.executable, "train.py"], capture_output=True, text=True, check=True).stdout
    assert run(["doctor", "--save-trace", "run.json", "train.py"]) == 0
    out, err = capfd.readouterr()
    assert out == plain or (plain is None and out)
    assert "limit" in err
    return load_trace(tmp_path / "run.json")


def test_torch_data_loader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    if find_spec("torch") is None:
        pytest.skip("needs PyTorch")
    trace = doctored(TORCH, tmp_path, monkeypatch, capfd)
    assert (trace.source, trace.consumer.steps, trace.consumer.rows) == ("torch", 24, 192)
    assert trace.settings["num_workers"] == 2
    assert [(worker.id, worker.elements) for worker in trace.workers] == [("0", 96), ("1", 96)]
    step = trace.steps[0]
    assert (step.label, step.elements) == ("Rows.__getitem__ at train.py:8", 192)
    assert step.busy_s >= 0.7
    assert any(one.verb == "sleep" for one in trace.steps if one.part_of == step.id)


def test_tf_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    if find_spec("tensorflow") is None:
        pytest.skip("needs TensorFlow")
    trace = doctored(TF_DATA, tmp_path, monkeypatch, capfd, is_compared=False)
    assert (trace.source, trace.consumer.steps, trace.consumer.method) == ("tf.data", 60, "synchronous")
    assert [node.verb for node in trace.nodes] == ["prefetch", "batch", "map", "shuffle", "range"]
    assert [node.facts.get("buffer_size") for node in trace.nodes] == [1, None, None, 20, None]
    assert any(step.verb == "map" and step.label == "map at train.py:9" for step in trace.steps)


@pytest.mark.parametrize("backend", ["jax", "tensorflow"])
def test_keras_fit(
    backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    if find_spec("keras") is None or find_spec(backend) is None:
        pytest.skip("needs Keras and its backend")
    monkeypatch.setenv("KERAS_BACKEND", backend)
    trace = doctored(KERAS, tmp_path, monkeypatch, capfd, is_compared=backend == "tensorflow")
    consumer = trace.consumer
    assert (trace.source, trace.framework) == ("keras", backend)
    assert (consumer.steps, consumer.method) == (48, {"jax": "device done", "tensorflow": "profile"}[backend]) or (
        backend == "jax" and consumer.steps == 49  # it looks at one batch to learn its shapes
    )
    assert consumer.starved_s is not None
    assert 0 < consumer.starved_s <= consumer.wait_s
    assert "Rows in fit at train.py" in trace.loader
