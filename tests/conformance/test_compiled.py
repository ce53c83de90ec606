"""Compiled == eager, on every element, for random compositions of what a traced function may do, any block size."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.testing import assert_same_elements

UNARY = {
    "neg": lambda x: -x,
    "abs": lambda x: abs(x),
    "astype": lambda x: x.astype(np.float32),
    "half": lambda x: x / 2,
    "mod": lambda x: x % 5,
    "floor": lambda x: x // 3,
    "sum": lambda x: np.sum(x, axis=-1, keepdims=True) if np.ndim(x) else x + 1,
    "mean": lambda x: x.mean(),
    "exp": lambda x: np.exp(x / 100),
    "sqrt": lambda x: np.sqrt(abs(x)),
    "clip": lambda x: np.clip(x, 2, 40),
    "square": lambda x: x * x,
    "flip": lambda x: x[::-1] if np.ndim(x) else x,
    "newaxis": lambda x: x[..., None],
    "flatten": lambda x: x.reshape(-1),
    "stack": lambda x: np.stack([x, x]),
    "cast": lambda x: ps.cast(x, "int32"),
}
BINARY = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: y - x,
    "mul": lambda x, y: x * y,
    "where": lambda x, y: np.where(x > y, x, y),
    "maximum": lambda x, y: np.maximum(x, y),
    "less": lambda x, y: x < y,
}
SOURCES = {
    "scalars": np.arange(7),
    "floats": np.linspace(-3, 9, 7),
    "vectors": np.arange(28, dtype=np.uint8).reshape(7, 4),
    "images": np.arange(7 * 2 * 3 * 2, dtype=np.float32).reshape(7, 2, 3, 2),
}


def composed(names, pairing):
    """One function of (x, y) built from the table; branches are decided now, not while it runs."""

    def function(x, y):
        for name in names:
            x = UNARY[name](x)
        return x, BINARY[pairing](y, y * 2)

    return function


@given(
    source=st.sampled_from(sorted(SOURCES)),
    names=st.lists(st.sampled_from(sorted(UNARY)), max_size=4),
    pairing=st.sampled_from(sorted(BINARY)),
    block_size=st.sampled_from([None, 1, 2, 3, 100]),
)
def test_compiled_equals_eager(source, names, pairing, block_size):
    function = composed(names, pairing)
    rows = (SOURCES[source], SOURCES["scalars"])
    compiled = ps.Dataset.from_tensor_slices(rows).map(function).with_options(ps.Options(block_size=block_size))
    eager = ps.Dataset.from_tensor_slices(rows).map(function, compile=False)
    assert_same_elements(outcome(compiled), outcome(eager), f"{names} on {source}")


def outcome(dataset):
    """What a dataset delivers, and the kind of error that ends it."""
    elements, error = [], None
    iterator = dataset.iterator(epoch=0)
    try:
        elements.extend(iterator)
    except ps.errors.PenstockError as raised:
        error = type(raised).__name__
    return [*elements, np.bytes_(str(error).encode())]


@given(names=st.lists(st.sampled_from(["neg", "half", "mod", "floor"]), max_size=3), limit=st.integers(-5, 5))
def test_compiled_predicates_keep_the_same_elements(names, limit):
    def predicate(x):
        for name in names:
            x = UNARY[name](x)
        return x > limit

    numbers = ps.Dataset.range(20)
    kept = [int(x) for x in numbers.filter(predicate)]
    assert kept == [x for x in range(20) if predicate(np.int64(x))]
