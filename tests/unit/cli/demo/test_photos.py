from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cli.demo.job import Job
from penstock.cli.demo.photos import Part, Photos, read_photos
from penstock.errors import InvalidArgumentError, NoFilesError


def make(root: Path, **classes: int) -> Path:
    for name, count in classes.items():
        (root / name).mkdir(parents=True)
        for number in range(count):
            (root / name / f"{number:03d}.JPG").touch()
    return root


def test_one_in_five_of_each_class_is_held_out(tmp_path: Path) -> None:
    photos = read_photos(make(tmp_path, dog=20, cat=10))
    assert photos.class_names == ("cat", "dog")
    assert (photos.training.labels.count(0), photos.training.labels.count(1)) == (8, 16)
    assert (photos.validation.labels.count(0), photos.validation.labels.count(1)) == (2, 4)
    assert not set(photos.training.paths) & set(photos.validation.paths)


def test_the_split_is_the_same_every_time_and_wherever_the_folder_is(tmp_path: Path) -> None:
    def held_out(root: Path) -> list[str]:
        return [Path(path).name for path in read_photos(root).validation.paths]

    first = make(tmp_path / "a", dog=20, cat=10)
    assert held_out(first) == held_out(first) == held_out(make(tmp_path / "b", dog=20, cat=10))


def test_a_class_of_two_keeps_one_for_each_part(tmp_path: Path) -> None:
    photos = read_photos(make(tmp_path, dog=2, cat=2))
    assert (photos.training.labels, photos.validation.labels) == ((0, 1), (0, 1))


def test_folders_for_both_parts_are_taken_as_they_are(tmp_path: Path) -> None:
    make(tmp_path / "train", dog=3, cat=4)
    make(tmp_path / "validation", dog=2, cat=1)
    photos = read_photos(tmp_path)
    assert (len(photos.training), len(photos.validation)) == (7, 3)


def test_other_files_and_hidden_ones_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, dog=3, cat=3)
    for name in ("dog/notes.txt", "dog/.hidden.jpg", "cat/deeper/x.png", ".git/a.jpg"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    photos = read_photos(tmp_path)
    assert len(photos.training) + len(photos.validation) == 7
    assert photos.has_png


@pytest.mark.parametrize(
    ("classes", "said"),
    [({}, "0 class folders"), ({"dog": 5}, "1 class folder in"), ({"dog": 5, "cat": 1}, "1 for class 'cat'")],
)
def test_too_little_is_refused(tmp_path: Path, classes: dict[str, int], said: str) -> None:
    with pytest.raises(NoFilesError, match=said):
        read_photos(make(tmp_path, **classes))


def test_a_folder_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NoFilesError, match="which is no folder"):
        read_photos(tmp_path / "nowhere")


def test_a_class_that_is_only_validated_is_refused(tmp_path: Path) -> None:
    make(tmp_path / "train", dog=3, cat=4)
    make(tmp_path / "validation", dog=2, cat=1, cow=1)
    with pytest.raises(InvalidArgumentError, match="cow"):
        read_photos(tmp_path)


def test_a_job_too_short_to_measure_is_refused() -> None:
    part = Part(("a",) * 100, (0,) * 100)
    with pytest.raises(InvalidArgumentError, match="too few steps"):
        Job(Photos(("a", "b"), part, part), epochs=2, batch_size=50, image_size=8)
