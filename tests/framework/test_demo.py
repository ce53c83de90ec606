"""The main job and its script, small, in processes of their own: once per backend, and interrupted."""

from __future__ import annotations

import importlib.util
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli.demo.corpus import make_corpus

ROOT = Path(__file__).parents[2]
PENSTOCK = [sys.executable, "-m", "penstock"]
SMALL = ["--batch-size", "16", "--image-size", "32", "--samples", "200"]

pytestmark = pytest.mark.framework


def require(*modules: str) -> None:
    for module in modules:
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    require("PIL", "skimage", "sklearn")
    folder = tmp_path_factory.mktemp("work")
    make_corpus(folder, 200)
    return folder


def run(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "COLUMNS": "200", **environment}
    return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(("backend", "feeds"), [("tensorflow", 3), ("jax", 2), ("torch", 2)])
def test_the_demo_trains_on_each_feed_and_concludes(work: Path, backend: str, feeds: int) -> None:
    require(backend, "keras")
    result = run(*PENSTOCK, "demo", "--backend", backend, "--epochs", "1", "--work", str(work), *SMALL)
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""
    rows = re.findall(r"│ (Python generator|tf\.data|Penstock) +│ +[\d,]+ │ +\d\.\d+ │ +\d+% │ +\d+% │", result.stdout)
    assert len(rows) == feeds, result.stdout
    assert re.search(r"Penstock fed the model at [\d,]+ images/s, .* of each step it waited \d+% with", result.stdout)


def test_an_emulated_accelerator_needs_no_keras(work: Path) -> None:
    require("torch")  # named, never imported
    result = run(*PENSTOCK, "demo", "--backend", "torch", "--step-ms", "5", "--work", str(work), *SMALL)
    assert (result.returncode, result.stderr) == (0, "")
    assert re.search(r"the accelerator computed \d+% of the time, against \d+% with the generator\.", result.stdout)


@pytest.mark.parametrize("at", ["Python generator", "Penstock"])
def test_an_interruption_stops_it_with_one_line(work: Path, at: str) -> None:
    require("torch")
    command = [*PENSTOCK, "demo", "--backend", "torch", "--step-ms", "50", "--epochs", "1", "--work", str(work), *SMALL]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "python"), "FORCE_COLOR": "1"}
    process = subprocess.Popen(command, env=env, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    seen = ""
    while at not in seen:
        seen += process.stdout.read(1)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert (process.returncode, error.count("\n")) == (130, 1), error
    assert "interrupted" in error


@pytest.mark.parametrize("backend", ["tensorflow"])  # which wraps errors in its own
def test_a_broken_photograph_is_named_in_one_line(tmp_path: Path, work: Path, backend: str) -> None:
    require(backend, "keras")
    for name in ("cat", "coffee"):
        (tmp_path / name).mkdir()
        for file in (work / "photographs-v1-200" / "train" / name).iterdir():
            (tmp_path / name / file.name).write_bytes(file.read_bytes())
    broken = tmp_path / "cat" / "0003.jpg"
    broken.write_bytes(broken.read_bytes()[:2000])
    result = run(
        *PENSTOCK, "demo", "--backend", backend, "--batch-size", "5", "--image-size", "32", "--data", str(tmp_path)
    )
    assert result.returncode == 1
    assert result.stderr.count("\n") == 1
    assert str(broken) in result.stderr


@pytest.mark.parametrize("backend", ["tensorflow"])
def test_the_script_trains(backend: str, work: Path) -> None:
    require(backend, "keras")
    script = ROOT / "examples" / "train_on_photographs.py"
    result = run(sys.executable, str(script), str(work / "photographs-v1-200"), "--quick", KERAS_BACKEND=backend)
    assert result.returncode == 0, result.stderr
    assert "validation accuracy:" in result.stdout
