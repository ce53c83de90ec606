"""Fused == single ops, to the last bit, for random image functions on real JPEGs; and what becomes of bad files."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock as ps
from penstock.block.block import Block
from penstock.block.columns import BytesColumn, object_array
from penstock.block.origin import SourceOrigins
from penstock.block.spec import BYTES
from penstock.block.tree import LEAF
from penstock.ops.io import FAST_TOLERANCE
from penstock.ops.program import Program
from penstock.optimize.fuse_images import FUSED, fuse_images
from penstock.testing import assert_same_elements
from penstock.trace.tracer import Call, trace

MEAN, STD = (0.5, 0.4, 0.3), (0.2, 0.25, 0.3)

SIZED = {
    "random_resized_crop": lambda x: ps.image.random_resized_crop(x, (9, 12)),
    "resize": lambda x: ps.image.resize(x, (8, 7)),
    "resize_antialias": lambda x: ps.image.resize(x, [10, 6], antialias=True),
    "random_crop": lambda x: ps.image.random_crop(x, (8, 9, 3)),
    "bounding_box": lambda x: ps.image.crop_to_bounding_box(x, 3, 5, 11, 10),
    "central_then_resize": lambda x: ps.image.resize(ps.image.central_crop(x, 0.6), (8, 8)),
    "crop_then_resize": lambda x: ps.image.resize(ps.image.random_crop(x, (16, 12, 3)), (9, 9)),
}
STEPS = {
    "random_flip": lambda x: ps.image.random_flip_left_right(x),
    "flip": lambda x: ps.image.flip_left_right(x),
    "brightness": lambda x: ps.image.random_brightness(x, 0.2),
    "contrast": lambda x: ps.image.random_contrast(x, 0.6, 1.4),
    "saturation": lambda x: ps.image.random_saturation(x, 0.5, 1.5),
    "hue": lambda x: ps.image.random_hue(x, 0.3),
    "fixed_hue": lambda x: ps.image.adjust_hue(x, -0.4),
    "fixed_contrast": lambda x: ps.image.adjust_contrast(x, 1.2),
    "fixed_brightness": lambda x: ps.image.adjust_brightness(x, -0.1),
    "float": lambda x: x.astype(np.float32),
    "cast": lambda x: ps.cast(x, "float32"),
    "uint8": lambda x: ps.image.convert_image_dtype(x, "uint8", saturate=True),
    "convert": lambda x: ps.image.convert_image_dtype(x, np.float32),
    "normalize": lambda x: ps.image.normalize(x, MEAN, STD),
    "scale": lambda x: x / 255.0,
    "shift": lambda x: x * 2 - 1,
    "half": lambda x: ps.cast(x, "float16"),
    "transpose": lambda x: np.transpose(x, (2, 0, 1)) if x.ndim == 3 and x.shape else x,
}


def photographs(count=9):
    generator = np.random.default_rng(5)
    files = []
    for number in range(count):
        height, width = int(generator.integers(20, 60)), int(generator.integers(20, 60))
        smooth = generator.integers(0, 256, (6, 7, 3), dtype=np.uint8)
        picture = Image.fromarray(smooth).resize((width, height), Image.Resampling.BICUBIC)
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=80 + number, subsampling=number % 3)
        files.append(file.getvalue())
    return files


FILES = photographs()


def image_function(sized, names):
    def function(contents):
        image = SIZED[sized](ps.io.decode_jpeg(contents, channels=3))
        for name in names:
            image = STEPS[name](image)
        return image

    return function


def outcome(dataset):
    elements, error = [], None
    try:
        elements.extend(dataset.iterator(epoch=1))
    except ps.errors.PenstockError as raised:
        error = type(raised).__name__
    return [*elements, str(error)]


@settings(max_examples=60)
@given(
    sized=st.sampled_from(sorted(SIZED)),
    names=st.lists(st.sampled_from(sorted(set(STEPS) - {"transpose"})), max_size=4),
    block_size=st.sampled_from([None, 1, 4]),
)
def test_fused_equals_single_ops(sized, names, block_size):
    function = image_function(sized, names)
    files = ps.Dataset.from_tensor_slices(np.array(FILES, dtype=object))
    fused = files.map(function).with_options(ps.Options(block_size=block_size))
    assert_same_elements(outcome(fused), outcome(files.map(function, compile=False)), f"{sized} {names}")


def block_of(files):
    return Block(LEAF, (BytesColumn(object_array(files), BYTES),), SourceOrigins(0, "files", np.arange(len(files))))


def fused_program(function, rows=FILES):
    block = block_of(rows)
    program = trace([Call(function, key=1)], block, block.origins.ids)
    assert isinstance(program, Program), program
    return fuse_images(program)


def turned(files):
    """The files with an EXIF orientation each, 1 to 8 and on."""
    out = []
    for number, data in enumerate(files):
        exif = Image.Exif()
        exif[0x0112] = 1 + number % 8
        file = io.BytesIO()
        Image.open(io.BytesIO(data)).save(file, "JPEG", quality="keep", exif=exif)
        out.append(file.getvalue())
    return out


TURNED = turned(FILES)
READING = {
    "upright": lambda x: ps.io.decode_jpeg(x, 3, apply_exif_orientation=True),
    "truncated": lambda x: ps.io.decode_jpeg(x, channels=3, allow_truncated=True),
    "both": lambda x: ps.io.decode_jpeg(x, 3, allow_truncated=True, apply_exif_orientation=True),
    "window": lambda x: ps.io.decode_and_crop_jpeg(x, (2, 3, 16, 15), 3),
    "upright_window": lambda x: ps.io.decode_and_crop_jpeg(x, [1, 2, 18, 17], channels=3, apply_exif_orientation=True),
}


@pytest.mark.parametrize("block_size", [None, 1])
@pytest.mark.parametrize("sized", ["random_resized_crop", "resize", "random_crop", "central_then_resize"])
@pytest.mark.parametrize("reading", sorted(READING))
def test_reading_options_fused_equal_single_ops(reading, sized, block_size):
    if "window" in reading and ("crop" in sized or "central" in sized):
        sized = "resize"

    def function(contents):
        return ps.image.random_flip_left_right(SIZED[sized](READING[reading](contents)))

    cut = [data[: len(data) - 40 * number] for number, data in enumerate(TURNED)]
    data = np.array(TURNED if reading in ("upright", "window", "upright_window") else cut, dtype=object)
    files = ps.Dataset.from_tensor_slices(data)
    fused = files.map(function).with_options(ps.Options(block_size=block_size))
    assert_same_elements(outcome(fused), outcome(files.map(function, compile=False)), f"{reading} {sized}")
    assert len(list(fused)) == len(FILES)
    assert [step.op for step in fused_program(function, TURNED).steps] == [FUSED]


def large_photographs(count=6):
    files = []
    for number in range(count):
        smooth = np.random.default_rng(number).integers(0, 256, (9, 12, 3), dtype=np.uint8)
        picture = Image.fromarray(smooth).resize((160 + 31 * number, 150), Image.Resampling.BICUBIC)
        noisy = np.asarray(picture) + np.random.default_rng(number).normal(0, 6, (150, 160 + 31 * number, 3))
        file = io.BytesIO()
        pixels = Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8))
        pixels.save(file, "JPEG", quality=90, subsampling=number % 3, progressive=number % 2 == 1)
        files.append(file.getvalue())
    return turned(files)


LARGE = large_photographs()


@settings(max_examples=15)
@given(
    sized=st.tuples(st.integers(6, 75), st.integers(6, 75), st.just(True))
    | st.tuples(st.integers(40, 75), st.integers(40, 75), st.just(False)),
    is_cropped=st.booleans(),
    block_size=st.sampled_from([None, 1, 4]),
    oriented=st.booleans(),
)
def test_fast_is_within_its_tolerance_of_exact(sized, is_cropped, block_size, oriented):
    """The law of fidelity="fast"; what it is held to is ops.io.FAST_TOLERANCE's to say."""
    size, antialias = sized[:2], sized[2]

    def decoded_by(fidelity, antialias):
        def function(contents):
            image = ps.io.decode_jpeg(contents, 3, fidelity=fidelity, apply_exif_orientation=oriented)
            if is_cropped:
                return ps.image.random_resized_crop(image, size, (0.5, 1.0), antialias=antialias)
            return ps.image.resize(image, size, antialias=antialias)

        return function

    files = ps.Dataset.from_tensor_slices(np.array([*LARGE, b"", *LARGE], dtype=object))
    fast = files.map(decoded_by("fast", antialias), on_error="skip").with_options(ps.Options(block_size=block_size))
    exact = files.map(decoded_by("exact", True), on_error="skip", compile=False)
    for one, other in zip(fast.iterator(epoch=1), exact.iterator(epoch=1), strict=True):
        assert np.abs(one.astype(float) - other).mean() <= FAST_TOLERANCE
    assert_same_elements(outcome(fast.with_options(ps.Options(block_size=3))), outcome(fast), "blocks of fast images")


