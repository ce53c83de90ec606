"""The fused pass equals the eager kernels applied one after another; a failing row says why and harms no other."""

import math

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import _native
from penstock.kernels import image as kernels
from penstock.kernels import reference
from penstock.kernels.fused import fused_images, fused_pixels, jpeg_shapes, normalize_steps
from penstock.ops.draw import central_region, draw_offsets, draw_resized_crop
from penstock.rng import Rng
from tests.unit.kernels.photos import encode, photo

MEAN, STD = np.array([0.485, 0.456, 0.406]), np.array([0.229, 0.224, 0.225])
JPEG = encode(photo(), "JPEG", quality=90)

# Pillow's numbers: 4:4:4, 4:2:2, 4:2:0; "grey" has one channel.
CODINGS = st.fixed_dictionaries(
    {"quality": st.sampled_from([30, 75, 92, 100]), "subsampling": st.sampled_from([0, 1, 2])},
    optional={"progressive": st.just(True), "restart_marker_rows": st.just(1), "optimize": st.just(True)},
)


@st.composite
def regions(draw, height, width):
    top, left = draw(st.integers(0, height - 1)), draw(st.integers(0, width - 1))
    return top, left, draw(st.integers(1, height - top)), draw(st.integers(1, width - left))


@st.composite
def jpegs(draw, channels=(1, 3, 3)):
    """The bytes of a JPEG of any size, its size and channels."""
    height, width = draw(st.integers(1, 80)), draw(st.integers(1, 80))
    depth = draw(st.sampled_from(channels))
    return encode(photo(height, width, depth), "JPEG", **draw(CODINGS)), (height, width), depth


@settings(max_examples=400)
@given(st.data(), jpegs())
def test_a_decoded_region_equals_decode_then_crop(data, jpeg):
    contents, (height, width), channels = jpeg
    top, left, rows, columns = region = data.draw(regions(height, width))
    out = np.empty((1, rows, columns, channels), np.uint8)
    assert fused_images([contents], out, regions=np.array([region]), channels=channels) == []
    whole = kernels.decode_jpeg(contents, channels)
    np.testing.assert_array_equal(out[0], whole[top : top + rows, left : left + columns])


def _eager(image, name, values, index):
    """One step by the eager kernel."""
    match name:
        case "flip_left_right":
            return kernels.flip_left_right(image) if values[0][index] else image
        case "adjust_brightness" | "adjust_contrast" | "adjust_saturation" | "adjust_hue":
            return getattr(kernels, name)(image, values[0][index])
        case "convert_image_dtype":
            return kernels.convert_image_dtype(image, np.dtype(values[0]), values[1])
        case "affine":
            flat = _native.scale_channels(np.ascontiguousarray(image).reshape(-1), *values)
            return flat.reshape(image.shape)
        case _:
            return reference.fused_image(image, steps=[(name, *values)])


@st.composite
def step_lists(draw, images, channels, dtype):
    """Steps that fit together, and the dtype they end with."""
    steps = []
    factors = st.lists(st.floats(0, 2, width=32), min_size=images, max_size=images)
    deltas = st.lists(st.floats(-0.5, 0.5, width=32), min_size=images, max_size=images)
    numbers = st.lists(st.floats(0.125, 4, width=32), min_size=channels, max_size=channels)
    for _ in range(draw(st.integers(0, 5))):
        names = ["flip_left_right", "round", "adjust_brightness", "adjust_contrast", "convert", "cast", "affine"]
        names += ["adjust_saturation", "adjust_hue"] if channels == 3 else []
        names += ["multiply", "add", "subtract", "divide"] if dtype == "float32" else []
        name = draw(st.sampled_from(names))
        if name == "flip_left_right":
            steps.append((name, draw(st.lists(st.booleans(), min_size=images, max_size=images))))
        elif name == "round":
            steps.append((name,))
            dtype = "uint8"
        elif name in ("adjust_brightness", "adjust_hue"):
            steps.append((name, draw(deltas)))
        elif name in ("adjust_contrast", "adjust_saturation"):
            steps.append((name, draw(factors)))
        elif name == "convert":
            dtype = draw(st.sampled_from(["uint8", "float32"]))
            steps.append(("convert_image_dtype", dtype, draw(st.booleans())))
        elif name == "cast":
            dtype = "float32"
            steps.append((name, dtype))
        elif name == "affine":
            steps.append((name, draw(numbers), draw(numbers)))
            dtype = "float32"
        else:
            steps.append((name, draw(numbers)))
    return steps, dtype


