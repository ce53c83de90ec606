"""`random_map` compiled == eager: what is drawn for an element is the same, in whatever way and with whatever block."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.block.block import Block
from penstock.block.columns import ArrayColumn
from penstock.block.origin import SourceOrigins
from penstock.block.tree import LEAF
from penstock.ops.program import Program
from penstock.testing import assert_same_elements
from penstock.trace.tracer import Call, Untraced, trace

WEIGHTS = np.array([1.0, 2.0, 3.0], dtype=np.float32)

DRAWS = {
    "random": lambda x, rng: x + rng.random(),
    "random_size": lambda x, rng: x.astype(np.float32) + rng.random(size=(2, 1)).sum(),
    "uniform": lambda x, rng: x * rng.uniform(-2, 3),
    "uniform_bounds": lambda x, rng: x * rng.uniform(low=0.5, high=np.float32(2)),
    "uniform_by_value": lambda x, rng: x + rng.uniform(0, np.max(abs(x)) + 1),
    "integers": lambda x, rng: x + rng.integers(100),
    "integers_range": lambda x, rng: x - rng.integers(-5, 5, size=3).max(),
    "integers_of_uint8": lambda x, rng: np.mod(x, 100).astype(np.uint8) + rng.integers(3),
    "normal": lambda x, rng: x + rng.normal(),
    "normal_size": lambda x, rng: x + np.mean(rng.normal(3.0, 0.1, size=4)),
    "permutation": lambda x, rng: x + rng.permutation(4)[0],
    "permutation_of_constant": lambda x, rng: x + rng.permutation(WEIGHTS)[-1],
    "choice": lambda x, rng: x * rng.choice(3),
    "choice_of_constant": lambda x, rng: x * rng.choice(WEIGHTS),
    "choice_size": lambda x, rng: x + rng.choice(9, size=4).sum(),
    "choice_without": lambda x, rng: x + rng.choice(WEIGHTS, size=2, replace=False).sum(),
    "twice": lambda x, rng: x + rng.random() + rng.random() * 2,
    "numbers": lambda x, rng: x * (2 * rng.random() - 1) ** 2 + (rng.integers(5) + 1) / 7,
    "python_numbers": lambda x, rng: x + -abs(rng.integers(-9, 9) * 10**15) * 1000 % 7 + rng.integers(4) // 3,
    "condition": lambda x, rng: np.where(rng.random() < 0.5, x, x / 2),
    "condition_of_number": lambda x, rng: x + np.where(rng.random() < 0.5, rng.random(), 0.0),
    "clip": lambda x, rng: np.clip(x, rng.uniform(-1, 0), rng.uniform(1, 2)),
    "ufunc_of_numbers": lambda x, rng: x + np.sqrt(rng.random()) + np.maximum(rng.integers(3), rng.random()),
    "comparison": lambda x, rng: x + ((rng.integers(3) >= 1) & (rng.random() < 0.7)),
    "result": lambda x, rng: np.stack([x, x * 0 + rng.integers(7)]),
}
NUMBERS = {
    "float64": np.linspace(-3, 9, 11),
    "float32": np.linspace(-3, 9, 11, dtype=np.float32),
    "int64": np.arange(11),
    "vectors": np.arange(22, dtype=np.float32).reshape(11, 2),
}


def same(dataset, function, options):
    run = ps.Options(seed=3).merged(options)
    compiled = list(dataset.random_map(function).with_options(run).iterator(epoch=2))
    eager = list(dataset.random_map(function, compile=False).with_options(run).iterator(epoch=2))
    assert_same_elements(compiled, eager, "")


@settings(max_examples=80)
@given(
    source=st.sampled_from(sorted(NUMBERS)),
    names=st.lists(st.sampled_from(sorted(DRAWS)), min_size=1, max_size=4),
    block_size=st.sampled_from([None, 1, 3]),
)
def test_compiled_random_map_equals_eager(source, names, block_size):
    calls = [DRAWS[name] for name in names]

    def function(x, rng):
        for call in calls:
            x = call(x, rng)
        return x, rng.random(), rng.integers(5, size=2)

    dataset = ps.Dataset.from_tensor_slices(NUMBERS[source])
    same(dataset, function, ps.Options(block_size=block_size, executor="inline"))


def program(function, values=NUMBERS["vectors"]):
    block = Block(LEAF, (ArrayColumn(values),), SourceOrigins(0, "rows", np.arange(len(values))))
    return trace([Call(function, takes_rng=True, key=5)], block, block.origins.ids)


@pytest.mark.parametrize("name", sorted(DRAWS))
def test_each_draw_compiles(name):
    found = program(DRAWS[name])
    assert isinstance(found, Program), found
    assert any(step.op.startswith("rng.") for step in found.steps)


def test_places_in_the_stream_follow_one_another():
    found = program(lambda x, rng: (rng.random(), rng.integers(9, size=3), rng.normal(), rng.permutation(5), x))
    assert [step.draw.position for step in found.steps] == [0, 2, 8, 12]


@pytest.mark.parametrize(
    ("function", "fragment"),
    [
        (lambda x, rng: x + rng.random(size=rng.integers(1, 4)).sum(), "the size of rng.random"),
        (lambda x, rng: x[0] if rng.random() < 0.5 else x[1], "numpy.where"),
        (lambda x, rng: rng.permutation(x[x > -9])[0] + rng.random(), "draws again"),
        (lambda x, rng: x + rng, "TracedRng"),
        (lambda x, rng: (x, rng), "returns its random stream"),
        (lambda x, rng: x + sum(rng.random() for _ in range(rng.integers(1, 3))), "index"),
    ],
)
def test_a_number_of_draws_that_depends_on_data_is_told(function, fragment):
    found = program(function)
    assert isinstance(found, Untraced), found
    assert fragment in found.reason
    dataset = ps.Dataset.from_tensor_slices(NUMBERS["vectors"])
    if "stream" not in fragment and "Rng" not in fragment:
        same(dataset, function, ps.Options())


@settings(max_examples=30)
@given(
    st.lists(st.sampled_from(["flip", "crop", "brightness", "own", "contrast"]), min_size=1, max_size=4), st.booleans()
)
def test_image_ops_draw_from_the_stream_they_are_given(names, last):
    steps = {
        "flip": lambda image, rng: ps.image.random_flip_left_right(image, rng),
        "crop": lambda image, rng: ps.image.random_crop(ps.image.resize(image, (5, 6)), (4, 4, 3), rng=rng),
        "brightness": lambda image, rng: ps.image.random_brightness(image, 0.2, rng=rng),
        "contrast": lambda image, rng: ps.image.random_contrast(image, 0.5, 1.5, rng),
        "own": lambda image, rng: ps.image.random_flip_up_down(image),
    }
    calls = [steps[name] for name in names]

    def function(image, rng):
        for call in calls:
            image = call(image, rng)
        image = image * rng.uniform(0.5, 1.0)
        return ps.image.random_resized_crop(image, (3, 3), rng=rng) if last else image

    images = (np.arange(9 * 6 * 5 * 3) % 251).astype(np.uint8).reshape(9, 6, 5, 3)
    assert isinstance(program(function, images), Program)
    same(ps.Dataset.from_tensor_slices(images), function, ps.Options(block_size=4))


def test_an_op_that_draws_as_it_needs_ends_what_is_known_of_the_stream():
    images = np.zeros((3, 6, 5, 3), dtype=np.uint8)
    found = program(lambda x, rng: ps.image.random_resized_crop(x, (3, 3), rng=rng) + rng.random(), images)
    assert isinstance(found, Untraced)
    assert "draws again" in found.reason


def test_random_map_may_be_kept_from_compiling_and_told_to():
    numbers = ps.Dataset.range(5)
    assert "is under compile=False" in numbers.random_map(lambda x, rng: x, compile=False).explain()
    assert len(list(numbers.random_map(ps.function(lambda x, rng: x + rng.random())))) == 5


@pytest.mark.parametrize("executor", ["threads", "processes", "inline"])
def test_random_map_is_the_same_wherever_it_runs(executor):
    def function(x, rng):
        return x + rng.random(), rng.integers(1000, size=3)

    dataset = ps.Dataset.range(50).shuffle().random_map(function).batch(7)
    expected = ps.Dataset.range(50).shuffle().random_map(function, compile=False).batch(7)
    got = dataset.with_options(ps.Options(executor=executor)).iterator(epoch=1)
    assert_same_elements(list(got), list(expected.iterator(epoch=1)), executor)
