"""Every decoder, every kind of bad file, eager and compiled, raised and skipped: an error that names file and reason.

Never a crash, never memory for what a header claims, never a silently grey image.
"""

from __future__ import annotations

import io
import resource
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from penstock.errors import DecodeError, InvalidArgumentError, UserFunctionError

SIDE = 60_000
SPARE_KB = 150_000


def picture() -> Image.Image:
    generator = np.random.default_rng(3)
    smooth = Image.fromarray(generator.integers(0, 256, (5, 6, 3), dtype=np.uint8))
    return smooth.resize((40, 36), Image.Resampling.BICUBIC)


def encoded(file_format: str, **options: Any) -> bytes:
    buffer = io.BytesIO()
    picture().save(buffer, file_format, **options)
    return buffer.getvalue()


def patched(data: bytes, place: int, new: bytes) -> bytes:
    return data[:place] + new + data[place + len(new) :]


JPEG = encoded("JPEG", quality=90, restart_marker_rows=1)
PROGRESSIVE = encoded("JPEG", quality=90, progressive=True)
PNG = encoded("PNG")
GIF = encoded("GIF")
BMP = encoded("BMP")
WEBP = encoded("WEBP", lossless=True)
LOSSY = encoded("WEBP", quality=90)


def png_chunk(kind: bytes, body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))


def jpeg_bomb(data: bytes) -> bytes:
    frame = max(data.find(b"\xff\xc0"), data.find(b"\xff\xc2"))
    return patched(data, frame + 5, struct.pack(">HH", SIDE, SIDE))


def restarts_swapped(data: bytes) -> bytes:
    place = data.index(b"\xff\xd1") + 1
    return patched(data, place, b"\xd6")


def gif_frame_bomb() -> bytes:
    """A small screen, and a first frame far larger than it."""
    frame = GIF.index(b"\x2c", 13 + 3 * 256)
    return patched(GIF, frame + 5, struct.pack("<HH", SIDE, SIDE))


WEBP_BOMB = patched(WEBP, 21, struct.pack("<I", 16382 | 16382 << 14))
GOOD = {"jpeg": JPEG, "progressive": PROGRESSIVE, "png": PNG, "gif": GIF, "bmp": BMP, "webp": WEBP, "lossy": LOSSY}
BOMBS = {
    "jpeg": jpeg_bomb(JPEG),
    "progressive": jpeg_bomb(PROGRESSIVE),
    "png": PNG[:8] + png_chunk(b"IHDR", struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)) + PNG[33:],
    "gif": patched(GIF, 6, struct.pack("<HH", SIDE, SIDE)),
    "bmp": patched(BMP, 18, struct.pack("<ii", SIDE, SIDE)),
    "webp": WEBP_BOMB,
}
CORRUPT = {
    "jpeg": restarts_swapped(JPEG),
    "progressive": patched(PROGRESSIVE, PROGRESSIVE.index(b"\xff\xc4") + 5, b"\xff" * 16),
    "png": patched(PNG, PNG.index(b"IDAT") + 9, bytes(4)),
    "gif": patched(GIF, GIF.index(b"\x2c", 13 + 3 * 256) + 10, b"\x0d"),
    "bmp": patched(BMP, 28, struct.pack("<H", 7)),
    "webp": patched(WEBP, 20, b"\0"),
}
DECODERS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "decode_jpeg": (lambda x: ps.io.decode_jpeg(x, 3), ("jpeg", "progressive")),
    "decode_jpeg_fast": (lambda x: ps.io.decode_jpeg(x, 3, fidelity="fast"), ("jpeg", "progressive")),
    "decode_jpeg_upright": (lambda x: ps.io.decode_jpeg(x, 3, apply_exif_orientation=True), ("jpeg", "progressive")),
    "decode_and_crop_jpeg": (lambda x: ps.io.decode_and_crop_jpeg(x, (0, 0, 36, 40), 3), ("jpeg", "progressive")),
    "decode_png": (lambda x: ps.io.decode_png(x, 3), ("png",)),
    "decode_image": (lambda x: ps.io.decode_image(x, 3), tuple(GOOD)),
}
KINDS = ("truncated", "cut in its header", "one byte short", "corrupt", "bomb", "empty", "text", "html", "wrong suffix")


