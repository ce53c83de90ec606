"""Damaged files for as long as asked: `python -m tests.unit.kernels.fuzz jpeg|png|record|example seconds [seed]`.

JPEG: what decodes whole gives the same pixels by region, upright and truncated ones too where that is drawn, and those
of libjpeg-turbo alone; allowing truncation changes nothing of a file that decodes without; what decodes exactly decodes
fast. PNG: what we decode, Pillow decodes to the same pixels, if it decodes it; upright is the stored image turned.
TFRecord: scanned, by index, and through the dataset, packed or not, whole or skipping: what the slow twin finds.
Example: drawn features of damaged records, of Examples and SequenceExamples, packed or not: what the slow twin makes.
Anything but pixels, records or a DecodeError ends the run; the file is left in the temporary folder.
"""

from __future__ import annotations

import gzip
import io
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from PIL import Image

from penstock import Dataset, TFRecordDataset
from penstock.errors import DecodeError
from penstock.kernels import record, reference
from penstock.kernels.fused import fused_images, jpeg_shapes
from penstock.kernels.image import decode_jpeg, decode_png
from tests.unit.kernels.examples import Maker
from tests.unit.kernels.photos import encode, photo
from tests.unit.kernels.test_example import check as check_drawn

LIMIT_PIXELS = 2**20
CODINGS = ({}, {"progressive": True}, {"restart_marker_rows": 1}, {"optimize": True})


def jpegs(random: np.random.Generator) -> list[bytes]:
    def one(coding: dict[str, object]) -> bytes:
        picture = photo(*random.integers(1, 120, 2).tolist(), int(random.choice([1, 3, 3])))
        sampling, quality = int(random.integers(3)), int(random.integers(20, 100))
        return encode(picture, "JPEG", quality=quality, subsampling=sampling, exif=exif(random), **coding)

    inks = Image.fromarray(photo(40, 50)).convert("CMYK")
    return [one(coding) for coding in CODINGS for _ in range(6)] + [
        encode(inks, "JPEG"),
        encode(inks, "JPEG", quality=95),
    ]


def exif(random: np.random.Generator) -> Image.Exif:
    """An orientation, in every second file."""
    segment = Image.Exif()
    if random.integers(2):
        segment[0x0112] = int(random.integers(1, 9))
    return segment


def pngs(random: np.random.Generator) -> list[bytes]:
    modes = ("1", "L", "LA", "P", "RGB", "RGBA")
    return [
        encode(Image.fromarray(photo(*random.integers(1, 60, 2).tolist())).convert(mode), "PNG", exif=exif(random))
        for mode in modes
        for _ in range(4)
    ]


def damaged(files: list[bytes], random: np.random.Generator) -> bytes:
    data = bytearray(files[random.integers(len(files))])
    if data and not random.integers(4):
        del data[int(random.integers(len(data))) :]
    for _ in range(int(random.integers(4)) if data else 0):
        place = int(random.integers(len(data)))
        match random.integers(4):
            case 0:
                data[place] ^= int(random.integers(1, 256))
            case 1:
                del data[max(1, place) : place + int(random.integers(1, 9))]
            case 2:
                data[place:place] = random.bytes(int(random.integers(1, 9)))
            case _:
                data[place % min(len(data), 700)] = int(random.integers(256))
    return bytes(data)


