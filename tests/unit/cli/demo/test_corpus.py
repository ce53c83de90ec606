from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from penstock.cli.demo.corpus import (
    ASPECT,
    LONG_SIDE_PX,
    PHOTOGRAPHS,
    QUALITY,
    Box,
    corpus_path,
    draw_crop,
    is_complete,
    make_corpus,
    regions,
)
from penstock.errors import MissingDependencyError

SAMPLES = 40
needs_photographs = pytest.mark.skipif(
    not all(importlib.util.find_spec(module) for module in ("PIL", "skimage", "sklearn")),
    reason="Pillow, scikit-image or scikit-learn is not installed",
)


def area(box: Box) -> int:
    return max(0, box[2] - box[0]) * max(0, box[3] - box[1])


def overlap(one: Box, other: Box) -> int:
    return area((max(one[0], other[0]), max(one[1], other[1]), min(one[2], other[2]), min(one[3], other[3])))


@pytest.mark.parametrize("validation", ["left", "middle", "top"])
@pytest.mark.parametrize("size", [(640, 427), (451, 300), (512, 512), (1000, 872)])
def test_training_and_validation_share_no_pixel(validation: str, size: tuple[int, int]) -> None:
    training, held_out = regions(validation, *size)
    assert all(overlap(region, held_out) == 0 for region in training)
    assert sum(map(area, training)) + area(held_out) == size[0] * size[1]


def test_crops_stay_in_their_region_and_vary() -> None:
    region = (100, 20, 400, 320)
    crops = [draw_crop(region, np.random.default_rng(seed)) for seed in range(200)]
    for crop in crops:
        assert overlap(crop.box, region) == area(crop.box) > 0
        assert LONG_SIDE_PX[0] <= max(crop.size) <= LONG_SIDE_PX[1]
        assert QUALITY[0] <= crop.quality <= QUALITY[1]
        assert ASPECT[0] * 0.95 <= crop.size[0] / crop.size[1] <= ASPECT[1] * 1.05
    assert len({crop.size for crop in crops}) > 150


@needs_photographs
def test_the_corpus_is_the_same_every_time(tmp_path: Path) -> None:
    def contents(root: Path) -> dict[str, bytes]:
        return {str(file.relative_to(root)): file.read_bytes() for file in sorted(root.rglob("*.jpg"))}

    first, second = (make_corpus(tmp_path / name, SAMPLES) for name in ("a", "b"))
    assert contents(first) == contents(second)
    assert len(contents(first)) == SAMPLES
    assert sorted(folder.name for folder in (first / "train").iterdir()) == sorted(p.name for p in PHOTOGRAPHS)


@needs_photographs
def test_a_corpus_is_made_once(tmp_path: Path) -> None:
    made: list[None] = []
    for _ in range(2):
        make_corpus(tmp_path, SAMPLES, lambda: made.append(None))
    assert len(made) == SAMPLES
    assert [entry.name for entry in tmp_path.iterdir()] == [corpus_path(tmp_path, SAMPLES).name]


@needs_photographs
def test_an_interruption_leaves_nothing_and_an_unfinished_folder_is_replaced(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    place = corpus_path(tmp_path, SAMPLES)
    with pytest.raises(KeyboardInterrupt):
        make_corpus(tmp_path, SAMPLES, interrupt)
    assert list(tmp_path.iterdir()) == []
    (place / "train").mkdir(parents=True)
    assert not is_complete(place)
    assert is_complete(make_corpus(tmp_path, SAMPLES))


def test_a_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="pip install scikit-image"):
        PHOTOGRAPHS[0].locate()
