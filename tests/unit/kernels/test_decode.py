"""The decoders give Pillow's pixels, and a DecodeError with a reason for anything that is not a whole image."""

import time
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from penstock.errors import DecodeError
from penstock.kernels.image import decode_jpeg, decode_png
from tests.unit.kernels.photos import encode, photo, pillow_decode

JPEG = encode(photo(), "JPEG", quality=90)
PROGRESSIVE = encode(photo(), "JPEG", quality=90, progressive=True)
PNG = encode(photo(), "PNG")


def test_decode_jpeg_takes_an_unknown_jfif_revision():
    odd = JPEG.replace(b"JFIF\0\1\1", b"JFIF\0\0\0", 1)
    assert odd != JPEG
    np.testing.assert_array_equal(decode_jpeg(odd), decode_jpeg(JPEG))
    with pytest.raises(DecodeError, match="truncated"):
        decode_jpeg(odd[: len(odd) // 2])


def test_decode_jpeg_of_a_short_file_that_claims_to_be_large_stops_at_once():
    size = JPEG.index(b"\xff\xc0") + 5
    large = JPEG[:size] + (13_000).to_bytes(2, "big") * 2 + JPEG[size + 4 :]
    cpu_before = time.process_time()
    with pytest.raises(DecodeError, match=r"truncated|corrupt"):
        decode_jpeg(large)
    assert time.process_time() - cpu_before < 0.5  # seconds; made-up pixels would take several


@pytest.mark.parametrize("options", [{}, {"progressive": True}, {"subsampling": 0}, {"restart_marker_rows": 1}])
@pytest.mark.parametrize("shape", [(48, 64, 3), (1, 1, 3), (17, 9, 3), (48, 64, 1)])
def test_decode_jpeg_gives_the_pixels_of_pillow(shape, options):
    data = encode(photo(*shape), "JPEG", quality=92, **options)
    # Two builds of one library may round chroma differently by one; the mean says that they do so rarely.
    difference = np.abs(decode_jpeg(data).astype(int) - pillow_decode(data))
    assert difference.shape == shape
    assert difference.max() <= 2
    assert difference.mean() < 0.05


def test_decode_jpeg_converts_channels():
    grey = encode(photo(channels=1), "JPEG")
    np.testing.assert_array_equal(decode_jpeg(grey, 3), np.repeat(decode_jpeg(grey), 3, axis=-1))
    assert np.abs(decode_jpeg(JPEG, 1).astype(int) - pillow_decode(JPEG, "L")).max() <= 2


def test_decode_jpeg_of_cmyk_is_rgb():
    data = encode(Image.fromarray(photo()).convert("CMYK"), "JPEG", quality=95)
    difference = np.abs(decode_jpeg(data).astype(int) - photo())
    assert difference.mean() < 6  # Pillow's CMYK is lossless here; JPEG is not
    assert decode_jpeg(data, 1).shape == (48, 64, 1)


def test_decode_jpeg_takes_harmless_oddities():
    expected = decode_jpeg(JPEG)
    np.testing.assert_array_equal(decode_jpeg(JPEG + b"trailing"), expected)
    np.testing.assert_array_equal(decode_jpeg(JPEG[:-2] + b"\x00\x00\x00" + JPEG[-2:]), expected)


PNG_MODES = ["1", "L", "LA", "P", "RGB", "RGBA", "I;16"]


@pytest.mark.parametrize("mode", PNG_MODES)
def test_decode_png_gives_the_pixels_of_pillow(mode):
    if mode == "I;16":
        image = Image.fromarray(photo(channels=1)[..., 0].astype(np.uint16) * 251)
        expected = np.asarray(image)[..., None]
        np.testing.assert_array_equal(decode_png(encode(image, "PNG"), 0, wide=True), expected)
        np.testing.assert_array_equal(decode_png(encode(image, "PNG")), (expected >> 8).astype(np.uint8))
        return
    image = Image.fromarray(photo()).convert(mode)
    data = encode(image, "PNG")
    plain = {"1": "L", "P": "RGB"}.get(mode, mode)
    np.testing.assert_array_equal(decode_png(data), pillow_decode(data, plain))
    np.testing.assert_array_equal(decode_png(data, wide=True), decode_png(data).astype(np.uint16) * 257)
    for channels, target in ((3, "RGB"), (4, "RGBA")):
        np.testing.assert_array_equal(decode_png(data, channels), pillow_decode(data, target))
    assert np.abs(decode_png(data, 1).astype(int) - pillow_decode(data, "L")).max() <= 1


def test_decode_png_of_a_transparent_palette_has_four_channels():
    image = Image.fromarray(photo()).convert("P")
    data = encode(image, "PNG", transparency=bytes(range(256)))
    np.testing.assert_array_equal(decode_png(data), pillow_decode(data, "RGBA"))
    np.testing.assert_array_equal(decode_png(data, 3), pillow_decode(data, "RGBA")[..., :3])


def _interlaced_png() -> bytes:
    """A 5 x 3 grey PNG stored by Adam7, written by hand: Pillow writes none."""
    import struct
    import zlib

    image = np.arange(15, dtype=np.uint8).reshape(3, 5) * 17
    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    raw = b"".join(b"\0" + row.tobytes() for t, le, dt, dl in passes for row in image[t::dt, le::dl] if row.size)

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 5, 3, 8, 0, 0, 0, 1)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw)) + chunk(b"IEND", b"")