OUT_FLOATS = st.sampled_from([np.float32, np.float16, ml_dtypes.bfloat16])


@st.composite
def jobs(draw):
    """Decoded images, and the arguments of a pass over them."""
    channels = draw(st.sampled_from([1, 3, 3, 4]))
    dtype = draw(st.sampled_from(["uint8", "float32"]))
    images, boxes = [], []
    for _ in range(draw(st.integers(1, 3))):
        height, width = draw(st.integers(4, 30)), draw(st.integers(4, 30))
        images.append(photo(height, width, channels).astype(dtype))
        boxes.append(draw(regions(height, width)))
    size = (draw(st.integers(1, 30)), draw(st.integers(1, 30)))
    if draw(st.booleans()):  # no resize: every region has one size
        size, boxes = None, [(draw(st.integers(0, 1)), draw(st.integers(0, 1)), 3, 2) for _ in images]
    steps, ends = draw(step_lists(len(images), channels, dtype if size is None else "float32"))
    return {
        "images": images,
        "regions": np.array(boxes, np.int32),
        "size": size,
        "antialias": draw(st.booleans()),
        "steps": steps,
        "first": draw(st.booleans()),
        "dtype": np.uint8 if ends == "uint8" else draw(OUT_FLOATS),
    }


def _run_fused(job):
    height, width = job["size"] or (3, 2)
    channels = job["images"][0].shape[-1]
    shape = (channels, height, width) if job["first"] else (height, width, channels)
    out = np.empty((len(job["images"]), *shape), job["dtype"])
    steps = [*job["steps"], ("channels_first",)] if job["first"] else job["steps"]
    options = {key: job[key] for key in ("regions", "size", "antialias")}
    assert fused_pixels(job["images"], out, steps=steps, **options) == []
    return np.moveaxis(out, 1, -1) if job["first"] else out


@settings(max_examples=400)
@given(jobs())
def test_fused_equals_the_eager_kernels_bit_for_bit(job):
    for index, ours in enumerate(_run_fused(job)):
        image = kernels.crop(job["images"][index], *job["regions"][index].tolist())
        if job["size"]:
            image = kernels.resize_bilinear(image, *job["size"], job["antialias"])
        with np.errstate(over="ignore", invalid="ignore"):
            for name, *values in job["steps"]:
                image = _eager(image, name, values, index)
            expected = image.astype(job["dtype"])
        np.testing.assert_array_equal(ours, expected)


@given(
    st.data(),
    st.sampled_from(["adjust_contrast", "adjust_saturation", "adjust_hue", "adjust_gamma"]),
    st.sampled_from([np.uint8, np.float32]),
)
def test_colour_kernels_equal_the_reference(data, name, dtype):
    image = photo(data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20)))
    if dtype == np.float32:
        image = image.astype(np.float32) / 255
    factor = data.draw(st.floats(0, 3, width=32))
    amounts = (factor, 1.2) if name == "adjust_gamma" else (factor,)
    ours, expected = getattr(kernels, name)(image, *amounts), getattr(reference, name)(image, *amounts)
    assert ours.dtype == expected.dtype == dtype
    # uint8 are cut from float32: a last bit decides between neighbours.
    np.testing.assert_allclose(ours.astype(float), expected.astype(float), atol=1 if dtype == np.uint8 else 1e-5)


@given(st.data(), st.sampled_from([np.uint8, np.float32, np.int16]))
def test_grey_and_standardization_equal_the_reference(data, dtype):
    image = photo(data.draw(st.integers(1, 20)), data.draw(st.integers(1, 20)))
    image = kernels.convert_image_dtype(image, np.dtype(dtype))
    np.testing.assert_array_equal(kernels.rgb_to_grayscale(image), reference.rgb_to_grayscale(image))
    ours, expected = kernels.per_image_standardization(image), reference.per_image_standardization(image)
    np.testing.assert_allclose(ours, expected, atol=1e-6 * max(1, float(np.abs(expected).max())))