def test_fast_is_decoded_smaller_when_it_may_be():
    def function(contents):
        return ps.image.resize(ps.io.decode_jpeg(contents, 3, fidelity="fast"), (20, 20))

    files = ps.Dataset.from_tensor_slices(np.array(LARGE, dtype=object))
    assert "decode (fast)" in str(fused_program(function, LARGE))
    single = list(files.map(function, compile=False))
    assert_same_elements(single, list(files.map(lambda x: ps.image.resize(ps.io.decode_jpeg(x, 3), (20, 20)))), "eager")
    assert all((one != other).any() for one, other in zip(files.map(function), single, strict=True))


@pytest.mark.parametrize("sized", sorted(SIZED))
def test_training_functions_become_one_step(sized):
    program = fused_program(image_function(sized, ["random_flip", "normalize"]))
    assert [step.op for step in program.steps] == [FUSED]


def test_a_transpose_to_channels_first_is_taken_in():
    program = fused_program(
        lambda x: ps.image.normalize(ps.image.resize(ps.io.decode_jpeg(x, 3), (8, 8)), MEAN, STD).transpose(2, 0, 1)
    )
    assert [step.op for step in program.steps] == [FUSED]
    assert "channels first" in str(program)


FORMATS = ("JPEG", "PNG", "WEBP", "BMP", "GIF")


