"""Colour, geometry, image files: what TensorFlow has no twin for, draws, and arguments that cannot be taken."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock as ps
from penstock import image, io
from penstock.errors import DecodeError, InvalidArgumentError
from penstock.rng import Rng
from tests.unit.kernels.photos import encode, photo, pillow_decode

PHOTO = photo()


def test_decode_image_of_webp_gives_the_pixels_of_pillow():
    for picture in (Image.fromarray(PHOTO), Image.fromarray(PHOTO).convert("RGBA")):
        data = encode(picture, "WEBP", lossless=True)
        np.testing.assert_array_equal(io.decode_image(data, 3), pillow_decode(data, "RGB"))
    assert (
        np.abs(io.decode_image(encode(PHOTO, "WEBP"), 3).astype(int) - pillow_decode(encode(PHOTO, "WEBP"))).max() < 9
    )


def test_decode_image_of_an_animation_is_its_first_frame():
    frames = [Image.fromarray(np.full((5, 7, 3), value, np.uint8)) for value in (40, 200)]
    data = encode(frames[0], "GIF", save_all=True, append_images=frames[1:])
    np.testing.assert_array_equal(io.decode_image(data), np.full((5, 7, 3), 40))


FILES = {form: encode(PHOTO, form) for form in ("BMP", "GIF", "WEBP", "JPEG", "PNG")}


@pytest.mark.parametrize("form", ["GIF", "WEBP", "BMP"])
def test_decode_image_of_a_cut_file_says_so(form):
    for part in (0.1, 0.5, 0.9):
        with pytest.raises(DecodeError, match=r"truncated|corrupt"):
            io.decode_image(FILES[form][: int(len(FILES[form]) * part)])


@settings(max_examples=200)
@given(st.sampled_from(sorted(FILES)), st.lists(st.tuples(st.integers(0, 2**16), st.integers(1, 255)), max_size=8))
def test_decode_image_of_flipped_bytes_decodes_or_says_why(form, changes):
    hostile = bytearray(FILES[form])
    for place, flip in changes:
        hostile[place % min(len(hostile), 400)] ^= flip
    try:
        assert io.decode_image(bytes(hostile)).ndim == 3
    except DecodeError as error:
        assert str(error)  # noqa: PT017  either outcome is right


def test_decode_image_refuses_what_is_no_image():
    with pytest.raises(DecodeError, match="a PDF"):
        io.decode_image(b"%PDF-1.7")
    with pytest.raises(DecodeError, match="empty"):
        io.decode_image(b"")
    with pytest.raises(DecodeError, match="not a JPEG"):
        io.extract_jpeg_shape(FILES["PNG"])
    with pytest.raises(DecodeError, match="not inside 48 x 64"):
        io.decode_and_crop_jpeg(FILES["JPEG"], (40, 0, 9, 9))


def test_cutout_fills_a_rectangle_as_far_as_it_fits():
    filled = image.cutout(PHOTO, (4, 6), (1, 62), 7)
    assert (filled[:3, 59:] == 7).all()
    np.testing.assert_array_equal(filled[3:], PHOTO[3:])
    np.testing.assert_array_equal(filled[:, :59], PHOTO[:, :59])
    np.testing.assert_array_equal(image.cutout(PHOTO, (2, 2), (-5, -5)), PHOTO)


RANDOM = [
    lambda rng: image.random_contrast(PHOTO, 0.2, 1.8, rng=rng),
    lambda rng: image.random_saturation(PHOTO, 0.2, 1.8, rng=rng),
    lambda rng: image.random_hue(PHOTO, 0.5, rng=rng),
    lambda rng: image.random_jpeg_quality(PHOTO, 5, 95, rng=rng),
    lambda rng: image.random_cutout(PHOTO, (8, 8), rng=rng),
]


@pytest.mark.parametrize("augment", RANDOM)
def test_random_ops_repeat_with_the_stream_and_vary_with_it(augment):
    assert augment(Rng(1)).tobytes() == augment(Rng(1)).tobytes()
    assert len({augment(Rng(key)).tobytes() for key in range(10)}) > 8  # close factors may cut to the same bytes


def test_random_flip_up_down_flips_one_in_two():
    flips = sum(not np.array_equal(image.random_flip_up_down(PHOTO, rng=Rng(key)), PHOTO) for key in range(400))
    assert 150 < flips < 250


BAD_CALLS = [
    (lambda: image.adjust_saturation(PHOTO[..., :1], 1.0), "adjust_saturation: not RGB"),
    (lambda: image.adjust_hue(PHOTO, 1.5), "adjust_hue: delta"),
    (lambda: image.random_hue(PHOTO, 0.6), "random_hue: max_delta"),
    (lambda: image.adjust_jpeg_quality(PHOTO, 101), "adjust_jpeg_quality: jpeg_quality"),
    (lambda: image.random_jpeg_quality(PHOTO, 50, 50), "random_jpeg_quality: bounds"),
    (lambda: image.adjust_jpeg_quality(PHOTO[..., :2], 50), "no JPEG holds it"),
    (lambda: image.random_contrast(PHOTO, 1.0, 1.0), "random_contrast: bounds"),
    (lambda: image.random_saturation(PHOTO[None], 0.5, 1.0), "several images at once"),
    (lambda: image.adjust_gamma(PHOTO, -1), "adjust_gamma: gamma"),
    (lambda: image.grayscale_to_rgb(PHOTO), "not grey"),
    (lambda: image.pad_to_bounding_box(PHOTO, 1, 0, 48, 64), "does not fit"),
    (lambda: image.resize_with_pad(PHOTO, 0, 5), "not a size"),
    (lambda: io.decode_image(FILES["JPEG"], 4), "channels of a JPEG"),
    (lambda: io.decode_image(FILES["JPEG"], dtype=np.int32), "decode_image: dtype"),
    (lambda: io.decode_and_crop_jpeg(FILES["JPEG"], (0, 0, 5)), "crop_window"),
    (lambda: io.encode_jpeg(PHOTO.astype(np.float32)), "no JPEG holds it"),
    (lambda: io.encode_jpeg(PHOTO, quality=0), "quality"),
    (lambda: io.encode_png(PHOTO.astype(np.int64)), "no PNG holds it"),
    (lambda: io.encode_png(PHOTO, 10), "encode_png: compression"),
]


@pytest.mark.parametrize(("call", "what"), BAD_CALLS)
def test_bad_arguments_are_refused(call, what):
    with pytest.raises(InvalidArgumentError, match=what):
        call()


def test_gather_looks_up_rows_and_refuses_what_is_outside():
    table = np.arange(12).reshape(4, 3)
    np.testing.assert_array_equal(ps.gather(table, [[0, 3]]), table[[[0, 3]]])
    np.testing.assert_array_equal(ps.gather(table, np.int32(2)), table[2])
    for indices in (-1, 4, [0, 9]):
        with pytest.raises(InvalidArgumentError, match="outside the table"):
            ps.gather(table, indices)
    with pytest.raises(InvalidArgumentError, match="no integers"):
        ps.gather(table, 1.5)


def test_one_hot_marks_the_place_and_nothing_for_another():
    np.testing.assert_array_equal(ps.one_hot([1, 0, 7, -1], 3), [[0, 1, 0], [1, 0, 0], [0, 0, 0], [0, 0, 0]])
    assert ps.one_hot(2, 4).dtype == np.float32
    assert ps.one_hot(np.zeros((2, 3), int), 5, dtype="uint8").shape == (2, 3, 5)
    with pytest.raises(InvalidArgumentError, match="depth"):
        ps.one_hot(1, -1)


class TheirFloat32:
    """A dtype as TensorFlow has it."""

    as_numpy_dtype = np.float32


def test_dtypes_of_tensorflow_are_taken():
    their = TheirFloat32()
    results = (
        ps.cast(3, their),
        ps.one_hot(1, 4, dtype=their),
        image.convert_image_dtype(PHOTO, their),
        io.decode_raw(b"\0\0\x80?", their),
        io.decode_image(encode(Image.fromarray(PHOTO), "PNG"), dtype=their),
    )
    assert [result.dtype for result in results] == [np.float32] * 5
