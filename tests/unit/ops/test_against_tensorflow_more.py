"""The ops of colour, geometry and encoding give what tf.image and tf.io give; tolerances beside the checks."""

import numpy as np
import pytest

from penstock import image, io
from tests.unit.kernels.photos import encode, photo, pillow_decode

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.framework

PHOTO = photo()
FLOATS = (PHOTO / 255).astype(np.float32)
DTYPES = [np.uint8, np.float32, np.int16]  # on a CPU TensorFlow takes no float16 here


def _close(ours, theirs, unit=1):
    """Equal but for a last bit of float32, which decides between neighbouring integers."""
    theirs = np.asarray(theirs)
    assert ours.dtype == theirs.dtype
    tolerance = 1e-5 if ours.dtype.kind == "f" else unit
    np.testing.assert_allclose(ours.astype(np.float64), theirs.astype(np.float64), atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    ("name", "amount"),
    [
        ("adjust_contrast", 0.4),
        ("adjust_contrast", 2.5),
        ("adjust_saturation", 0.0),
        ("adjust_saturation", 0.5),
        ("adjust_saturation", 3.0),
        ("adjust_hue", 0.0),
        ("adjust_hue", 0.3),
        ("adjust_hue", -0.7),
        ("adjust_gamma", 0.5),
        ("adjust_gamma", 2.2),
    ],
)
def test_colours_are_adjusted_as_tensorflow_does(name, amount, dtype):
    picture = image.convert_image_dtype(PHOTO, dtype)
    unit = 130 if dtype == np.int16 else 1  # one step of 1 / 255 there is 128
    _close(getattr(image, name)(picture, amount), getattr(tf.image, name)(picture, amount), unit)


def test_contrast_of_a_batch_takes_each_image_for_itself():
    batch = np.stack([FLOATS, FLOATS[::-1] / 2])
    _close(image.adjust_contrast(batch, 1.7), tf.image.adjust_contrast(batch, 1.7))
    np.testing.assert_array_equal(image.adjust_contrast(batch, 1.7)[1], image.adjust_contrast(batch[1], 1.7))


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_grey_and_standardization_are_those_of_tensorflow(dtype):
    picture = image.convert_image_dtype(PHOTO, dtype)
    _close(image.rgb_to_grayscale(picture), tf.image.rgb_to_grayscale(picture))
    _close(image.grayscale_to_rgb(picture[..., :1]), tf.image.grayscale_to_rgb(tf.constant(picture[..., :1])), 0)
    for one in (picture, np.stack([picture, picture[::-1]]), np.full((4, 4, 3), 9, dtype)):
        _close(image.per_image_standardization(one), tf.image.per_image_standardization(one))


def test_places_of_pixels_are_those_of_tensorflow():
    calls = [("flip_up_down",), ("transpose",), *[("rot90", k) for k in range(-1, 6)]]
    calls += [("pad_to_bounding_box", 3, 5, 60, 80), ("pad_to_bounding_box", 0, 0, 48, 64)]
    calls += [("resize_with_crop_or_pad", h, w) for h, w in [(48, 64), (20, 99), (99, 21), (31, 33), (61, 65)]]
    for picture in (PHOTO, np.stack([PHOTO, PHOTO[::-1]])):
        for name, *arguments in calls:
            ours, theirs = getattr(image, name)(picture, *arguments), getattr(tf.image, name)(picture, *arguments)
            np.testing.assert_array_equal(ours, theirs, err_msg=f"{name}{arguments}")
            assert ours.flags.c_contiguous


@pytest.mark.parametrize("method", ["bicubic", "lanczos3", "area"])
@pytest.mark.parametrize("size", [(48, 64), (20, 30), (100, 130), (7, 200), (1, 1), (224, 3)])
def test_resize_by_any_method_gives_what_tensorflow_gives(size, method):
    for picture in (PHOTO, PHOTO[..., :1].astype(np.float32), photo(3, 2)):
        for antialias in (False, True):
            ours = image.resize(picture, size, method, antialias)
            assert ours.dtype == np.float32
            # float32 in another order; on waves, 0.05 of 255
            np.testing.assert_allclose(ours, tf.image.resize(picture, size, method, antialias=antialias), atol=0.05)