def other_files():
    """The photographs in every format, as colour, grey, and with a palette where there is one."""
    files = []
    for number, contents in enumerate(FILES[:5]):
        picture = Image.open(io.BytesIO(contents))
        for name in FORMATS:
            mode = ("RGB", "L", "P")[number % 3] if name in ("PNG", "GIF") else "RGB"
            file = io.BytesIO()
            picture.convert(mode).save(file, name)
            files.append(file.getvalue())
    return files


OTHERS = other_files()
DECODERS = {
    "any": lambda x: ps.io.decode_image(x, channels=3),
    "any upright": lambda x: ps.io.decode_image(x, 3, apply_exif_orientation=True),
    "png": lambda x: ps.io.decode_png(x, channels=3),
    "grey": lambda x: ps.io.decode_png(x, channels=1),
}


@settings(max_examples=30)
@given(
    decoder=st.sampled_from(sorted(DECODERS)),
    sized=st.sampled_from(["random_resized_crop", "resize_antialias", "bounding_box", "central_then_resize"]),
    names=st.lists(st.sampled_from(["random_flip", "brightness", "normalize", "scale", "half"]), max_size=2),
    block_size=st.sampled_from([None, 1, 4]),
)
def test_other_formats_are_fused_too(decoder, sized, names, block_size):
    channels = 1 if decoder == "grey" else 3
    mean, std = MEAN[:channels], STD[:channels]

    def function(contents):
        image = SIZED[sized](DECODERS[decoder](contents))
        for name in names:
            image = ps.image.normalize(image, mean, std) if name == "normalize" else STEPS[name](image)
        return image

    is_any = decoder.startswith("any")
    rows = OTHERS if is_any else OTHERS[1::5]
    assert fused_program(function, rows).steps[0].op == FUSED
    files = ps.Dataset.from_tensor_slices(np.array(rows, dtype=object))
    fused = files.map(function).with_options(ps.Options(block_size=block_size))
    assert_same_elements(outcome(fused), outcome(files.map(function, compile=False)), f"{decoder} {sized} {names}")


def test_a_png_is_no_jpeg_where_a_jpeg_is_asked_for():
    files = ps.Dataset.from_tensor_slices(np.array([OTHERS[0], OTHERS[1]], dtype=object))
    for decode in (ps.io.decode_jpeg, ps.io.decode_png):
        images = files.map(lambda x, decode=decode: ps.image.resize(decode(x, channels=3), (8, 8)), on_error="skip")
        assert len(list(images)) == 1


def test_channels_and_depths_that_vary_are_not_fused():
    for decode in (lambda x: ps.io.decode_png(x), lambda x: ps.io.decode_png(x, 3, "uint16")):
        program = fused_program(lambda x, decode=decode: ps.image.resize(decode(x), (8, 8)), OTHERS[1:2] * 2)
        assert FUSED not in [step.op for step in program.steps]


def path_function(sized, names):
    function = image_function(sized, names)
    return lambda path: function(ps.io.read_file(path))


@settings(max_examples=20)
@given(
    sized=st.sampled_from(sorted(SIZED)),
    names=st.lists(st.sampled_from(sorted(set(STEPS) - {"transpose"})), max_size=2),
    block_size=st.sampled_from([None, 1, 4]),
)
def test_reading_is_part_of_the_pass(file_paths, sized, names, block_size):
    function = path_function(sized, names)
    paths = ps.Dataset.from_tensor_slices(file_paths)
    fused = paths.map(function).with_options(ps.Options(block_size=block_size))
    assert_same_elements(outcome(fused), outcome(paths.map(function, compile=False)), f"{sized} {names}")


