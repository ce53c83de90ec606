from __future__ import annotations

import glob
import os
from pathlib import Path

import pytest

from penstock.storage.pattern import Pattern, is_pattern

NAMES = [
    "a.jpg", "b.jpg", "c.png", ".hidden.jpg", "x/a.jpg", "x/b1.jpg", "x/b2.jpg", "x/y/a.jpg", "x/y/z/[q].jpg",
    "x/.h/a.jpg", "w-1/a.jpg", "w.1/a.jpg", "x/y/a b.jpg",
]  # fmt: skip
PATTERNS = [
    "*.jpg", "*", "x/*.jpg", "x/b?.jpg", "x/b[12].jpg", "x/b[!1].jpg", "**/*.jpg", "x/**/a.jpg", "x/**/*.jpg",
    "*/a.jpg", "w.1/*", "x/y/z/[[]q].jpg", "*/*/*", "x/[a-b]*.jpg", "nothing/*", "**/y/*", "x/y/a b*",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns_match_as_glob_does(pattern: str, tmp_path: Path) -> None:
    for name in NAMES:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    wanted = {
        os.path.relpath(path, tmp_path)
        for path in glob.glob(str(tmp_path / pattern), recursive=True)
        if os.path.isfile(path)
    }
    found = Pattern.of(f"s3://bucket/{pattern}")
    assert found is not None
    below = f"{found.folder}/" if found.folder else ""
    listed = [name for name in NAMES if name.startswith(below) and (found.is_deep or "/" not in name[len(below) :])]
    assert {name for name in listed if found.matches(name)} == wanted


def test_folder_is_what_needs_to_be_listed() -> None:
    found = Pattern.of("s3://bucket/a/b/*.jpg")
    assert found is not None
    assert (found.root, found.folder, found.is_deep) == ("s3://bucket", "a/b", False)
    found = Pattern.of("gs://bucket/a/*/b.jpg")
    assert found is not None
    assert (found.root, found.folder, found.is_deep) == ("gs://bucket", "a", True)


def test_names_behind_http_are_not_listed() -> None:
    assert Pattern.of("https://host/*.jpg") is None


@pytest.mark.parametrize(
    ("url", "found"), [("s3://b/*", True), ("s3://b/a?", True), ("s3://b/a", False), ("http://h/a?b=[1]", False)]
)
def test_wildcards_make_a_pattern(url: str, found: bool) -> None:
    assert is_pattern(url) is found
