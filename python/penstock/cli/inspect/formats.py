"""What a file or a directory is, by what it begins with; and as a dataset, so that all else is one code for all."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.cli.inspect.examples import NotAnExampleError, features_of
from penstock.dataset import Dataset
from penstock.errors import DecodeError, InvalidArgumentError, NoFilesError, PenstockError
from penstock.formats.arrays import array_layout
from penstock.formats.files import PieceFile, measured
from penstock.formats.stored.data import checksum, open_stored
from penstock.formats.stored.directory import entries
from penstock.formats.stored.manifest import NAME
from penstock.kernels.record import UNKNOWN_LEFT, scan_records
from penstock.ops.io import read_file
from penstock.readers import TextLineDataset, TFRecordDataset
from penstock.units import format_bytes

_IMAGES = (".jpg", ".jpeg", ".png")
_TEXTS = (".txt", ".text", ".log", ".md", ".json")
_HEAD_BYTES = 4096
_CSV_ROWS = 100


@dataclass(frozen=True, slots=True)
class Found:
    """What lies somewhere. facts: names and values. checks: what `verify` compares; it gives what is wrong.

    show: what to look at of each element, where that is not the element itself.
    """

    format: str
    facts: tuple[tuple[str, str], ...]
    dataset: Dataset
    checks: str
    verify: Callable[[], list[str]]
    show: Callable[[Any], Any] | None = None


def found_at(path: Path) -> Found:
    """What `path` is. Raises: NoFilesError: nothing; InvalidArgumentError: nothing that is known; DecodeError."""
    if path.is_dir():
        if (path / NAME).exists() or entries(path):
            return _stored(path)
        return _folder(path)
    if not path.exists():
        raise NoFilesError("inspect: there is no such file or directory", where=str(path))
    with path.open("rb") as file:
        head = file.read(_HEAD_BYTES)
    for begins, make in _BY_HEAD:
        if begins(head):
            return make(path)
    if path.suffix.lower() in (".csv", ".tsv"):
        return _csv(path)
    if path.suffix.lower() == ".jsonl":
        return _read_by("JSON lines", Dataset.from_json_lines)(path)
    if _is_text(head) or path.suffix.lower() in _TEXTS:
        return _text(path)
    raise InvalidArgumentError(
        "inspect: nothing that is known", got=f"a file that begins with {head[:16]!r}",
        expected="kept elements, .npy, TFRecord, Parquet, Arrow, tar, images, CSV, JSON lines or text", where=str(path),
    )  # fmt: skip


def _stored(path: Path) -> Found:
    data = open_stored(path)
    manifest = data.manifest
    facts = [("elements", str(data.count)), ("size", format_bytes(data.nbytes)), ("entry", str(data.path))]
    if manifest.owner:
        facts.append(("of", manifest.owner))
    if isinstance(manifest.told, dict):
        verbs = [str(verb[-1]) for verb in manifest.told.get("verbs", ()) if verb]
        facts.append(("made by", " -> ".join(verbs) or "?"))

    def verify() -> list[str]:
        wrong = []
        for name, said in manifest.sums.items():
            now = checksum(data.path / name)
            if now != said:
                wrong.append(f"{data.path / name}: CRC-32 {now:08x}, expected {said:08x}")
        return wrong

    others = len(entries(path)) - 1
    if others > 0:
        facts.append(("beside", f"{others} other entries"))
    return Found("kept elements (.npy)", tuple(facts), Dataset.load(data.path), "the CRC-32 of every file", verify)


def _array(path: Path) -> Found:
    layout = array_layout(measured(str(path)), None, None)
    facts = (("array", f"{layout.dtype} {layout.shape}"), ("size", format_bytes(path.stat().st_size)))
    checks = "that header and size agree (the format has no checksums)"
    return Found("NumPy array (.npy)", facts, Dataset.from_array_file(path), checks, list)


def _folder(path: Path) -> Found:
    dataset = Dataset.from_folder(path)
    names = dataset.class_names
    labels = np.array([int(label) for _, label in dataset], dtype=np.int64)
    counts = np.bincount(labels, minlength=len(names)).tolist()
    shown = ", ".join(f"{name} {count}" for name, count in list(zip(names, counts, strict=True))[:12])
    facts = (("files", str(len(labels))), ("classes", f"{len(names)}: {shown}{', ...' if len(names) > 12 else ''}"))

    def read(file: Any, label: Any) -> dict[str, Any]:
        return {"path": file, "class": names[int(label)], "content": read_file(file)}

    def verify() -> list[str]:
        from penstock.ops.codecs import decode_image

        wrong = []
        for file, _ in dataset:
            if str(file).lower().endswith(_IMAGES):
                try:
                    decode_image(read_file(file))
                except PenstockError as error:
                    wrong.append(f"{file}: {error}")
        return wrong

    every = Dataset.from_tensor_slices(_spread(len(labels))).map(lambda row: dataset[int(row)]).map(read)
    return Found("folder of classes", facts, every, "that every image can be decoded", verify)


def _spread(count: int) -> list[int]:
    """Numbers below `count` in an order whose first ones lie far apart: classes are sorted."""
    return [int(number) for number in np.random.default_rng(0).permutation(count)]


def _text(path: Path) -> Found:
    file = measured(str(path))
    lengths = np.diff(PieceFile(file).line_bounds().astype(np.int64))
    facts = [("lines", str(len(lengths))), ("size", format_bytes(file.size))]
    if len(lengths):
        facts.append(("bytes a line", f"{lengths.min()} to {lengths.max()}, median {np.median(lengths):.0f}"))
    checks = "that it is UTF-8"
    return Found("text", tuple(facts), TextLineDataset(path).map(_shown_line), checks, lambda: _not_utf8(path))


def _shown_line(line: bytes) -> str:
    return line.decode("utf-8", "replace")


def _not_utf8(path: Path) -> list[str]:
    try:
        for _ in TextLineDataset(path, encoding="utf-8"):
            pass
    except DecodeError as error:
        return [str(error)]
    return []


def _csv(path: Path) -> Found:
    with path.open(newline="", encoding="utf-8", errors="replace") as file:
        rows = [row for _, row in zip(range(_CSV_ROWS), csv.reader(file, _dialect(path)), strict=False)]
    has_names = bool(rows) and not any(_is_number(value) for value in rows[0])
    names = rows[0] if has_names else [str(number) for number in range(len(rows[0]) if rows else 0)]
    body = [row for row in rows[has_names:] if len(row) == len(names)]
    count = len(PieceFile(measured(str(path))).line_bounds()) - 1 - has_names
    facts = (
        ("lines", f"{count}{' and a header' if has_names else ''}"), ("size", format_bytes(path.stat().st_size)),
        ("columns", ", ".join(names)),
    )  # fmt: skip
    columns = {name: _typed([row[place] for row in body]) for place, name in enumerate(names)}
    dataset = Dataset.from_tensor_slices(columns) if body else Dataset.range(0)

    def verify() -> list[str]:
        wrong = _not_utf8(path)
        with path.open(newline="", encoding="utf-8", errors="replace") as file:
            for number, row in enumerate(csv.reader(file, _dialect(path)), 1):
                if row and len(row) != len(names):
                    wrong.append(f"{path}, row {number}: {len(row)} fields, expected {len(names)}")
        return wrong[:20]

    return Found("CSV", facts, dataset, "that it is UTF-8, and that all rows have as many fields", verify)


def _dialect(path: Path) -> type[csv.Dialect]:
    return csv.excel_tab if path.suffix.lower() == ".tsv" else csv.excel


def _typed(values: list[str]) -> Any:
    for kind in (int, float):
        try:
            return [kind(value) for value in values]
        except ValueError:
            continue
    return values


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _image(path: Path) -> Found:
    facts = (("size", format_bytes(path.stat().st_size)),)

    def verify() -> list[str]:
        from penstock.ops.codecs import decode_image

        try:
            decode_image(read_file(str(path)))
        except PenstockError as error:
            return [str(error)]
        return []

    dataset = Dataset.from_tensors({"content": path.read_bytes()})
    return Found("image", facts, dataset, "that it can be decoded", verify)


def _records(path: Path) -> Found:
    def show(record: bytes) -> Any:
        try:
            return features_of(record)
        except NotAnExampleError:
            return record

    records = TFRecordDataset(path, index=False)
    first = next(iter(records.take(1)), None)
    is_example = isinstance(show(first), dict) if first is not None else False
    facts = [
        ("size", format_bytes(path.stat().st_size)),
        ("records are", "tf.train.Example" if is_example else "bytes"),
    ]

    def verify() -> list[str]:
        with TFRecordDataset(path, index=False, on_error="skip").iterator(0) as found:
            count = sum(1 for _ in found)
            return [skipped.error for skipped in found.skipped] + ([] if count else ["no record can be read"])

    checks = "the CRC-32C of each length and each record"
    return Found("TFRecord", tuple(facts), records, checks, verify, show if is_example else None)


def _is_records(head: bytes) -> bool:
    """Whether it begins with a length and the checksum of it, as TFRecord has it."""
    if len(head) < 12:
        return False
    found = scan_records(np.frombuffer(head[:12], dtype=np.uint8), UNKNOWN_LEFT, verify=False, skips=False)
    return not found.faults and not found.ended


def _read_by(kind: str, make: Callable[[Path], Dataset]) -> Callable[[Path], Found]:
    """For what a source reads whole: its elements are counted where that costs nothing."""

    def found(path: Path) -> Found:
        dataset = make(path)
        count = dataset.cardinality()
        facts = [("elements", str(count))] if count >= 0 else []
        facts.append(("size", format_bytes(path.stat().st_size)))

        def verify() -> list[str]:
            try:
                for _ in dataset.iterator(0):
                    pass
            except PenstockError as error:
                return [str(error)]
            return []

        return Found(kind, tuple(facts), dataset, "that every element can be read", verify)

    return found


def _is_text(head: bytes) -> bool:
    """Whether bytes may be UTF-8 text: a character may be cut at the end."""
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as error:
        return error.start >= len(head) - 3 and len(head) == _HEAD_BYTES
    return True


_BY_HEAD: tuple[tuple[Callable[[bytes], bool], Callable[[Path], Found]], ...] = (
    (lambda head: head.startswith(b"\x93NUMPY"), _array),
    (lambda head: head.startswith(b"PAR1"), _read_by("Parquet", Dataset.from_parquet)),
    (lambda head: head.startswith(b"ARROW1"), _read_by("Arrow IPC", Dataset.from_arrow)),
    (lambda head: head[257:262] == b"ustar", _read_by("tar of samples", Dataset.from_tar)),
    (_is_records, _records),
    (lambda head: head.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n")), _image),
)
