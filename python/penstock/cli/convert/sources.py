"""What is packed: a folder of classes, Parquet files, tar shards or TFRecord files, as one dataset of named values."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock.cli.inspect.examples import NotAnExampleError, features_of
from penstock.dataset import Dataset
from penstock.errors import InvalidArgumentError, NoFilesError, NotIndexableError, ReadError
from penstock.ops.io import read_file
from penstock.readers import TFRecordDataset

Sample = Mapping[str, Any]
IMAGES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif")
FORMATS = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG\r\n\x1a\n", "gif": b"GIF8", "bmp": b"BM", "webp": b"RIFF"}
_GZIP = b"\x1f\x8b"
_SUFFIXES = {
    "Parquet": (".parquet",),
    "tar": (".tar", ".tar.gz", ".tgz"),
    "TFRecord": (".tfrecord", ".tfrecords", ".tfrecord.gz", ".tfrecords.gz"),
}


@dataclass(frozen=True, slots=True)
class Source:
    """Elements, and what to call the values of one. count: None where they only come one after another.

    record_of: the element as it is, where that is a record already.
    """

    kind: str
    files: tuple[str, ...]
    dataset: Dataset
    sample_of: Callable[..., Sample]
    count: int | None
    record_of: Callable[[Any], bytes] | None = None


def source_at(path: Path, columns: Sequence[str] | None = None) -> Source:
    """What to pack from `path`: a folder or a file. columns: of Parquet, None: all.

    Raises: NoFilesError; InvalidArgumentError: nothing known, or no such column.
    """
    source = _source_at(path, columns)
    if columns is not None and source.kind != "Parquet":
        raise InvalidArgumentError("--columns", got=f"a {source.kind} source", expected="Parquet", where=str(path))
    return source


def _source_at(path: Path, columns: Sequence[str] | None) -> Source:
    if path.is_dir():
        held = sorted(str(entry) for entry in path.iterdir() if entry.is_file() and not entry.name.startswith("."))
        for kind, suffixes in _SUFFIXES.items():
            files = [name for name in held if name.lower().endswith(suffixes)]
            if files:
                return _of_files(kind, files, columns)
        return _folder(path)
    if not path.is_file():
        raise NoFilesError("convert: there is no such file or directory", where=str(path))
    for kind, suffixes in _SUFFIXES.items():
        if path.name.lower().endswith(suffixes):
            return _of_files(kind, [str(path)], columns)
    raise InvalidArgumentError(
        "convert: nothing that can be packed", got=path.suffix or "no suffix",
        expected="a folder of classes, or " + ", ".join(sum(_SUFFIXES.values(), ())), where=str(path),
        remedy="name the file after what it holds",
    )  # fmt: skip


def image_format(content: bytes) -> str | None:
    """What an image is by the first bytes, a name of FORMATS; None: no image."""
    found = next((name for name, head in FORMATS.items() if content.startswith(head)), None)
    return None if found == "webp" and content[8:12] != b"WEBP" else found


def _folder(path: Path) -> Source:
    dataset = Dataset.from_folder(path, extensions=IMAGES)
    names = dataset.class_names

    def sample_of(file: str, label: Any) -> Sample:
        content = read_file(file)
        return {
            "image/encoded": content,
            "image/format": image_format(content) or os.path.splitext(file)[1][1:].lower(),
            "image/filename": os.path.relpath(file, path),
            "image/class/label": int(label),
            "image/class/text": names[int(label)],
        }

    return Source("folder", tuple(str(file) for file, _ in dataset.iterator(0)), dataset, sample_of, len(dataset))


def _of_files(kind: str, files: list[str], columns: Sequence[str] | None) -> Source:
    if kind == "Parquet":
        return _parquet(files, columns)
    return _tar(files) if kind == "tar" else _records(files)


def _parquet(files: list[str], columns: Sequence[str] | None) -> Source:
    dataset = Dataset.from_parquet(files, columns)
    return Source("Parquet", tuple(files), dataset, _flat, len(dataset))


def _tar(files: list[str]) -> Source:
    dataset = Dataset.from_tar(files)
    return Source("tar", tuple(files), dataset, dict, None if _packed(files) else _count(dataset))


def _records(files: list[str]) -> Source:
    packed = _packed(files)
    dataset = TFRecordDataset(files, "GZIP" if packed else None)

    def sample_of(record: bytes) -> Sample:
        try:
            return features_of(record)
        except NotAnExampleError:
            return {"record": record}

    return Source("TFRecord", tuple(files), dataset, sample_of, None if packed else _count(dataset), bytes)


def _packed(files: list[str]) -> bool:
    """Whether they are packed by gzip. Raises: InvalidArgumentError: some are."""
    found = []
    for name in files:
        try:
            with open(name, "rb") as file:
                found.append(file.read(2) == _GZIP)
        except OSError as error:
            raise ReadError("cannot read the file", got=error.strerror, where=name) from error
    if any(found) != all(found):
        raise InvalidArgumentError(
            "convert: some files are packed, and some are not", got=f"{sum(found)} of {len(files)} are",
            expected="all or none", where=os.path.dirname(files[0]), remedy="convert them apart",
        )  # fmt: skip
    return all(found)


def _count(dataset: Dataset) -> int | None:
    try:
        return len(dataset[:])  # by an index of the files
    except NotIndexableError:
        return None


def _flat(row: Mapping[str, Any], above: str = "") -> Sample:
    """A row whose nested columns are named as paths are."""
    found: dict[str, Any] = {}
    for name, value in row.items():
        found.update(_flat(value, f"{above}{name}/") if isinstance(value, Mapping) else {above + name: value})
    return found
