"""Padded batches against tf.data's: rows of any lengths and ranks, any padded shapes, any nest."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import PenstockError
from tests.differential.twins import Twin, assert_twins_agree, plain

pytestmark = [pytest.mark.framework, pytest.mark.slow]

DTYPES = ("int64", "int32", "float32", "uint8", "bool")
LEAVES: tuple[tuple[Any, Any], ...] = (
    *(((None,), dtype) for dtype in DTYPES),
    ((), "int64"),
    ((3,), "float32"),
    ((None, 2), "int64"),
    ((2, None), "int32"),
    ((None, None), "float64"),
    ((None,), "bytes"),
    ((), "bytes"),
)


def row(rng: np.random.Generator, shape: tuple[Any, ...], dtype: str) -> Any:
    sizes = tuple(int(rng.integers(0, 5)) if size is None else size for size in shape)
    if dtype == "bytes":
        text = np.array([b"ab"[: int(n)] for n in rng.integers(0, 3, int(np.prod(sizes)))], dtype=object)
        return text.reshape(sizes) if sizes else text[0]
    return rng.integers(0, 2 if dtype == "bool" else 9, sizes).astype(dtype)


def rows_twin(tf: ModuleType, leaves: dict[str, tuple[Any, Any]], count: int, seed: int) -> Twin:
    """`count` elements, one leaf of each name, of sizes drawn where the shape has None."""

    def generate() -> Iterator[dict[str, Any]]:
        rng = np.random.default_rng(seed)
        for _ in range(count):
            yield {name: row(rng, shape, dtype) for name, (shape, dtype) in leaves.items()}

    ours = {n: ps.Spec(shape, bytes if dtype == "bytes" else dtype) for n, (shape, dtype) in leaves.items()}
    theirs = {n: tf.TensorSpec(shape, tf.string if dtype == "bytes" else dtype) for n, (shape, dtype) in leaves.items()}
    return Twin(
        ps.Dataset.from_generator(generate, output_signature=ours),
        tf.data.Dataset.from_generator(generate, output_signature=theirs),
        "rows",
        f"rows({leaves}, {count}, {seed})",
    )


def nests(draw: st.DrawFn) -> dict[str, tuple[Any, Any]]:
    return dict(zip("abc", draw(st.lists(st.sampled_from(LEAVES), min_size=1, max_size=3)), strict=False))


@st.composite
def padded(draw: st.DrawFn, tf: ModuleType) -> Twin:
    leaves = nests(draw)
    twin = rows_twin(tf, leaves, draw(st.integers(0, 9)), draw(st.integers(0, 99)))
    shapes = None
    if draw(st.booleans()):
        free = draw(st.sampled_from([None, -1]))  # tf.data takes either, not both in one shape
        shapes = {
            name: [draw(st.sampled_from([free, 5, 7])) if size is None else size for size in shape]
            for name, (shape, _) in leaves.items()
        }
    values = None
    if draw(st.booleans()):
        values = {
            name: draw(st.sampled_from([None, b"-" if dtype == "bytes" else np.ones((), dtype)[()]]))
            for name, (_, dtype) in leaves.items()
        }
    return twin.verb("padded_batch", draw(st.integers(1, 4)), shapes, values, draw(st.booleans()))


def specs_agree(twin: Twin) -> None:
    """Dimensions that tf.data knows are known here, and the same."""
    theirs = twin.theirs.element_spec
    for name, spec in twin.ours.element_spec.items():
        assert spec.shape == tuple(theirs[name].shape), twin.text


@settings(max_examples=80)
@given(data=st.data())
def test_padded_batch(tf: ModuleType, data: st.DataObject) -> None:
    twin = data.draw(padded(tf), label="pipeline")
    assert_twins_agree(twin)
    specs_agree(twin)


def test_a_row_that_has_no_room_fails_on_both_sides(tf: ModuleType) -> None:
    leaves = {"a": ((None,), "int64")}
    twin = rows_twin(tf, leaves, 20, 1).verb("padded_batch", 3, {"a": [2]})
    with pytest.raises(PenstockError, match=r'leaf "a" has shape \(\d,\) at element \d+ .* expected at most \(2,\)'):
        list(twin.ours)
    with pytest.raises(tf.errors.DataLossError):
        list(twin.theirs.as_numpy_iterator())


@settings(max_examples=80)
@given(data=st.data())
def test_rebatch(tf: ModuleType, data: st.DataObject) -> None:
    count, size = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 6))
    tensors = {"n": np.arange(count), "rows": np.ones((count, 2), dtype=np.float32)}
    batched = Twin(
        ps.Dataset.from_tensor_slices(tensors), tf.data.Dataset.from_tensor_slices(tensors), "dict", f"slices({count})"
    ).verb("batch", size, data.draw(st.booleans()))
    sizes = data.draw(st.integers(1, 7) | st.lists(st.integers(1, 7), min_size=1, max_size=3))
    twin = batched.verb("rebatch", sizes, data.draw(st.booleans()))
    assert_twins_agree(twin)
    for name, spec in twin.theirs.element_spec.items():
        known = ps.Spec(tuple(spec.shape), spec.dtype)
        assert known.is_compatible_with(twin.ours.element_spec[name]), twin.text


@settings(max_examples=25)
@given(data=st.data())
def test_ragged_batch(tf: ModuleType, data: st.DataObject) -> None:
    leaves = data.draw(st.composite(nests)(), label="leaves")
    dtype = data.draw(st.sampled_from(["int32", "int64"]))
    if any(None in shape[1:] for shape, _ in leaves.values()):
        dtype = "int64"  # tf.data 2.21 cannot read its own int32 splits of two ragged axes
    twin = rows_twin(tf, leaves, data.draw(st.integers(0, 9)), data.draw(st.integers(0, 99)))
    size, drop = data.draw(st.integers(1, 4)), data.draw(st.booleans())
    batched = Twin(
        twin.ours.ragged_batch(size, drop, row_splits_dtype=dtype),
        twin.theirs.ragged_batch(size, drop, row_splits_dtype=tf.as_dtype(dtype)),
        "rows",
        f"{twin.text}.ragged_batch({size}, {drop})",
    )
    theirs = list(batched.theirs)  # as_numpy_iterator makes dense arrays of ragged tensors whose rows happen to fit
    assert [plain(element) for element in batched.ours.iterator(epoch=0)] == [plain(element) for element in theirs]
    for name, spec in batched.ours.element_spec.items():
        told = batched.theirs.element_spec[name]
        assert (spec.shape, spec.ragged_rank) == (tuple(told.shape), getattr(told, "ragged_rank", 0)), batched.text


def test_ragged_batches_reach_tensorflow(tf: ModuleType) -> None:
    from penstock.adapters.tensorflow import converter, to_tf_dataset
    from penstock.dataset import DatasetFeed

    ours = ps.Dataset.range(5).map(lambda x: {"r": np.arange(x), "n": x}).ragged_batch(2)
    expected = [[[], [0]], [[0, 1], [0, 1, 2]], [[0, 1, 2, 3]]]
    batches = [converter()(batch)["r"] for batch in ours]
    assert all(isinstance(batch, tf.RaggedTensor) for batch in batches)
    assert [batch.to_list() for batch in batches] == expected
    dataset = to_tf_dataset(DatasetFeed(ours))
    assert isinstance(dataset.element_spec["r"], tf.RaggedTensorSpec)
    assert [batch["r"].to_list() for batch in dataset] == expected
    twice = next(iter(ours.batch(2)))
    assert converter()(twice)["r"].to_list() == expected[:2]
