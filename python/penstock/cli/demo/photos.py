"""Labelled photographs in a folder per class, in two parts: for training and for validation."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from penstock.errors import InvalidArgumentError, NoFilesError

JPEG = (".jpg", ".jpeg")
SUFFIXES = (*JPEG, ".png")
VALIDATION_SHARE = 0.2


@dataclass(frozen=True, slots=True)
class Part:
    """Files and the numbers of their classes, in one order."""

    paths: tuple[str, ...]
    labels: tuple[int, ...]

    def __len__(self) -> int:
        return len(self.paths)


@dataclass(frozen=True, slots=True)
class Photos:
    """What a model is trained and validated on."""

    class_names: tuple[str, ...]
    training: Part
    validation: Part

    @property
    def has_png(self) -> bool:
        return any(not path.lower().endswith(JPEG) for part in (self.training, self.validation) for path in part.paths)


def read_photos(directory: Path) -> Photos:
    """The photographs of `directory`: either `train/` and `validation/` of class folders, or class folders alone.

    In the second case one file in five of each class, at least one, is kept for validation: the same files every time,
    chosen by a hash of their names, so that a file added later moves no other.
    Raises: NoFilesError: no such folder, no class folders, or too few files in one of them.
    """
    if not directory.is_dir():
        raise NoFilesError(
            "--data", got=f"{str(directory)!r}, which is no folder", expected="a folder of class folders"
        )
    training, validation = directory / "train", directory / "validation"
    if training.is_dir() and validation.is_dir():
        return _from_parts(directory, _files_by_class(training), _files_by_class(validation))
    files = _files_by_class(directory)
    split = {name: _split(found) for name, found in files.items()}
    return _from_parts(
        directory,
        {name: kept for name, (kept, _) in split.items()},
        {name: held_out for name, (_, held_out) in split.items()},
    )


def _files_by_class(directory: Path) -> dict[str, list[str]]:
    folders = sorted(entry.name for entry in directory.iterdir() if entry.is_dir() and not entry.name.startswith("."))
    return {
        name: sorted(
            os.path.join(root, file)
            for root, _, files in os.walk(directory / name)
            for file in files
            if file.lower().endswith(SUFFIXES) and not file.startswith(".")
        )
        for name in folders
    }


def _split(files: Sequence[str]) -> tuple[list[str], list[str]]:
    by_hash = sorted(files, key=lambda path: blake2b(os.path.basename(path).encode(), digest_size=8).digest())
    count = max(1, round(len(files) * VALIDATION_SHARE))
    held_out = set(by_hash[:count])
    return [path for path in files if path not in held_out], sorted(held_out)


def _from_parts(directory: Path, training: dict[str, list[str]], validation: dict[str, list[str]]) -> Photos:
    expected = f"at least two class folders, each with at least two files ending in {', '.join(SUFFIXES)}"
    if len(training) < 2:
        got = f"{len(training)} class folder{'s' if not training else ''} in {str(directory)!r}"
        raise NoFilesError("--data", got=got, expected=expected)
    for name, files in training.items():
        if not files or not validation.get(name):
            got = f"{len(files) + len(validation.get(name, []))} for class {name!r} in {str(directory)!r}"
            raise NoFilesError("--data: too few photographs", got=got, expected=expected)
    if unknown := sorted(set(validation) - set(training)):
        raise InvalidArgumentError("--data: a class in validation/ only", got=", ".join(unknown))
    names = tuple(sorted(training))
    return Photos(names, _part(names, training), _part(names, validation))


def _part(names: Sequence[str], files: dict[str, list[str]]) -> Part:
    pairs = [(path, label) for label, name in enumerate(names) for path in files[name]]
    return Part(tuple(path for path, _ in pairs), tuple(label for _, label in pairs))