def bad_file(kind: str, file_format: str) -> bytes | None:
    """A bad file of `kind`; None where the format has none such."""
    good = GOOD[file_format]
    others: dict[str, bytes | None] = {
        "truncated": good[: 2 * len(good) // 3],
        "cut in its header": good[:20],
        # A GIF without its trailer, after its only frame, lacks nothing of the image.
        "one byte short": None if file_format == "gif" else good[:-1],
        "corrupt": CORRUPT.get(file_format),
        "bomb": BOMBS.get(file_format),
        "empty": b"",
        "text": b"hello, world: this is not an image at all, whatever its name says",
        "html": b"<html><body>404 Not Found</body></html>",
        "wrong suffix": b"%PDF-1.7 " + bytes(100),
    }
    return others[kind]


CASES = [
    pytest.param(name, file_format, kind, id=f"{name}-{file_format}-{kind}")
    for name, (_, formats) in DECODERS.items()
    for file_format in formats
    for kind in KINDS
    if bad_file(kind, file_format) is not None
]


def reason(kind: str) -> str:
    return {
        "truncated": "truncated|corrupt",
        "cut in its header": "truncated|corrupt",
        "one byte short": "truncated|corrupt",
        "corrupt": "corrupt",
        "bomb": r"too large: its header says \d+ x \d+ pixels, the limit is 178956970; raise Options\(max_image_pixels",
        "empty": "empty: 0 bytes",
        "text": "not a .*: starts with 68 65 6c 6c",
        "html": "HTML",
        "wrong suffix": "a PDF",
    }[kind]


def peak_kb() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


@pytest.mark.parametrize(("name", "file_format", "kind"), CASES)
def test_a_bad_file_is_an_error_with_its_reason(name, file_format, kind):
    before = peak_kb()
    with pytest.raises(DecodeError, match=reason(kind)):
        DECODERS[name][0](bad_file(kind, file_format))
    assert peak_kb() - before < SPARE_KB


@pytest.mark.parametrize("reads_in", ["one pass", "two maps"])
@pytest.mark.parametrize(("name", "file_format"), [(name, one) for name in DECODERS for one in DECODERS[name][1]])
def test_bad_files_in_a_pipeline_name_file_and_reason(name, file_format, reads_in, tmp_path: Path):
    decode = DECODERS[name][0]
    good = tmp_path / f"good.{file_format}"
    good.write_bytes(GOOD[file_format])
    kinds = [kind for kind in KINDS if bad_file(kind, file_format) is not None]
    bad = [tmp_path / f"{kind}.{file_format}" for kind in kinds]
    for path, kind in zip(bad, kinds, strict=True):
        path.write_bytes(bad_file(kind, file_format) or b"")
    paths = [str(path) for one in bad for path in (good, one, good)]

    def load(path):
        return ps.image.resize(decode(ps.io.read_file(path)), (5, 6))

    def of(names, **options):
        files = ps.Dataset.from_tensor_slices(np.array(names))
        if reads_in == "one pass":
            return files.map(load, **options)
        return files.map(lambda path: (path, ps.io.read_file(path))).map(
            lambda path, data: ps.image.resize(decode(data), (5, 6)), **options
        )

    before = peak_kb()
    expected = load(str(good))
    iterator = of(paths, on_error="skip").iterator()
    delivered = list(iterator)
    assert len(delivered) == 2 * len(bad)
    assert all(np.array_equal(image, delivered[0]) for image in delivered)
    np.testing.assert_allclose(delivered[0], expected, atol=40 if "fast" in name else 0)
    assert [Path(str(path)).name in entry.origin for path, entry in zip(bad, iterator.skipped, strict=True)] == [
        True
    ] * len(bad)
    for path in bad:
        with pytest.raises(UserFunctionError, match=path.name) as caught:
            list(of([str(good), str(path)]))
        assert isinstance(caught.value.__cause__, DecodeError)
    assert peak_kb() - before < SPARE_KB


def test_a_gif_whose_frame_is_larger_than_its_screen_takes_no_memory():
    before = peak_kb()
    with pytest.raises(DecodeError):
        ps.io.decode_image(gif_frame_bomb(), 3)
    assert peak_kb() - before < SPARE_KB


@pytest.mark.parametrize("executor", ["threads", "inline", "processes"])
def test_the_pixel_limit_of_a_pipeline_is_that_of_its_options(executor):
    def load(data):
        return ps.image.resize(ps.io.decode_jpeg(data, 3), (5, 6))

    files = ps.Dataset.from_tensor_slices(np.array([JPEG] * 3, dtype=object)).map(load, on_error="skip")
    for pixels, count in ((36 * 40, 3), (36 * 40 - 1, 0)):
        options = ps.Options(max_image_pixels=pixels, executor=executor)
        iterator = files.with_options(options).iterator()
        assert len(list(iterator)) == count
        assert len(iterator.skipped) == 3 - count
    assert ps.io.decode_jpeg(JPEG, 3).shape == (36, 40, 3)  # outside, the default


def test_the_pixel_limit_must_be_a_number_above_zero():
    with pytest.raises(InvalidArgumentError, match="max_image_pixels"):
        ps.Options(max_image_pixels=0)


def test_damage_below_the_region_goes_unseen_but_a_missing_end_does_not():
    damaged = restarts_swapped(JPEG)
    region = (0, 0, 4, 40)
    whole = ps.io.decode_jpeg(JPEG, 3)
    np.testing.assert_array_equal(ps.io.decode_and_crop_jpeg(damaged, region, 3), whole[:4])
    with pytest.raises(DecodeError, match="corrupt"):
        ps.io.decode_and_crop_jpeg(damaged, (0, 0, 36, 40), 3)
    for cut in (JPEG[:-2], JPEG[: len(JPEG) - 50]):
        with pytest.raises(DecodeError, match="truncated: no end-of-image marker"):
            ps.io.decode_and_crop_jpeg(cut, region, 3)
        np.testing.assert_array_equal(ps.io.decode_and_crop_jpeg(cut, region, 3, allow_truncated=True), whole[:4])


def test_allow_truncated_gives_what_is_there_in_one_pass_and_one_by_one():
    cut = JPEG[: -len(JPEG) // 5]
    files = ps.Dataset.from_tensor_slices(np.array([JPEG, cut, CORRUPT["jpeg"], b""], dtype=object))

    def load(data):
        return ps.image.resize(ps.io.decode_jpeg(data, 3, allow_truncated=True), (36, 40))

    for compiles in (True, False):
        iterator = files.map(load, on_error="skip", compile=compiles).iterator()
        whole, part = iterator
        assert len(iterator.skipped) == 2
        np.testing.assert_array_equal(whole[:15], part[:15])
        assert not np.array_equal(whole[-1], part[-1])