@given(jpegs(channels=[3]), st.booleans())
def test_a_whole_program_on_jpegs_equals_its_parts(jpeg, antialias):
    contents, (height, width), _ = jpeg
    box = np.array([[height // 4, width // 4, max(1, height // 2), max(1, width // 2)]] * 2)
    steps = [("round",), ("flip_left_right", [False, True]), *normalize_steps(MEAN, STD, "uint8"), ("channels_first",)]
    out = np.empty((2, 3, 12, 17), np.float32)
    given_to_it = {"regions": box, "size": (12, 17), "antialias": antialias, "steps": steps}
    assert fused_images([contents, memoryview(contents)], out, **given_to_it) == []
    resized = kernels.resize_bilinear(kernels.crop(kernels.decode_jpeg(contents, 3), *box[0]), 12, 17, antialias)
    image = np.rint(resized).astype(np.uint8)
    for row, pixels in enumerate([image, image[:, ::-1]]):
        np.testing.assert_array_equal(out[row], np.moveaxis(kernels.normalize(pixels, MEAN, STD), -1, 0))


@given(jobs())
def test_fused_equals_its_slow_twin(job):
    floats = [s for s in job["steps"] if s[0] in ("flip_left_right", "affine", "subtract", "add")]
    job = {**job, "images": [image.astype(np.float32) for image in job["images"]], "steps": floats, "dtype": np.float32}
    for index, ours in enumerate(_run_fused(job)):
        options = {"size": job["size"], "antialias": job["antialias"], "steps": floats, "index": index}
        expected = reference.fused_image(job["images"][index], region=job["regions"][index], **options)
        # 0.01 as for resize_bilinear, scaled by at most 4 to the fifth
        np.testing.assert_allclose(ours, expected, rtol=1e-4, atol=0.01 * 4 ** len(floats))


def test_large_blocks_are_written_past_the_caches_just_the_same():
    images = [photo(90, 90)] * 8
    large = np.empty((8, 400, 400, 3), np.float32)
    small = np.empty((1, 400, 400, 3), np.float32)
    unaligned = np.empty(large.size + 3, np.float32)[3:].reshape(large.shape)
    for out in (large, small, unaligned):
        assert fused_pixels(images[: len(out)], out, size=(400, 400), steps=[("round",), ("cast", "float32")]) == []
    assert large.nbytes > 4 << 20 > small.nbytes
    np.testing.assert_array_equal(large, np.repeat(small, 8, 0))
    np.testing.assert_array_equal(unaligned, large)


def test_failing_rows_say_why_and_leave_zeros():
    out = np.full((6, 8, 8, 3), 7, np.uint8)
    contents = [JPEG, JPEG[: len(JPEG) // 2], b"", JPEG, encode(photo(), "PNG"), JPEG]
    boxes = np.array([[0, 0, 8, 8]] * 6)
    boxes[3] = [41, 0, 8, 8]
    boxes[5] = [-1, 0, 8, 8]
    failures = fused_images(contents, out, regions=boxes)
    assert [row for row, _ in failures] == [1, 2, 3, 4, 5]
    reasons = dict(failures)
    assert "truncated" in reasons[1]
    assert reasons[2] == "empty: 0 bytes"
    assert reasons[3] == "the region 8 x 8 at (41, 0) is not inside 48 x 64"
    assert "a PNG" in reasons[4]
    assert "negative" in reasons[5]
    assert not out[1:].any()
    np.testing.assert_array_equal(out[0], kernels.decode_jpeg(JPEG)[:8, :8])


@pytest.mark.parametrize("kept", range(2, 10))
def test_a_region_of_a_progressive_file_without_its_last_scans_equals_decode_then_crop(kept):
    contents = encode(photo(60, 110), "JPEG", quality=60, progressive=True)
    scans = [at for at in range(len(contents)) if contents[at : at + 2] == b"\xff\xda"]
    contents = contents[: scans[kept]] + b"\xff\xd9"  # no warning: blocks are smoothed with their neighbours
    whole = kernels.decode_jpeg(contents)
    for left in range(0, 100, 7):
        out = np.empty((1, 9, 10, 3), np.uint8)
        assert fused_images([contents], out, regions=np.array([[left // 2, left, 9, 10]])) == []
        np.testing.assert_array_equal(out[0], whole[left // 2 : left // 2 + 9, left : left + 10])


def test_images_that_do_not_fit_their_place_fail():
    out = np.empty((1, 8, 8, 3), np.uint8)
    assert fused_images([JPEG], out) == [(0, "the image is 48 x 64 x 3, its place in the batch 8 x 8 x 3")]
    grey = encode(photo(channels=1), "JPEG")
    assert fused_images([grey], out, regions=np.array([[0, 0, 8, 8]]), channels=0)[0][0] == 0
    assert fused_images([grey], out, regions=np.array([[0, 0, 8, 8]]), channels=3) == []


def test_too_many_pixels_fail_before_memory_is_taken():
    size = JPEG.index(b"\xff\xc0") + 5
    bomb = JPEG[:size] + (60_000).to_bytes(2, "big") * 2 + JPEG[size + 4 :]
    out = np.empty((1, 8, 8, 3), np.uint8)
    ((_, reason),) = fused_images([bomb], out, regions=np.array([[0, 0, 8, 8]]))
    assert reason.startswith("too large: its header says 60000 x 60000 pixels")


def test_a_file_cut_below_the_region_is_truncated_all_the_same():
    contents = encode(photo(400, 64), "JPEG", quality=90)
    out = np.empty((1, 8, 8, 3), np.uint8)
    ((_, reason),) = fused_images([contents[: len(contents) * 9 // 10]], out, regions=np.array([[0, 0, 8, 8]]))
    assert reason.startswith("truncated: no end-of-image marker")
    assert fused_images([contents + b"trailing"], out, regions=np.array([[0, 0, 8, 8]])) == []


@settings(max_examples=300)
@given(
    st.sampled_from([JPEG, encode(photo(), "JPEG", progressive=True), encode(photo(), "JPEG", subsampling=0)]),
    st.integers(0, 2**16),
    st.lists(st.tuples(st.integers(0, 2**16), st.integers(1, 255)), max_size=8),
    regions(48, 64),
)
def test_hostile_bytes_give_pixels_or_a_reason(data, end, changes, region):
    hostile = bytearray(data[: end % (2 * len(data))])
    for place, flip in changes:
        if hostile:
            hostile[place % len(hostile)] ^= flip
    out = np.empty((2, 5, 6, 3), np.float32)
    failures = fused_images([bytes(hostile), JPEG], out, regions=np.array([region] * 2), size=(5, 6), max_pixels=2**20)
    assert all(row == 0 and reason for row, reason in failures)
    assert jpeg_shapes([bytes(hostile)])[0].shape == (1, 3)
    np.testing.assert_array_equal(
        out[1], kernels.resize_bilinear(kernels.crop(kernels.decode_jpeg(JPEG), *region), 5, 6)
    )


@given(jpegs())
def test_jpeg_shapes_are_those_of_the_pixels(jpeg):
    contents, (height, width), channels = jpeg
    shapes, failures = jpeg_shapes([contents, contents[:30], memoryview(contents)])
    assert shapes.dtype == np.int32
    np.testing.assert_array_equal(shapes[[0, 2]], [(height, width, channels)] * 2)
    assert [row for row, _ in failures] == [1]
    assert not shapes[1].any()


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([("blur",)], r"steps\[0\]: not a step"),
        ([("round", 1)], r"steps\[0\]: not a step"),
        ([("multiply", [2.0])], r"steps\[0\] \(multiply\): takes floats, got uint8"),
        ([("affine", [1.0, 2.0], [0.0])], r"2 values, expected 1 or 3"),
        ([("flip_left_right", [True])], r"1 values, expected 2"),
        ([("channels_first",), ("round",)], r"steps\[0\]: not a step"),
        ([("cast", "int32")], "uint8 or float32, not int32"),
    ],
)
def test_steps_that_do_not_fit_are_refused(steps, message):
    with pytest.raises(ValueError, match=message):
        fused_images([JPEG] * 2, np.empty((2, 48, 64, 3), np.uint8), steps=steps)


def test_outputs_that_do_not_fit_are_refused():
    images = [photo(4, 4)]
    with pytest.raises(TypeError, match="float32"):
        fused_pixels(images, np.empty((1, 4, 4, 3), np.float32))
    with pytest.raises(ValueError, match="shares memory"):
        fused_pixels([images[0]], images[0][None])
    with pytest.raises(ValueError, match="C-contiguous"):
        fused_pixels(images, np.empty((1, 4, 4, 6), np.uint8)[..., ::2])
    read_only = np.empty((1, 4, 4, 3), np.uint8)
    read_only.flags.writeable = False
    with pytest.raises(ValueError, match="writable"):
        fused_pixels(images, read_only)
    with pytest.raises(ValueError, match="size"):
        fused_pixels(images, np.empty((1, 4, 4, 3), np.float32), size=(4, 5))


def block_regions(name, ids, args, height, width):
    """The regions that the kernel takes, seen through an image whose pixels are their own places."""
    rows, columns = np.mgrid[0:height, 0:width].astype(np.float32)
    image = np.stack([rows, columns, np.ones_like(rows)], axis=-1)
    out = np.empty((len(ids), 2, 2, 3), np.float32)
    given = (name, *args) if name == "central_crop" else (name, 7, ids, 3, *args)
    failures = fused_pixels([image] * len(ids), out, regions=given, size=(2, 2))
    assert failures == []
    whole = np.empty_like(out)
    return out, lambda boxes: (fused_pixels([image] * len(ids), whole, regions=np.array(boxes), size=(2, 2)), whole)[1]


@settings(max_examples=200)
@given(
    height=st.integers(1, 900),
    width=st.integers(1, 900),
    area=st.tuples(st.floats(0.01, 1.2), st.floats(0.01, 1.2)).map(sorted).map(tuple),
    ratio=st.tuples(st.floats(0.1, 9.0), st.floats(0.1, 9.0)).map(sorted).map(tuple),
    first=st.integers(0, 2**64 - 9),
)
def test_resized_crops_are_those_that_the_op_draws(height, width, area, ratio, first):
    ids = np.arange(8, dtype=np.uint64) + np.uint64(first)
    args = (area, ratio, tuple(math.log(side) for side in ratio))
    ours, of = block_regions("random_resized_crop", ids, args, height, width)
    boxes = [draw_resized_crop(Rng(7, int(number), 3), height, width, area, ratio) for number in ids]
    np.testing.assert_array_equal(ours, of(boxes))


@given(height=st.integers(1, 400), width=st.integers(1, 400), share=st.floats(0.05, 1.0), data=st.data())
def test_other_regions_are_those_of_the_ops(height, width, share, data):
    ids = np.array([3, 2**63 + 5], dtype=np.uint64)
    size = data.draw(st.integers(1, height)), data.draw(st.integers(1, width))
    ours, of = block_regions("random_crop", ids, (size,), height, width)
    drawn = [draw_offsets(Rng(7, int(number), 3), (height, width), size) for number in ids]
    np.testing.assert_array_equal(ours, of([(*offsets, *size) for offsets in drawn]))
    box = central_region(height, width, share)
    if min(box[2:]) > 0:
        ours, of = block_regions("central_crop", ids, (share,), height, width)
        np.testing.assert_array_equal(ours, of([box] * 2))


@pytest.mark.parametrize("regions", [
    ("random_crop", 1, np.zeros(1, np.uint64), 0, (4, 4)),
    ("central_crop", 1.5),
    ("random_crop", 1, np.zeros(2, np.uint64), 0, (1.0, 2.0), (1.0, 2.0), (0.0, 1.0)),
    ("elsewhere", 0.5),
])  # fmt: skip
def test_regions_of_unknown_kind_or_another_number_are_refused(regions):
    with pytest.raises((ValueError, TypeError)):
        fused_images([JPEG] * 2, np.empty((2, 4, 4, 3), np.uint8), regions=regions)


@settings(max_examples=60)
@given(jpeg=jpegs(), data=st.data())
def test_our_decoder_gives_the_pixels_of_libjpeg_turbo(jpeg, data):
    contents, shape = jpeg[0], jpeg_shapes([jpeg[0]])[0][0].tolist()
    box = data.draw(regions(shape[0], shape[1]))
    for channels in (1, 3):
        ours, twin = np.empty((2, 1, *box[2:], channels), np.uint8)
        assert fused_images([contents], ours, regions=np.array([box]), channels=channels) == []
        assert fused_images([contents], twin, regions=np.array([box]), channels=channels, reference=True) == []
        np.testing.assert_array_equal(ours, twin)