def test_decode_png_of_an_interlaced_file():
    np.testing.assert_array_equal(decode_png(_interlaced_png())[..., 0], np.arange(15).reshape(3, 5) * 17)


@pytest.mark.parametrize(
    ("decode", "data", "reason"),
    [
        (decode_jpeg, b"", "empty: 0 bytes"),
        (decode_png, b"", "empty: 0 bytes"),
        (decode_jpeg, PNG, r"not a JPEG: starts with 89 50 4e 47 \(a PNG\)"),
        (decode_png, JPEG, r"not a PNG: starts with ff d8 ff e0 \(a JPEG\)"),
        (decode_jpeg, b"<html>", "HTML"),
        (decode_jpeg, b"RIFF0000WEBP", "a WebP"),
        (decode_jpeg, JPEG[:-2], "truncated"),
        (decode_jpeg, JPEG[: len(JPEG) // 2], rf"truncated: .*\({len(JPEG) // 2} bytes\)"),
        (decode_jpeg, b"\xff\xd8\xff", "truncated"),
        (decode_jpeg, PROGRESSIVE[: len(PROGRESSIVE) // 2], "truncated"),
        (decode_png, PNG[: len(PNG) // 2], f"truncated: premature end after {len(PNG) // 2} bytes"),
        (decode_png, PNG[:-4], "truncated"),
    ],
)
def test_decode_of_what_is_no_whole_image_says_why(decode, data, reason):
    with pytest.raises(DecodeError, match=reason):
        decode(data)


@pytest.mark.parametrize(("decode", "data"), [(decode_jpeg, JPEG), (decode_png, PNG)])
def test_decode_refuses_too_many_pixels(decode, data):
    assert decode(data, limit_pixels=48 * 64).shape == (48, 64, 3)
    with pytest.raises(DecodeError, match=r"too large: its header says 64 x 48 pixels, the limit is 3071"):
        decode(data, limit_pixels=48 * 64 - 1)


@pytest.mark.parametrize(("decode", "data"), [(decode_jpeg, JPEG), (decode_jpeg, PROGRESSIVE), (decode_png, PNG)])
def test_decode_of_every_truncation_is_an_error(decode, data):
    for length in range(0, len(data), 7):
        with pytest.raises(DecodeError):
            decode(data[:length])


@pytest.mark.parametrize(("decode", "data"), [(decode_jpeg, JPEG), (decode_jpeg, PROGRESSIVE), (decode_png, PNG)])
@settings(max_examples=150)
@given(changes=st.lists(st.tuples(st.integers(0, 2**16), st.integers(1, 255)), min_size=1, max_size=8))
def test_decode_of_flipped_bytes_decodes_or_says_why(decode, data, changes):
    hostile = bytearray(data)
    for place, flip in changes:
        hostile[place % len(hostile)] ^= flip
    with suppress(DecodeError):
        assert decode(bytes(hostile), limit_pixels=2**20).ndim == 3


@settings(max_examples=150)
@given(st.sampled_from([decode_jpeg, decode_png]), st.sampled_from([JPEG[:20], PNG[:33], b""]), st.binary(max_size=200))
def test_decode_of_noise_decodes_or_says_why(decode, start, noise):
    with suppress(DecodeError):
        assert decode(start + noise, limit_pixels=2**20).ndim == 3
