"""The ops give what tf.image and tf.io give; where they differ on purpose, the test says so."""

import numpy as np
import pytest

from penstock import image, io
from tests.unit.kernels.photos import encode, photo

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.framework

PHOTO = photo()
SIZES = [((48, 64), (20, 30)), ((48, 64), (100, 130)), ((375, 500), (224, 224)), ((7, 5), (1, 1)), ((1, 1), (5, 5))]


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize(("source", "size"), SIZES)
def test_resize_gives_what_tensorflow_gives(source, size, dtype):
    picture = np.random.default_rng(1).integers(0, 256, (*source, 3)).astype(dtype)
    for antialias in (False, True):
        # float32 sums in another order: 0.01 of 255 on noise, the hardest picture.
        theirs = tf.image.resize(picture, size, antialias=antialias)
        np.testing.assert_allclose(image.resize(picture, size, antialias=antialias), theirs, atol=0.01)
    theirs = tf.image.resize(picture, size, method="nearest")
    np.testing.assert_array_equal(image.resize(picture, size, "nearest"), theirs)
    theirs = tf.image.resize(picture, size, preserve_aspect_ratio=True)
    assert image.resize(picture, size, preserve_aspect_ratio=True).shape == theirs.shape


@pytest.mark.parametrize("delta", [-0.3, 0.1, 0.9])
@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32])
def test_adjust_brightness_gives_what_tensorflow_gives(dtype, delta):
    picture = image.convert_image_dtype(PHOTO, dtype)
    np.testing.assert_array_equal(image.adjust_brightness(picture, delta), tf.image.adjust_brightness(picture, delta))


DTYPES = [np.uint8, np.int8, np.uint16, np.int16, np.int32, np.float32, np.float64]


@pytest.mark.parametrize("target", DTYPES)
@pytest.mark.parametrize("source", DTYPES)
def test_convert_image_dtype_gives_what_tensorflow_gives(source, target):
    picture = image.convert_image_dtype(PHOTO, source)
    for saturate in (False, True):
        ours = image.convert_image_dtype(picture, target, saturate)
        theirs = tf.image.convert_image_dtype(picture, target, saturate=saturate).numpy()
        assert ours.dtype == theirs.dtype
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("fraction", [0.1, 0.33, 0.5, 0.875, 1.0])
def test_central_crop_gives_what_tensorflow_gives(fraction):
    np.testing.assert_array_equal(image.central_crop(PHOTO, fraction), tf.image.central_crop(PHOTO, fraction))


def test_decode_jpeg_gives_what_tensorflow_gives():
    data = encode(PHOTO, "JPEG", quality=92)
    # TensorFlow's default is the fast, inexact transform; the accurate one is ours.
    np.testing.assert_array_equal(io.decode_jpeg(data), tf.io.decode_jpeg(data, dct_method="INTEGER_ACCURATE"))


@pytest.mark.parametrize("channels", [0, 3, 4])
@pytest.mark.parametrize("dtype", ["uint8", "uint16"])
def test_decode_png_gives_what_tensorflow_gives(channels, dtype):
    for picture in (PHOTO, PHOTO[..., :1], np.dstack([PHOTO, PHOTO[..., :1]])):
        data = encode(picture, "PNG")
        theirs = tf.io.decode_png(data, channels=channels, dtype=dtype)
        np.testing.assert_array_equal(io.decode_png(data, channels, dtype), theirs)
