"""Reading options: files that end early, EXIF orientation, pixel limits; whole, by region and in the fused pass."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image, ImageOps

from penstock.errors import DecodeError
from penstock.kernels.fused import fused_images, jpeg_shapes
from penstock.kernels.image import decode_bitmap, decode_jpeg, decode_jpeg_region, decode_png
from tests.unit.kernels.photos import encode, photo

HEIGHT, WIDTH = 48, 64
CODINGS = ({}, {"progressive": True}, {"subsampling": 0}, {"restart_marker_rows": 1}, {"subsampling": 1})
ORIENTATIONS = range(1, 9)


def turned(orientation: int, file_format: str = "JPEG", **options: object) -> bytes:
    exif = Image.Exif()
    exif[0x0112] = orientation
    return encode(Image.fromarray(photo(HEIGHT, WIDTH)), file_format, exif=exif, **options)


def pillow_upright(data: bytes) -> np.ndarray:
    return np.asarray(ImageOps.exif_transpose(Image.open(io.BytesIO(data))).convert("RGB"))


# --- files that end early --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", CODINGS[:1] + CODINGS[2:])
def test_a_truncated_jpeg_gives_what_is_there_and_grey_below(options):
    data = encode(photo(96, WIDTH), "JPEG", quality=90, **options)
    whole = decode_jpeg(data)
    scan = data.index(b"\xff\xda")
    got = decode_jpeg(data[: (scan + len(data)) // 2], allow_truncated=True)
    same = (got == whole).all(axis=(1, 2))
    assert got.shape == whole.shape
    assert same[:8].all()
    assert not same[-8:].any()
    np.testing.assert_allclose(got[-8:].astype(int), 128, atol=40)  # grey, of the last colour seen
    assert np.ptp(got[-8:].reshape(-1, 3), axis=0).max() == 0


def test_a_truncated_progressive_jpeg_gives_all_rows_with_fewer_details():
    data = encode(photo(HEIGHT, WIDTH), "JPEG", quality=90, progressive=True)
    difference = np.abs(decode_jpeg(data[: len(data) // 2], allow_truncated=True).astype(int) - decode_jpeg(data))
    assert 0 < difference.mean() < 30


@pytest.mark.parametrize("options", CODINGS)
def test_every_cut_gives_an_image_or_says_that_no_pixel_is_there(options):
    data = encode(photo(HEIGHT, WIDTH), "JPEG", **options)
    scan = data.index(b"\xff\xda")
    first = scan + 2 + int.from_bytes(data[scan + 2 : scan + 4], "big")
    for end in range(len(data)):
        if end <= first:
            with pytest.raises(DecodeError):
                decode_jpeg(data[:end], allow_truncated=True)
        else:
            assert decode_jpeg(data[:end], allow_truncated=True).shape == (HEIGHT, WIDTH, 3)
    np.testing.assert_array_equal(decode_jpeg(data[:-2], allow_truncated=True), decode_jpeg(data))


@settings(max_examples=60)
@given(st.sampled_from(range(len(CODINGS))), st.integers(0, 4000), st.integers(0, 47), st.integers(0, 63), st.data())
def test_a_region_of_a_truncated_jpeg_is_that_part_of_it(coding, cut, top, left, data):
    file = encode(photo(HEIGHT, WIDTH), "JPEG", **CODINGS[coding])
    file = file[: len(file) - cut % 1000]
    rows, columns = data.draw(st.integers(1, HEIGHT - top)), data.draw(st.integers(1, WIDTH - left))
    try:
        whole = decode_jpeg(file, allow_truncated=True)
    except DecodeError:
        return
    region = decode_jpeg_region(file, (top, left, rows, columns), allow_truncated=True)
    np.testing.assert_array_equal(region, whole[top : top + rows, left : left + columns])
    out = np.empty((1, rows, columns, 3), np.uint8)
    regions = np.array([[top, left, rows, columns]])
    assert fused_images([file], out, regions=regions, allow_truncated=True) == []
    np.testing.assert_array_equal(out[0], region)


def test_allowing_truncation_allows_no_corruption():
    data = bytearray(encode(photo(HEIGHT, WIDTH), "JPEG", restart_marker_rows=1))
    places = [at for at in range(len(data) - 1) if data[at] == 0xFF and 0xD0 <= data[at + 1] <= 0xD7]
    data[places[1] + 1] ^= 3  # another restart than comes next
    with pytest.raises(DecodeError, match="corrupt"):
        decode_jpeg(bytes(data), allow_truncated=True)
    with pytest.raises(DecodeError, match="corrupt"):
        decode_jpeg(bytes(data))


def test_a_truncated_jpeg_says_what_allows_it():
    data = encode(photo(HEIGHT, WIDTH), "JPEG")
    with pytest.raises(DecodeError, match="truncated: Premature end") as caught:
        decode_jpeg(data[:-100])
    assert "allow_truncated=True" in caught.value.remedy


# --- orientation -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_decode_jpeg_turns_as_pillow_does(orientation):
    data = turned(orientation, quality=92)
    stored = decode_jpeg(data)
    assert stored.shape == (HEIGHT, WIDTH, 3)
    got = decode_jpeg(data, oriented=True)
    expected = pillow_upright(data)
    assert got.shape == expected.shape
    assert np.abs(got.astype(int) - expected).max() <= 2
    assert tuple(jpeg_shapes([data], True)[0][0]) == expected.shape
    assert tuple(jpeg_shapes([data])[0][0]) == stored.shape


@pytest.mark.parametrize("orientation", ORIENTATIONS)
@pytest.mark.parametrize("channels", [1, 3])
def test_a_region_of_a_turned_jpeg_is_one_of_the_upright_image(orientation, channels):
    data = turned(orientation)
    whole = decode_jpeg(data, channels, oriented=True)
    top, left, rows, columns = 5, 9, 21, 30
    expected = whole[top : top + rows, left : left + columns]
    got = decode_jpeg_region(data, (top, left, rows, columns), channels, oriented=True)
    np.testing.assert_array_equal(got, expected)
    out = np.empty((1, rows, columns, channels), np.uint8)
    regions = np.array([[top, left, rows, columns]])
    assert fused_images([data], out, regions=regions, oriented=True, channels=channels) == []
    np.testing.assert_array_equal(out[0], expected)


@pytest.mark.parametrize("orientation", ORIENTATIONS)
def test_png_and_webp_turn_too(orientation):
    for file_format, decode in (("PNG", decode_png), ("WEBP", decode_bitmap)):
        options = {"lossless": True} if file_format == "WEBP" else {}
        data = turned(orientation, file_format, **options)
        np.testing.assert_array_equal(decode(data, 3, oriented=True), pillow_upright(data))
        np.testing.assert_array_equal(decode(data, 3), photo(HEIGHT, WIDTH))
    wide = decode_png(turned(orientation, "PNG"), 3, wide=True, oriented=True)
    np.testing.assert_array_equal(wide, pillow_upright(turned(orientation, "PNG")).astype(np.uint16) * 257)


@given(noise=st.binary(max_size=60))
def test_malformed_exif_counts_as_none(noise):
    data = turned(6)
    start = data.index(b"Exif\0\0") + 6
    hostile = data[:start] + noise[: len(data) - start] + data[start + len(noise) :]
    try:
        image = decode_jpeg(hostile, oriented=True)
    except DecodeError:
        return
    assert sorted(image.shape[:2]) == sorted((HEIGHT, WIDTH))


# --- scaled decoding -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("parts", [2, 4, 8])
@pytest.mark.parametrize("orientation", [1, 3, 6])
def test_fast_reads_a_smooth_image_as_exact_does(parts, orientation):
    rows, columns = np.mgrid[:400, :480]
    smooth = np.stack([rows / 2, columns / 2, (rows + columns) / 4], -1).astype(np.uint8)
    exif = Image.Exif()
    exif[0x0112] = orientation
    data = encode(Image.fromarray(smooth), "JPEG", quality=95, exif=exif)
    region = np.array([[13, 27, 37 * parts + 3, 41 * parts + 5]])
    exact, fast = (np.empty((1, 37, 41, 3), np.float32) for _ in range(2))
    for out, is_fast in ((exact, False), (fast, True)):
        assert fused_images([data], out, regions=region, size=(37, 41), oriented=True, fast=is_fast) == []
    assert np.abs(exact - fast).max() < 3  # the slope is half a grey level a pixel: a shift by a pixel would show
    assert np.abs(exact - fast).mean() < 0.6


def test_fast_is_exact_where_the_target_is_more_than_half():
    data = encode(photo(60, 80), "JPEG")
    exact, fast = (np.empty((1, 31, 40, 3), np.float32) for _ in range(2))
    for out, is_fast in ((exact, False), (fast, True)):
        assert fused_images([data], out, size=(31, 40), fast=is_fast) == []
    np.testing.assert_array_equal(exact, fast)


@settings(max_examples=60)
@given(st.data())
def test_fast_stays_within_the_colours_around(data):
    """Any picture: a value lies between those of its surroundings, and the ringing of eight cosines."""
    height, width = data.draw(st.integers(16, 120)), data.draw(st.integers(16, 120))
    coding = data.draw(st.sampled_from(CODINGS))
    file = encode(photo(height, width), "JPEG", quality=90, **coding)
    target = data.draw(st.integers(1, height // 2)), data.draw(st.integers(1, width // 2))
    exact, fast = (np.empty((1, *target, 3), np.float32) for _ in range(2))
    for out, is_fast in ((exact, False), (fast, True)):
        assert fused_images([file], out, size=target, antialias=True, fast=is_fast) == []
    assert np.abs(exact - fast).max() < 28