@pytest.mark.parametrize("size", [(30, 30), (100, 20), (20, 100), (77, 131), (5, 64)])
@pytest.mark.parametrize("method", ["bilinear", "nearest"])
def test_resize_with_pad_gives_what_tensorflow_gives(size, method):
    ours, theirs = image.resize_with_pad(PHOTO, *size, method), tf.image.resize_with_pad(PHOTO, *size, method)
    assert ours.dtype == theirs.numpy().dtype
    np.testing.assert_allclose(ours, theirs, atol=0.01)


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "float32"])
@pytest.mark.parametrize("form", ["JPEG", "PNG", "BMP", "GIF"])
def test_decode_image_gives_what_tensorflow_gives(form, dtype):
    data = encode(PHOTO, form)
    ours = io.decode_image(data, dtype=dtype)
    theirs = tf.io.decode_image(data, dtype=dtype, expand_animations=False).numpy()
    assert ours.dtype == theirs.dtype
    # JPEG: TensorFlow's default is the fast, inexact transform.
    tolerance = {"uint8": 4, "uint16": 4 * 256, "float32": 4 / 255}[dtype] if form == "JPEG" else 1e-6
    np.testing.assert_allclose(ours.astype(float), theirs.astype(float), atol=tolerance)


def test_extract_jpeg_shape_and_regions_are_those_of_tensorflow():
    for picture in (PHOTO, PHOTO[..., :1]):
        data = encode(picture, "JPEG", quality=92)
        np.testing.assert_array_equal(io.extract_jpeg_shape(data), tf.io.extract_jpeg_shape(data))
        assert io.extract_jpeg_shape(data, np.int64).dtype == np.int64
    data = encode(PHOTO, "JPEG", quality=92)
    theirs = tf.io.decode_and_crop_jpeg(data, [5, 17, 20, 30], dct_method="INTEGER_ACCURATE")
    # Theirs interpolates chroma at the left and right of the region as at the edge of an image.
    np.testing.assert_array_equal(io.decode_and_crop_jpeg(data, [5, 17, 20, 30])[:, 1:-1], theirs[:, 1:-1])


def test_encoded_jpegs_are_as_near_the_picture_as_tensorflow_s():
    for options in (
        {},
        {"quality": 60},
        {"progressive": True},
        {"chroma_downsampling": False},
        {"optimize_size": True},
    ):
        ours = pillow_decode(io.encode_jpeg(PHOTO, **options)).astype(int)
        theirs = pillow_decode(tf.io.encode_jpeg(PHOTO, **options).numpy()).astype(int)
        # another version of the library, and its exact transform: a few levels, seldom
        assert np.abs(ours - theirs).mean() < 0.5
    assert pillow_decode(io.encode_jpeg(PHOTO[..., :1])).shape == (48, 64, 1)


@pytest.mark.parametrize("channels", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_encoded_pngs_hold_the_picture(channels, dtype):
    picture = np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (9, 13, channels)).astype(dtype)
    for compression in (-1, 0, 9):
        data = io.encode_png(picture, compression)
        np.testing.assert_array_equal(tf.io.decode_png(data, dtype=dtype), picture)
        np.testing.assert_array_equal(io.decode_png(data, dtype=dtype), picture)


@pytest.mark.parametrize("quality", [0, 10, 50, 95, 100])
@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("channels", [1, 3])
def test_jpeg_quality_is_that_of_tensorflow(channels, dtype, quality):
    picture = image.convert_image_dtype(PHOTO[..., :channels], dtype)
    ours = image.adjust_jpeg_quality(picture, quality)
    theirs = np.asarray(tf.image.adjust_jpeg_quality(picture, quality))
    assert ours.dtype == theirs.dtype
    assert ours.shape == theirs.shape
    scale = 1 if dtype == np.uint8 else 255
    # The files are equal; TensorFlow then decodes with the fast DCT, which is 1.5 of 255 away from what was encoded.
    assert (np.abs(ours.astype(float) - theirs) * scale).mean() < 2.5
    if dtype == np.uint8:
        file = tf.raw_ops.EncodeJpegVariableQuality(images=picture, quality=max(1, quality)).numpy()
        assert (
            io.encode_jpeg(picture, max(1, quality))[20:] == file[20:]
        )  # but for the pixel density in the JFIF segment