@pytest.fixture(scope="module")
def file_paths(tmp_path_factory):
    folder = tmp_path_factory.mktemp("photographs")
    for number, contents in enumerate(FILES):
        (folder / f"{number}.jpg").write_bytes(contents)
    return [str(folder / f"{number}.jpg") for number in range(len(FILES))]


def test_a_read_and_a_decode_become_one_step(file_paths):
    program = fused_program(path_function("random_resized_crop", ["random_flip", "normalize"]), file_paths)
    assert [step.op for step in program.steps] == [FUSED]
    assert "one pass: read, decode random_resized_crop, resize 9 x 12" in str(program)


def test_bytes_that_are_read_for_more_than_an_image_are_kept(file_paths):
    def function(path):
        contents = ps.io.read_file(path)
        return ps.image.resize(ps.io.decode_jpeg(contents, channels=3), (8, 8)), contents

    assert [step.op for step in fused_program(function, file_paths).steps] == ["io.read_file", FUSED]


def test_a_part_of_a_file_is_read_by_itself(file_paths):
    def function(path):
        return ps.image.resize(ps.io.decode_jpeg(ps.io.read_file(path, offset=0), 3), (8, 8))

    program = fused_program(function, file_paths)
    assert [step.op for step in program.steps] == ["io.read_file", FUSED]


@pytest.mark.parametrize("bad", ["missing.jpg", ".", "bad.jpg"])
def test_a_file_that_cannot_be_read_or_decoded_ends_the_pipeline_at_its_element(file_paths, tmp_path, bad):
    (tmp_path / "bad.jpg").write_bytes(BAD["truncated"])
    paths = [*file_paths[:4], str(tmp_path / bad), *file_paths[4:]]
    function = path_function("random_resized_crop", ["normalize"])
    iterator = ps.Dataset.from_tensor_slices(paths).map(function).iterator()
    delivered = [next(iterator) for _ in range(4)]
    assert len(delivered) == 4
    with pytest.raises(ps.errors.UserFunctionError, match="element 4 of from_tensor_slices") as caught:
        next(iterator)
    expected = ps.errors.DecodeError if bad == "bad.jpg" else ps.errors.ReadError
    assert isinstance(caught.value.__cause__, expected)


def test_an_image_used_twice_is_not_fused_away():
    def function(contents):
        image = ps.image.resize(ps.io.decode_jpeg(contents, channels=3), (8, 8))
        return image, ps.image.flip_left_right(image)

    program = fused_program(function)
    assert [step.op for step in program.steps] == [FUSED, "image.flip_left_right"]
    files = ps.Dataset.from_tensor_slices(np.array(FILES, dtype=object))
    assert_same_elements(outcome(files.map(function)), outcome(files.map(function, compile=False)), "used twice")


def test_an_array_before_the_image_is_not_taken_for_it():
    def function(contents):
        image = ps.image.resize(ps.io.decode_jpeg(contents, channels=3), (8, 8))
        return np.multiply(np.array([1, 2, 3], dtype=np.float32), image)

    files = ps.Dataset.from_tensor_slices(np.array(FILES, dtype=object))
    assert_same_elements(outcome(files.map(function)), outcome(files.map(function, compile=False)), "array first")


def test_images_of_varying_size_are_not_fused():
    program = fused_program(lambda x: ps.image.flip_left_right(ps.io.decode_jpeg(x)))
    assert FUSED not in [step.op for step in program.steps]


BAD = {
    "truncated": FILES[0][: len(FILES[0]) // 2],
    "empty": b"",
    "no image": b"hello, world",
    "a header alone": FILES[0][:200],
}


@pytest.mark.parametrize("name", sorted(BAD))
@pytest.mark.parametrize("block_size", [None, 1, 3])
def test_a_bad_file_ends_the_pipeline_at_its_element(name, block_size):
    files = np.array([*FILES[:4], BAD[name], *FILES[4:]], dtype=object)
    dataset = ps.Dataset.from_tensor_slices(files).map(image_function("resize", ["normalize"]))
    iterator = dataset.with_options(ps.Options(block_size=block_size)).iterator()
    delivered = [next(iterator) for _ in range(4)]
    assert len(delivered) == 4
    with pytest.raises(ps.errors.UserFunctionError, match="element 4 of from_tensor_slices") as caught:
        next(iterator)
    assert isinstance(caught.value.__cause__, ps.errors.DecodeError)


def test_bad_files_are_skipped_and_told():
    files = np.array([*FILES, *BAD.values(), *FILES], dtype=object)
    dataset = ps.Dataset.from_tensor_slices(files).map(image_function("random_resized_crop", []), on_error="skip")
    iterator = dataset.iterator()
    assert len(list(iterator)) == 2 * len(FILES)
    assert len(iterator.skipped) == len(BAD)
