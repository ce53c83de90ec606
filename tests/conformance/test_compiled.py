"""Compiled == eager, on every element, for random compositions of what a traced function may do, any block size."""

from __future__ import annotations

import operator
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.block.block import Block
from penstock.block.columns import ArrayColumn
from penstock.block.origin import SourceOrigins
from penstock.block.tree import LEAF, tuple_of
from penstock.ops.program import Program
from penstock.testing import assert_same_elements
from penstock.trace import rules
from penstock.trace.tracer import Call, trace
from tests.conformance.traced import BINARY, EYE, FUNCTIONS, INDEXING, METHODS, small

STEPS = {
    **{f"np.{name}": call for name, call in FUNCTIONS.items()},
    **{f"method.{name}": call for name, call in METHODS.items()},
    **{f"[{name}]": call for name, call in INDEXING.items()},
    "cast": lambda x: ps.cast(x, "int32"),
    "gather": lambda x: ps.gather(EYE, small(x)) if np.ndim(x) < 2 else x,
    "gather_rows": lambda x: ps.gather(x, [0, 1, 0]) if np.ndim(x) else x,
    "one_hot": lambda x: ps.one_hot(small(x), 4) if np.ndim(x) < 3 else x,
    "float": lambda x: ps.cast(x, "float32") / 7,
}
SOURCES = {
    "scalars": np.arange(7),
    "floats": np.linspace(-3, 9, 7),
    "strange": np.array([np.nan, 0.0, -0.0, np.inf, -np.inf, 1e-300, -1.5]),
    "bytes": np.arange(7, dtype=np.uint8) * 40,
    "vectors": np.arange(28, dtype=np.uint8).reshape(7, 4),
    "float_vectors": np.linspace(-9, 9, 35, dtype=np.float32).reshape(7, 5),
    "images": np.arange(7 * 2 * 3 * 2, dtype=np.float32).reshape(7, 2, 3, 2),
    "pixels": (np.arange(7 * 4 * 3 * 3) * 37 % 256).astype(np.uint8).reshape(7, 4, 3, 3),
}


def composed(names, pairing=None):
    """One function of (x, y) built from the tables; branches are decided now, not while it runs."""
    calls = [STEPS[name] for name in names]
    pair = BINARY.get(pairing, lambda x, y: y)

    def function(x, y):
        for call in calls:
            x = call(x)
        return x, pair(y, y * 2)

    return function


def outcome(dataset):
    """What a dataset delivers, and the kind of error that ends it. Not even a warning may differ from eager's."""
    elements, error = [], None
    iterator = dataset.iterator(epoch=0)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            elements.extend(iterator)
    except ps.errors.PenstockError as raised:
        error = type(raised).__name__
    return [*elements, np.bytes_(str(error).encode())]


def recorded_as(name):
    """The name of a function in a program: np.mod is np.remainder."""
    return f"np.{operator.attrgetter(name.removeprefix('np.'))(np).__name__}".replace("np.norm", "np.linalg.norm")


def compare(rows, function, block_size, what):
    options = ps.Options(block_size=block_size, executor="inline")
    compiled = ps.Dataset.from_tensor_slices(rows).map(function).with_options(options)
    eager = ps.Dataset.from_tensor_slices(rows).map(function, compile=False).with_options(options)
    assert_same_elements(outcome(compiled), outcome(eager), what)


@settings(max_examples=100)
@given(
    source=st.sampled_from(sorted(SOURCES)),
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=4),
    pairing=st.sampled_from(sorted(BINARY)),
    block_size=st.sampled_from([None, 1, 2, 3, 100]),
)
def test_compiled_equals_eager(source, names, pairing, block_size):
    rows = (SOURCES[source], SOURCES["scalars"])
    compare(rows, composed(names, pairing), block_size, f"{names} on {source}")


@pytest.mark.parametrize("name", sorted(STEPS))
def test_each_call_alone_equals_eager_and_compiles(name):
    is_traced = False
    for number, (source, values) in enumerate(SOURCES.items()):
        rows = (values, SOURCES["scalars"])
        compare(rows, composed([name]), (None, 3)[number % 2], f"{name} on {source}")
        block = Block(
            tuple_of(LEAF, LEAF), tuple(map(ArrayColumn, rows)), SourceOrigins(0, "rows", np.arange(len(values)))
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            program = trace([Call(composed([name]))], block, block.origins.ids)
        if isinstance(program, Program):
            is_traced = is_traced or not name.startswith("np.") or recorded_as(name) in {s.op for s in program.steps}
    assert is_traced


def test_every_function_of_the_table_is_tried():
    assert {f"np.{name}" for name in FUNCTIONS} == set(rules.FUNCTIONS)
    assert set(METHODS) == set(rules.METHODS)


@given(names=st.lists(st.sampled_from(["np.negative", "np.divide", "np.mod"]), max_size=3), limit=st.integers(-5, 5))
def test_compiled_predicates_keep_the_same_elements(names, limit):
    def predicate(x):
        for name in names:
            x = STEPS[name](x)
        return x > limit

    numbers = ps.Dataset.range(20)
    kept = [int(x) for x in numbers.filter(predicate)]
    assert kept == [x for x in range(20) if predicate(np.int64(x))]


# --- rows of different shapes -----------------------------------------------------------------------------------------


def ragged_rows(kind, count=9):
    for number in range(count):
        length = number % 4 + 1
        if kind == "tokens":
            yield np.arange(length * 3, dtype=np.int64) * number
        else:
            yield np.full((length, 2 + number % 3, 2), number, dtype=np.float32)


@settings(max_examples=60)
@given(
    kind=st.sampled_from(["tokens", "patches"]),
    names=st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=3),
    block_size=st.sampled_from([None, 1, 4]),
)
def test_compiled_equals_eager_on_rows_of_different_shapes(kind, names, block_size):
    spec = ps.Spec((None,), np.int64) if kind == "tokens" else ps.Spec((None, None, 2), np.float32)
    source = ps.Dataset.from_generator(lambda: ragged_rows(kind), output_signature=spec)
    calls = [STEPS[name] for name in names]

    def function(x):
        for call in calls:
            x = call(x)
        return x

    options = ps.Options(block_size=block_size, executor="inline")
    compiled = source.map(function).with_options(options)
    eager = source.map(function, compile=False).with_options(options)
    assert_same_elements(outcome(compiled), outcome(eager), f"{names} on {kind}")


def test_rows_of_different_rank_end_at_the_first_that_differs():
    source = ps.Dataset.from_generator(
        lambda: ragged_rows("patches"), output_signature=ps.Spec((None, None, 2), np.float32)
    )
    got = outcome(source.map(lambda x: x.squeeze()))
    assert_same_elements(got, outcome(source.map(lambda x: x.squeeze(), compile=False)), "squeeze")
    assert len(got) == 2


def test_sides_of_ragged_rows_are_traced():
    @ps.function
    def padded(tokens):
        return np.pad(tokens, (0, 12 - tokens.shape[0])), tokens.shape[0], tokens.sum() / tokens.size

    source = ps.Dataset.from_generator(lambda: ragged_rows("tokens"), output_signature=ps.Spec((None,), np.int64))
    eager = source.map(lambda x: (np.pad(x, (0, 12 - x.shape[0])), x.shape[0], x.sum() / x.size), compile=False)
    assert_same_elements(outcome(source.map(padded).batch(4)), outcome(eager.batch(4)), "padded")
