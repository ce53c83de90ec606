"""Maps joined into one program, and programs after any rules, give what single Python calls give."""

from __future__ import annotations

import io

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

import penstock as ps
from penstock.graph.nodes import Chain
from penstock.graph.walk import nodes_of
from penstock.optimize.order import RULE_NAMES
from penstock.session import prepare
from penstock.testing import assert_same_elements

MEAN, STD = [0.5, 0.4, 0.3], [0.2, 0.3, 0.25]


def jpegs(count=6):
    generator = np.random.default_rng(2)
    files = []
    for number in range(count):
        smooth = generator.integers(0, 256, (4, 5, 3), dtype=np.uint8)
        picture = Image.fromarray(smooth).resize((20 + number * 5, 30 - number), Image.Resampling.BICUBIC)
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=90)
        files.append(file.getvalue())
    return files


FILES = jpegs()
STEPS = {
    "flip": lambda image, label: (ps.image.flip_left_right(image), label),
    "random_flip": lambda image, label: (ps.image.random_flip_left_right(image), label + 1),
    "up_down": lambda image, label: (ps.image.random_flip_up_down(image), label),
    "turn": lambda image, label: (ps.image.rot90(image), label),
    "transpose": lambda image, label: (ps.image.transpose(image), label),
    "central": lambda image, label: (ps.image.central_crop(image, 0.6), label),
    "box": lambda image, label: (ps.image.crop_to_bounding_box(image, 1, 2, 6, 5), label),
    "crop": lambda image, label: (ps.image.random_crop(image, (6, 5, 3)), label),
    "crop_or_pad": lambda image, label: (ps.image.resize_with_crop_or_pad(image, 9, 8), label),
    "resize": lambda image, label: (ps.image.resize(image, (8, 7)), label),
    "area": lambda image, label: (ps.image.resize(image, (8, 7), "area"), label),
    "bicubic": lambda image, label: (ps.image.resize(image, (11, 9), method="bicubic", antialias=True), label),
    "lanczos": lambda image, label: (ps.image.resize(image, (7, 9), "lanczos3"), label),
    "nearest": lambda image, label: (ps.image.resize(image, (8, 7), method="nearest"), label),
    "resized_crop": lambda image, label: (ps.image.random_resized_crop(image, (7, 7)), label),
    "float": lambda image, label: (ps.cast(image, "float32"), label * 2),
    "astype": lambda image, label: (image.astype(np.float32), label),
    "half": lambda image, label: (image.astype(np.float16), label),
    "double": lambda image, label: (image.astype(np.float64), label),
    "uint8": lambda image, label: (ps.image.convert_image_dtype(image, np.uint8, saturate=True), label),
    "unit": lambda image, label: (ps.image.convert_image_dtype(image, np.float32), label),
    "scale": lambda image, label: (image / 255, label),
    "centre": lambda image, label: ((image - 127.5) / np.float32(127.5), label),
    "channels": lambda image, label: (image * np.array([1, 2, 3], dtype=np.float32), label),
    "normalize": lambda image, label: (ps.image.normalize(image, MEAN, STD), label),
    "normalize_alike": lambda image, label: (ps.image.normalize(image, 0.5, 0.25), label),
    "brightness": lambda image, label: (ps.image.random_brightness(image, 0.1), label),
    "drop_image": lambda image, label: (np.stack([label, label]), label),
    "number": lambda image, label: (image, 3),
    "python_number": lambda image, label: (image, label.shape[0] if label.ndim else 4),
    "swap": lambda image, label: (image[::-1], label[None] if np.ndim(label) == 0 else label[0]),
}
RANDOM_STEPS = {
    "noise": lambda image, label, rng: (image * rng.uniform(0.5, 1), label),
    "label": lambda image, label, rng: (image, label + rng.integers(5)),
    "drawn_number": lambda image, label, rng: (image, rng.random()),
    "given": lambda image, label, rng: (ps.image.random_crop(image, (6, 5, 3), rng=rng), label),
    "given_later": lambda image, label, rng: (
        image,
        label + rng.integers(3) * 0 + np.sum(ps.image.random_crop(image, (6, 5, 3), rng)),
    ),
}


def decode(contents):
    return ps.io.decode_jpeg(contents, channels=3), np.int64(7)


def pipeline(names, *, compiles=True, single=False):
    """`single`: all steps in one function, as far as they draw from no stream of their own."""
    files = ps.Dataset.from_tensor_slices(np.array(FILES, dtype=object))
    if single:
        calls = [STEPS[name] for name in names]

        def function(contents):
            image, label = decode(contents)
            for call in calls:
                image, label = call(image, label)
            return image, label

        return files.map(function, compile=compiles)
    dataset = files.map(decode, compile=compiles)
    for name in names:
        if name in STEPS:
            dataset = dataset.map(STEPS[name], compile=compiles)
        else:
            dataset = dataset.random_map(RANDOM_STEPS[name], compile=compiles)
    return dataset


