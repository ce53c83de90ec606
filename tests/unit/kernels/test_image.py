"""Each image kernel equals its slow twin, for any shape, strides and leading axis; tolerances beside the checks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.kernels import image as kernels
from penstock.kernels import reference

SIDES = st.integers(1, 40)
DTYPES = st.sampled_from([np.uint8, np.float32])


@st.composite
def images(draw, dtypes=DTYPES):
    """[h, w, c] or [n, h, w, c], contiguous or not, read-only."""
    leading = draw(st.lists(st.integers(1, 3), max_size=1))
    shape = (*leading, draw(SIDES), draw(SIDES), draw(st.integers(1, 5)))
    dtype = draw(dtypes)
    values = np.random.default_rng(draw(st.integers(0, 99))).integers(0, 256, shape)
    array = values.astype(dtype)
    if draw(st.booleans()):
        array = np.flip(array, draw(st.integers(0, array.ndim - 1)))
    array.flags.writeable = False
    return array


@given(images(), SIDES, SIDES, st.booleans())
def test_resize_bilinear_equals_reference(image, height, width, antialias):
    ours = kernels.resize_bilinear(image, height, width, antialias)
    assert ours.dtype == np.float32
    # float32 against float64: centres near 40 are known to 4e-6, a slope is at most 255 a pixel.
    np.testing.assert_allclose(ours, reference.resize_bilinear(image, height, width, antialias), atol=0.01)


@given(images(st.sampled_from([np.uint8, np.float32, np.int64, np.bool_])), SIDES, SIDES)
def test_resize_nearest_equals_reference(image, height, width):
    ours = kernels.resize_nearest(image, height, width)
    expected = reference.resize_nearest(image, height, width)
    assert ours.dtype == image.dtype
    np.testing.assert_array_equal(ours, expected)


@given(images(st.sampled_from([np.uint8, np.float32, np.float64, np.int16])))
def test_flip_left_right_equals_reference(image):
    np.testing.assert_array_equal(kernels.flip_left_right(image), image[..., ::-1, :])


@given(images(st.sampled_from([np.uint8, np.float32, np.int16])), st.data())
def test_crop_equals_slicing(image, data):
    height, width = image.shape[-3:-1]
    top, left = data.draw(st.integers(0, height - 1)), data.draw(st.integers(0, width - 1))
    rows, columns = data.draw(st.integers(1, height - top)), data.draw(st.integers(1, width - left))
    ours = kernels.crop(image, top, left, rows, columns)
    np.testing.assert_array_equal(ours, image[..., top : top + rows, left : left + columns, :])
    assert ours.flags.c_contiguous
    assert ours.flags.writeable


@given(images(st.sampled_from([np.uint8, np.float32, np.int32])), st.data())
def test_normalize_equals_reference(image, data):
    numbers = st.floats(0.05, 200.0)
    channels = image.shape[-1]
    mean = np.array(data.draw(st.lists(numbers, min_size=channels, max_size=channels)))
    std = np.array(data.draw(st.lists(numbers, min_size=channels, max_size=channels)))
    ours = kernels.normalize(image, mean, std)
    assert ours.dtype == np.float32
    expected = reference.normalize(image, mean, std)
    # One float32 rounding of each of value, mean and quotient; what cancels is as large as (255 + mean) / std.
    np.testing.assert_allclose(ours, expected, atol=3e-7 * float(((255 + mean) / std).max()), rtol=1e-6)


@given(images(st.sampled_from([np.uint8, np.float32, np.int16, np.float16])), st.floats(-2, 2, width=32))
def test_adjust_brightness_equals_reference(image, delta):
    ours = kernels.adjust_brightness(image, delta)
    expected = reference.adjust_brightness(image, delta)
    assert ours.dtype == image.dtype
    np.testing.assert_array_equal(ours, expected)


@given(st.lists(st.floats(width=32), max_size=50), st.booleans())
def test_convert_floats_to_bytes_equals_reference(values, saturate):
    array = np.array(values, np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        expected = reference.convert_image_dtype(array, np.dtype(np.uint8), saturate)
    np.testing.assert_array_equal(kernels.convert_image_dtype(array, np.dtype(np.uint8), saturate), expected)


@given(images(st.just(np.uint8)))
def test_convert_bytes_to_floats_equals_reference(image):
    expected = reference.convert_image_dtype(image, np.dtype(np.float32))
    np.testing.assert_array_equal(kernels.convert_image_dtype(image, np.dtype(np.float32)), expected)


@pytest.mark.parametrize("shape", [(0, 5, 3), (5, 0, 3), (5, 5, 0), (0, 4, 4, 3)])
def test_kernels_take_images_without_pixels(shape):
    image = np.zeros(shape, np.uint8)
    assert kernels.flip_left_right(image).shape == shape
    assert kernels.crop(image, 0, 0, *shape[-3:-1]).shape == shape
    assert kernels.adjust_brightness(image, 0.5).shape == shape


def test_native_refuses_what_the_faces_never_pass():
    from penstock import _native

    image = np.zeros((1, 2, 2, 3), np.uint8)
    with pytest.raises(ValueError, match="not inside"):
        _native.crop(image, 1, 1, 2, 1)
    with pytest.raises(ValueError, match="no pixels"):
        _native.resize_by(image, 0, 1, "bilinear", False)
    with pytest.raises(ValueError, match="more than"):
        _native.resize_nearest(image, 2**40, 2**40)
    with pytest.raises(ValueError, match="do not fit"):
        _native.scale_channels(image.reshape(-1), [1.0] * 5, [0.0] * 5)
