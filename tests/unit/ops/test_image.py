"""The image ops: what they give for one element, and what they say of arguments they cannot take."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import image
from penstock.errors import InvalidArgumentError
from penstock.ops.draw import draw_resized_crop
from penstock.rng import Rng, element_scope

PHOTO = np.random.default_rng(0).integers(0, 256, (6, 8, 3), dtype=np.uint8)


def test_random_ops_repeat_with_the_stream_and_vary_with_it():
    def augment(rng):
        picture = image.random_flip_left_right(PHOTO, rng=rng)
        picture = image.random_brightness(picture, 0.3, rng=rng)
        picture = image.random_crop(picture, (4, 5, 3), rng=rng)
        return image.random_resized_crop(picture, (3, 3), rng=rng).tobytes()

    assert augment(Rng(1)) == augment(Rng(1))
    assert len({augment(Rng(key)) for key in range(20)}) == 20


def test_random_ops_take_one_stream_a_call_in_call_order():
    with element_scope(5, lambda: np.array([77], np.uint64)) as scope:
        first, second = image.random_crop(PHOTO, (2, 2, 3)), image.random_resized_crop(PHOTO, (4, 4))
        assert scope.op == 2
    np.testing.assert_array_equal(first, image.random_crop(PHOTO, (2, 2, 3), rng=Rng(5, 77, 0)))
    np.testing.assert_array_equal(second, image.random_resized_crop(PHOTO, (4, 4), rng=Rng(5, 77, 1)))


def test_random_flip_flips_one_in_two():
    flips = sum(not np.array_equal(image.random_flip_left_right(PHOTO, rng=Rng(key)), PHOTO) for key in range(400))
    assert 150 < flips < 250  # five deviations of a fair coin


def test_random_crop_reaches_every_place():
    value = np.arange(12).reshape(3, 4)
    corners = {int(image.random_crop(value, (2, 2), rng=Rng(key))[0, 0]) for key in range(200)}
    assert corners == {0, 1, 2, 4, 5, 6}


@given(st.integers(0, 2**64 - 1), st.integers(1, 300), st.integers(1, 300))
def test_drawn_crops_lie_inside_the_image(key, height, width):
    top, left, rows, columns = draw_resized_crop(Rng(key), height, width, (0.08, 1.0), (3 / 4, 4 / 3))
    assert 0 <= top <= top + rows <= height
    assert 0 <= left <= left + columns <= width
    assert rows > 0
    assert columns > 0


def test_drawn_crops_have_the_area_and_ratio_asked_for():
    crops = [draw_resized_crop(Rng(key), 400, 500, (0.2, 0.6), (0.5, 2.0)) for key in range(500)]
    shares = np.array([crop.height * crop.width / 200_000 for crop in crops])
    ratios = np.array([crop.width / crop.height for crop in crops])
    assert 0.19 < shares.min() < 0.22
    assert 0.58 < shares.max() < 0.61
    assert abs(shares.mean() - 0.4) < 0.02
    assert abs(np.log(ratios).mean()) < 0.08


def test_drawn_crop_of_a_strip_falls_back_to_its_centre():
    assert draw_resized_crop(Rng(0), 10, 1000, (0.9, 1.0), (3 / 4, 4 / 3)) == (0, 493, 10, 13)
    assert draw_resized_crop(Rng(0), 1000, 10, (0.9, 1.0), (3 / 4, 4 / 3)) == (493, 0, 13, 10)


def test_random_resized_crop_is_a_crop_resized():
    top, left, height, width = draw_resized_crop(Rng(3), 6, 8, (0.08, 1.0), (3 / 4, 4 / 3))
    expected = image.resize(PHOTO[top : top + height, left : left + width], (5, 4))
    np.testing.assert_array_equal(image.random_resized_crop(PHOTO.astype(np.float32), (5, 4), rng=Rng(3)), expected)


def test_random_resized_crop_keeps_uint8_and_rounds():
    exact = image.random_resized_crop(PHOTO.astype(np.float32), (5, 4), rng=Rng(3))
    cropped = image.random_resized_crop(PHOTO, (5, 4), rng=Rng(3))
    assert cropped.dtype == np.uint8
    np.testing.assert_array_equal(cropped, np.rint(exact))


def test_normalize_takes_one_number_or_one_per_channel():
    np.testing.assert_allclose(image.normalize(PHOTO, 0.5, 0.25), (PHOTO / 255 - 0.5) / 0.25, atol=1e-5)
    mean, std = [0.4, 0.5, 0.6], [0.1, 0.2, 0.3]
    np.testing.assert_allclose(image.normalize(PHOTO[None], mean, std)[0], (PHOTO / 255 - mean) / std, atol=1e-5)


def test_cast_takes_dtypes_and_names():
    assert image.cast([1.9, -1.9], "int32").tolist() == [1, -1]
    assert image.cast(PHOTO, np.float32).dtype == np.float32
    assert image.cast(3, "bfloat16").dtype == ml_dtypes.bfloat16


def test_ops_leave_their_input_alone():
    frozen = PHOTO.copy()
    frozen.flags.writeable = False
    for result in (
        image.flip_left_right(frozen),
        image.adjust_brightness(frozen, 0.2),
        image.central_crop(frozen, 1.0),
        image.convert_image_dtype(frozen, np.uint8),
        image.resize(frozen, (6, 8), "nearest"),
        image.random_crop(frozen, frozen.shape),
    ):
        assert not np.shares_memory(result, frozen)
    np.testing.assert_array_equal(frozen, PHOTO)


BAD_CALLS = [
    (lambda: image.resize(PHOTO[..., 0], (2, 2)), "resize: not an image", "grey image needs an axis"),
    (lambda: image.resize(PHOTO, (0, 2)), "resize: not a size", "(height, width), both at least 1"),
    (lambda: image.resize(PHOTO, (2, 2, 2)), "resize: not a size", "(2, 2, 2)"),
    (lambda: image.resize(PHOTO, (2, 2), "cubic"), "resize: an unknown method", "'cubic'"),
    (lambda: image.resize(PHOTO[:0], (2, 2)), "resize: an image without pixels", "(0, 8, 3)"),
    (lambda: image.resize(PHOTO.astype("S1"), (2, 2)), "resize: not numbers", "|S1"),
    (lambda: image.flip_left_right(PHOTO[0]), "flip_left_right: not an image", "(8, 3)"),
    (lambda: image.random_flip_left_right(PHOTO[None]), "several images at once", "map it before batch"),
    (lambda: image.central_crop(PHOTO, 1.5), "central_crop: not a fraction", "1.5"),
    (lambda: image.crop_to_bounding_box(PHOTO, 4, 0, 3, 3), "a region not inside the image", "inside 6 x 8"),
    (lambda: image.crop_to_bounding_box(PHOTO, -1, 0, 3, 3), "a region not inside the image", "(-1, 0)"),
    (lambda: image.random_crop(PHOTO, (7, 2, 3)), "a size that does not fit", "(7, 2, 3)"),
    (lambda: image.random_crop(PHOTO, (2, 2)), "a size that does not fit", "one number per axis"),
    (lambda: image.random_resized_crop(PHOTO, (2, 2), area_range=(0.5, 0.1)), "area_range", "(0.5, 0.1)"),
    (lambda: image.random_resized_crop(PHOTO, (2, 2), aspect_ratio_range=(0, 1)), "aspect_ratio_range", "0 < low"),
    (lambda: image.random_brightness(PHOTO, -0.1), "a negative max_delta", "-0.1"),
    (lambda: image.normalize(PHOTO, [0.5, 0.5], 1.0), "mean does not fit the image", "(2,)"),
    (lambda: image.normalize(PHOTO, 0.5, 0.0), "normalize: std", "numbers above 0"),
    (lambda: image.convert_image_dtype(PHOTO > 3, np.uint8), "not numbers", "bool"),
    (lambda: image.cast("words", np.float32), "cast: values that cannot be converted", "float32"),
]


@pytest.mark.parametrize(("call", "what", "detail"), BAD_CALLS)
def test_bad_arguments_say_what_was_got_and_expected(call, what, detail):
    with pytest.raises(InvalidArgumentError) as caught:
        call()
    assert what in str(caught.value)
    assert detail in str(caught.value)
