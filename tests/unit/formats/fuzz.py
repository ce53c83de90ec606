"""Damaged tar shards for as long as asked: `python -m tests.unit.formats.fuzz seconds [seed]`.

Whole archives of three dialects, plain and packed, with bytes changed, cut, put in and left out, and with headers that
claim any size or kind under a checksum that fits. Streamed and by position they give the same samples, or both a
DecodeError; what `on_error="skip"` leaves out is told. Anything else ends the run; the file is left in the temporary
folder.
"""

from __future__ import annotations

import gzip
import io
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from penstock import Dataset, Options
from penstock.errors import DecodeError

DIALECTS = (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT)
INLINE = Options(executor="inline")


def shard(random: np.random.Generator) -> bytes:
    """A whole archive, with a long name and attributes here and there."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=DIALECTS[random.integers(3)]) as tar:
        for number in range(int(random.integers(1, 6))):
            folder = "d" * int(random.choice([0, 3, 90])) + "/"
            for field in ("jpg", "cls"):
                info = tarfile.TarInfo(f"{folder}{number}.{field}".lstrip("/"))
                info.size = int(random.choice([0, 1, 511, 512, 700]))
                tar.addfile(info, io.BytesIO(random.bytes(info.size)))
    return out.getvalue()


def damaged(data: bytes, random: np.random.Generator) -> bytes:
    changed = bytearray(data)
    for _ in range(int(random.integers(1, 4))):
        place = int(random.integers(max(1, len(changed))))
        match random.integers(6):
            case 0:
                del changed[place:]
            case 1:
                changed[place : place + 1] = random.bytes(1)
            case 2:
                del changed[place : place + int(random.choice([1, 512]))]
            case 3:
                changed[place:place] = random.bytes(int(random.choice([1, 512])))
            case _:
                _claim(changed, place // 512 * 512, random)
    return bytes(changed)


def _claim(changed: bytearray, start: int, random: np.random.Generator) -> None:
    """Another size or kind in the header at `start`, and the checksum of it."""
    if len(changed) < start + 512:
        return
    if random.integers(2):
        small = b"%011o\0" % random.integers(5000)
        sizes = [b"77777777777\0", b"\x80" + random.bytes(11), b"\xff" * 12, small, b" " * 12]
        changed[start + 124 : start + 136] = sizes[random.integers(len(sizes))]
    else:
        changed[start + 156] = int(random.choice(list(b"0157LKxgXSV\0")))
    changed[start + 148 : start + 156] = b" " * 8
    changed[start + 148 : start + 156] = b"%06o\0 " % sum(changed[start : start + 512])


def outcome(dataset: Any) -> tuple[list[Any], str | None]:
    """The samples, and the error that ended them, without its place in the program."""
    samples: list[Any] = []
    try:
        samples.extend(dataset)
    except DecodeError as error:
        return samples, error.what
    return samples, None


def check(path: Path) -> str:
    """What became of a file. Raises: AssertionError, or whatever is no DecodeError."""
    try:
        dataset = Dataset.from_tar(path).with_options(INLINE)
    except DecodeError:
        return "refused"
    samples, fault = outcome(dataset)
    if path.suffix == ".tar":
        try:
            assert outcome(dataset[:]) == (samples, fault)
        except DecodeError:  # the index reads all headers before the first sample is given
            assert fault is not None
    iterator = iter(Dataset.from_tar(path, on_error="skip").with_options(INLINE))
    kept = list(iterator)
    assert (len(iterator.skipped) > 0) == (fault is not None)
    assert kept[: len(samples)] == samples
    return "whole" if fault is None else "told"


def main() -> None:
    seconds, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
    random = np.random.default_rng(seed)
    folder = Path(tempfile.gettempdir())
    counts: dict[str, int] = {}
    slowest = 0.0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        data = damaged(shard(random), random)
        is_packed = not random.integers(4)
        path = folder / f"penstock-fuzz-{seed}{'.tgz' if is_packed else '.tar'}"
        path.write_bytes(gzip.compress(data, 1) if is_packed else data)
        began = time.process_time()
        kind = check(path)
        slowest = max(slowest, time.process_time() - began)
        counts[kind] = counts.get(kind, 0) + 1
    sys.stdout.write(f"{sum(counts.values())} files: {counts}; slowest {slowest:.2f} CPU s\n")


if __name__ == "__main__":
    main()