def outcome(dataset, options):
    elements, error = [], None
    try:
        elements.extend(dataset.with_options(options).iterator(epoch=1))
    except ps.errors.PenstockError as raised:
        error = type(raised).__name__
    return [*elements, np.bytes_(str(error).encode())]


@settings(max_examples=100)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS) + sorted(RANDOM_STEPS)), min_size=1, max_size=5),
    skipped=st.frozensets(st.sampled_from(RULE_NAMES), max_size=3),
    block_size=st.sampled_from([None, 1, 4]),
)
def test_joined_maps_equal_single_calls(names, skipped, block_size):
    options = ps.Options(block_size=block_size, executor="inline", skip_rules=skipped)
    got = outcome(pipeline(names), options)
    expected = outcome(pipeline(names, compiles=False), ps.Options(executor="inline"))
    assert_same_elements(got, expected, f"{names} without {sorted(skipped)}")


@settings(max_examples=60)
@given(
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=6),
    skipped=st.frozensets(st.sampled_from(RULE_NAMES), max_size=3),
)
def test_one_function_equals_its_calls_under_any_rules(names, skipped):
    got = outcome(pipeline(names, single=True), ps.Options(executor="inline", skip_rules=skipped))
    expected = outcome(pipeline(names, single=True, compiles=False), ps.Options(executor="inline"))
    assert_same_elements(got, expected, f"{names} without {sorted(skipped)}")


# --- what joins -------------------------------------------------------------------------------------------------------


def joined(dataset):
    (chain,) = [node for node in nodes_of(prepare(dataset._node).plan.graph) if isinstance(node, Chain)]
    return chain.joined


def test_adjacent_maps_join_up_to_a_filter():
    numbers = ps.Dataset.range(9).map(lambda x: x + 1).map(lambda x: x * 2)
    assert joined(numbers) == ((0, 2),)
    assert joined(numbers.filter(lambda x: x > 3).map(lambda x: x)) == ((0, 2),)
    assert joined(numbers.map(lambda x: x if x > 2 else -x)) == ((0, 3),)


def test_maps_that_may_drop_elements_or_promise_or_opt_out_stay_alone():
    numbers = ps.Dataset.range(9).map(lambda x: x + 1)
    assert joined(numbers.map(lambda x: x, on_error="skip").map(lambda x: x * 2)) == ()
    assert joined(numbers.map(lambda x: x, output_signature=ps.Spec((), np.int64)).map(lambda x: x * 2)) == ((0, 2),)
    assert joined(numbers.map(lambda x: x, compile=False).map(lambda x: x * 2)) == ()


def test_maps_that_do_not_trace_together_run_apart():
    dataset = ps.Dataset.range(9).map(lambda x: np.stack([x, x])).map(lambda x: x if x[0] > 3 else -x)
    assert [int(x[1]) for x in dataset] == [0, -1, -2, -3, 4, 5, 6, 7, 8]


# --- what nothing reads is not done -----------------------------------------------------------------------------------

BROKEN = [*FILES[:3], b"no jpeg", *FILES[3:]]


def labelled(contents):
    return ps.io.decode_jpeg(contents), 1


def label_only(image, label):
    return label


@pytest.mark.parametrize("block_size", [1, 2, None])
def test_what_a_later_map_drops_is_not_decoded(block_size):
    files = ps.Dataset.from_tensor_slices(np.array(BROKEN, dtype=object)).with_options(
        ps.Options(block_size=block_size)
    )
    assert len(list(files.map(labelled).map(label_only))) == len(BROKEN)
    with pytest.raises(ps.errors.UserFunctionError, match="element 3 of"):
        list(files.map(labelled).map(label_only).with_options(ps.Options(skip_rules={"join_maps"})))
    with pytest.raises(ps.errors.UserFunctionError, match="element 3 of"):
        list(files.map(labelled).map(label_only).with_options(ps.Options(skip_rules={"drop_unused_steps"})))


def test_what_the_same_function_drops_is_not_decoded():
    files = ps.Dataset.from_tensor_slices(np.array(BROKEN, dtype=object))
    assert len(list(files.map(lambda contents: label_only(*labelled(contents))))) == len(BROKEN)


def test_elements_that_may_be_skipped_are_decoded_whoever_reads_them():
    files = ps.Dataset.from_tensor_slices(np.array(BROKEN, dtype=object))
    iterator = files.map(labelled, on_error="skip").map(label_only).iterator()
    assert len(list(iterator)) == len(FILES)
    assert len(iterator.skipped) == 1
    single = files.map(lambda contents: label_only(*labelled(contents)), on_error="skip").iterator()
    assert len(list(single)) == len(FILES)


def test_a_failure_in_joined_maps_names_the_map_and_the_element():
    files = ps.Dataset.from_tensor_slices(np.array(BROKEN, dtype=object))
    first = files.map(labelled)
    line = first._node.location.line
    iterator = first.map(lambda image, label: (ps.image.resize(image, (4, 4)), label)).iterator()
    for _ in range(3):
        next(iterator)
    with pytest.raises(ps.errors.UserFunctionError, match=f"{line}, element 3 of"):
        next(iterator)