def check_jpeg(data: bytes, random: np.random.Generator) -> bool:
    allow_truncated, oriented = bool(random.integers(2)), bool(random.integers(2))
    whole = _whole(data, allow_truncated, oriented)
    if allow_truncated and (strict := _whole(data, False, oriented)) is not None:
        assert whole is not None
        np.testing.assert_array_equal(whole, strict)
    height, width = jpeg_shapes([data], oriented)[0][0, :2].tolist()
    if whole is not None:
        assert whole.shape == (height, width, 3)
    top, left = int(random.integers(max(1, height))), int(random.integers(max(1, width)))
    rows = min(64, int(random.integers(1, max(2, height - top + 1))))
    columns = min(64, int(random.integers(1, max(2, width - left + 1))))
    out, twin = np.empty((2, 1, rows, columns, 3), np.uint8)
    reading = {"max_pixels": LIMIT_PIXELS, "allow_truncated": allow_truncated, "oriented": oriented}
    given = {**reading, "regions": np.array([[top, left, rows, columns]])}
    failures = fused_images([data], out, **given)
    # libjpeg-turbo may read further below the region than it needs, and find damage there.
    expected = fused_images([data], twin, reference=True, **given)
    if failures or expected == []:
        assert failures == expected
        np.testing.assert_array_equal(out, twin)
    small = np.empty((1, max(1, height // int(random.integers(2, 20))), max(1, width // 5), 3), np.float32)
    scaled = fused_images(
        [data], small, size=small.shape[1:3], max_pixels=LIMIT_PIXELS,
        allow_truncated=allow_truncated, oriented=oriented, fast=True,
    )  # fmt: skip
    assert (scaled == []) == (whole is not None)
    assert -64 <= small.min() <= small.max() <= 320
    if whole is None:
        everything = np.empty((1, max(1, min(height, 200)), max(1, min(width, 200)), 3), np.uint8)
        assert fused_images([data], everything, reference=True, **reading) != []
        return False
    assert failures == []
    everything = np.empty((1, *whole.shape), np.uint8)
    assert fused_images([data], everything, reference=True, **reading) == []
    np.testing.assert_array_equal(everything[0], whole)
    np.testing.assert_array_equal(out[0], whole[top : top + rows, left : left + columns])
    return True


def _whole(data: bytes, allow_truncated: bool, oriented: bool) -> np.ndarray | None:
    try:
        return decode_jpeg(data, 3, LIMIT_PIXELS, allow_truncated=allow_truncated, oriented=oriented)
    except DecodeError:
        return None


def check_png(data: bytes, random: np.random.Generator) -> bool:
    try:
        ours = decode_png(data, 4, limit_pixels=LIMIT_PIXELS)
    except DecodeError:
        return False
    upright = decode_png(data, 4, limit_pixels=LIMIT_PIXELS, oriented=True)
    assert any(
        np.array_equal(upright, np.rot90(flipped, turns)) for flipped in (ours, ours[::-1]) for turns in range(4)
    )
    try:
        image = Image.open(io.BytesIO(data))
        theirs = np.asarray(image.convert("RGBA"))
    except (OSError, SyntaxError, ValueError):
        return True  # Pillow refuses more, or less, than the png crate
    if image.mode in ("1", "L", "LA", "P", "RGB", "RGBA"):  # of 16 bits Pillow keeps other ones
        np.testing.assert_array_equal(ours, theirs)
    return True


def tfrecords(random: np.random.Generator) -> list[bytes]:
    def one(count: int) -> bytes:
        sizes = random.choice([0, 1, 12, 100, 3000], count)
        return b"".join(framed(random.bytes(int(size))) for size in sizes)

    plain = [one(int(count)) for count in random.integers(0, 12, 12)]
    liars = [one(2) + lying(length) + one(1) for length in (2**31, 2**63, 2**64 - 16, 2**64 - 1, 7, 70_000)]
    return [*plain, *liars, *map(gzip.compress, plain[:6]), *map(zlib.compress, plain[:6])]


def framed(data: bytes) -> bytes:
    header, footer = record.frame_record(data)
    return header + data + footer


def lying(length: int) -> bytes:
    """A header that is right, of whatever follows it."""
    said = length.to_bytes(8, "little")
    return said + reference.masked_crc(said).to_bytes(4, "little")


def check_record(data: bytes, random: np.random.Generator) -> bool:
    verify, skips = bool(random.integers(2)), bool(random.integers(2))
    left = [len(data), record.UNKNOWN_LEFT, len(data) // 2][random.integers(3)]
    found = record.scan_records(np.frombuffer(data, np.uint8), left, verify=verify, skips=skips)
    twin = reference.scan_records(data, left, verify=verify, skips=skips)
    assert (found.starts.tolist(), found.stops.tolist()) == (twin.starts.tolist(), twin.stops.tolist())
    assert tuple(found[2:]) == tuple(twin[2:])
    expected = reference.scan_records(data, len(data), verify=verify, skips=skips)
    records = [data[start:stop] for start, stop in zip(expected.starts, expected.stops, strict=True)]
    is_whole = not expected.faults and expected.consumed == len(data)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "file"
        path.write_bytes(data)
        options = {"verify": verify, "on_error": "skip" if skips else "raise"}
        read = partial(TFRecordDataset, path, None, int(random.choice([1, 13, 100, 10_000])), **options)
        assert _elements(read()) == (records, is_whole or skips)
        by_number, was_whole = _elements(TFRecordDataset(path, verify=verify).shuffle(seed=1))
        if not skips:
            assert was_whole == is_whole
            assert not is_whole or sorted(by_number) == sorted(records)
        for kind in ("GZIP", "ZLIB"):
            _elements(TFRecordDataset(path, kind, 100, **options))
    return is_whole


def _elements(dataset: Dataset) -> tuple[list[bytes], bool]:
    """What came, and whether it came to an end without an error."""
    elements: list[bytes] = []
    try:
        elements.extend(dataset)
    except DecodeError:
        return elements, False
    return elements, True


def main() -> None:
    kind, seconds = sys.argv[1], float(sys.argv[2])
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    random = np.random.default_rng(seed)
    make, check = CHECKS[kind]
    files, check_one = make(random), _keeping(check, kind)
    tried = decoded = 0
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        decoded += check_one(damaged(files, random), random)
        tried += 1
    sys.stdout.write(f"{kind}, seed {seed}: {tried} files, {decoded} decoded and equal, {tried - decoded} refused\n")


def serialized(random: np.random.Generator) -> list[bytes]:
    drawn = [Maker(random, oddity).drawn(role) for oddity in (0.0, 0.05) for role in ("batch", "context") * 40]
    return [record for some in drawn for record in some.records if record]


def check_example(data: bytes, random: np.random.Generator) -> bool:
    role, oddity = str(random.choice(["batch", "single", "context"])), float(random.choice([0.0, 0.02, 0.1]))
    drawn = Maker(random, oddity).drawn(role, float(random.choice([0.0, 0.3])))
    if random.integers(2):
        drawn.records = [data]
    return check_drawn(drawn, packed=bool(random.integers(2)))


CHECKS = {
    "jpeg": (jpegs, check_jpeg),
    "png": (pngs, check_png),
    "record": (tfrecords, check_record),
    "example": (serialized, check_example),
}


def _keeping(check: Callable[..., bool], kind: str) -> Callable[..., bool]:
    def checked(data: bytes, random: np.random.Generator) -> bool:
        try:
            return check(data, random)
        except BaseException:
            path = Path(tempfile.gettempdir()) / f"penstock-fuzz.{kind}"
            path.write_bytes(data)
            sys.stderr.write(f"failed on {path}\n")
            raise

    return checked


if __name__ == "__main__":
    main()
