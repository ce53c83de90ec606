"""What the examples show, on the backend named by KERAS_BACKEND; run by test_examples.py, once per backend.

Each is run as a stranger would, `python examples/NAME.py`, but in this one process: a framework takes long to import.
"""

from __future__ import annotations

import random
import runpy
import sys
import warnings
from pathlib import Path
from typing import Any

import keras
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def seeded() -> None:
    random.seed(0)  # where Keras draws its own from; its set_random_seed imports TensorFlow on any backend, for 10 s


def run(name: str, monkeypatch: pytest.MonkeyPatch, *arguments: Any) -> Any:
    """What its `main()` returns. Only what Keras says of inputs without a known length may be warned of."""
    script = EXAMPLES / f"{name}.py"
    monkeypatch.setattr(sys, "argv", [str(script)])
    monkeypatch.syspath_prepend(str(EXAMPLES))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Your input ran out of data")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        return runpy.run_path(str(script))["main"](*arguments)


def assert_learned(history: dict[str, list[float]], accuracy: float) -> None:
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    assert history["val_accuracy"][-1] > accuracy


def test_image_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_learned(run("image_folder", monkeypatch), accuracy=0.3)  # of ten classes, 128 photographs, five epochs


def test_tfrecord_shards(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_learned(run("tfrecord_shards", monkeypatch), accuracy=0.8)


def test_cached_generator(monkeypatch: pytest.MonkeyPatch) -> None:
    history, parsed = run("cached_generator", monkeypatch)
    assert_learned(history, accuracy=0.85)
    assert parsed < 2 * 569  # once, and a look at the first


def test_dict_elements(monkeypatch: pytest.MonkeyPatch) -> None:
    assert_learned(run("dict_elements", monkeypatch), accuracy=0.7)


def test_text_stop_words(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("stop_words")
    assert_learned(run("text_stop_words", monkeypatch), accuracy=0.6)


def test_mixed_precision(monkeypatch: pytest.MonkeyPatch) -> None:
    history, findings = run("mixed_precision", monkeypatch)
    assert_learned(history, accuracy=0.6)
    assert findings == ["half_output"]
    assert keras.config.dtype_policy().name == "float32"


def test_monitored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monitor = run("monitored", monkeypatch, str(tmp_path))
    assert [epoch.steps for epoch in monitor.epochs] == [28, 28, 28]
    assert monitor.epochs[-1].starved_share > 0.3  # a batch takes 32 ms to read; the model, a few on an idle machine
    assert "examples/monitored.py" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert list(tmp_path.glob("events.out.tfevents*"))
