"""The example of the README runs as it stands."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

README = Path(__file__).parents[2] / "README.md"
LINES_AT_MOST = 16


def _blocks() -> list[str]:
    return re.findall(r"^```python\n(.*?)^```$", README.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.fixture
def photos(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with `photos/`: two classes of three small JPEGs."""
    rng = np.random.default_rng(0)
    for name in ("cat", "dog"):
        folder = tmp_path / "photos" / name
        folder.mkdir(parents=True)
        for number in range(3):
            pixels = rng.integers(0, 256, (120 + number, 150, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(folder / f"{number}.jpg")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_readme_has_one_example_of_a_few_lines() -> None:
    (example,) = _blocks()
    code = [line for line in example.splitlines() if line.strip()]
    assert len(code) <= LINES_AT_MOST


def test_readme_example_runs_as_it_stands(photos: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (example,) = _blocks()
    exec(compile(example, str(README), "exec"), {"__name__": "__main__"})
    assert capsys.readouterr().out.strip()
