"""Nested datasets against tf.data's: interleave's order, windows of every kind, groups by key, buckets."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import penstock as ps
from tests.differential.twins import LIMIT, Twin, assert_twins_agree, plain

pytestmark = [pytest.mark.framework, pytest.mark.slow]


def both(tf: ModuleType, name: str, function: Any, *args: Any, twin: Twin | None = None, **options: Any) -> Twin:
    """`name(function of the module's Dataset, ...)` on both: `function(D, mod)` makes what each side is given."""
    twin = Twin(ps.Dataset.range(9), tf.data.Dataset.range(9), "number", "range(9)") if twin is None else twin
    ours = getattr(twin.ours, name)(function(ps.Dataset, lambda x, n: x % n), *args, **options)
    theirs = getattr(twin.theirs, name)(function(tf.data.Dataset, tf.math.floormod), *args, **options)
    return Twin(ours, theirs, "number", f"{twin.text}.{name}{args}{options}")


def counts(dataset: Any, mod: Any) -> Any:
    return lambda x: dataset.range(x * 10, x * 10 + mod(x * 7, 5))


@settings(max_examples=80)
@given(
    lengths=st.lists(st.integers(0, 7), max_size=9), cycle=st.integers(1, 6), block=st.integers(1, 4), drawn=st.data()
)
def test_interleave(tf: ModuleType, lengths: list[int], cycle: int, block: int, drawn: st.DataObject) -> None:
    array = np.array(lengths, dtype=np.int64)
    twin = Twin(
        ps.Dataset.from_tensor_slices(array).enumerate(),
        tf.data.Dataset.from_tensor_slices(array).enumerate(),
        "pair",
        f"{lengths}",
    )
    start = drawn.draw(st.integers(0, 3))

    def function(dataset: Any, mod: Any) -> Any:
        return lambda n, length: dataset.range(n * 100, n * 100 + length).skip(start)

    parallel = drawn.draw(st.sampled_from([None, -1]))
    found = both(tf, "interleave", function, cycle, block, twin=twin, num_parallel_calls=parallel)
    note(found.text)
    assert_twins_agree(found)


def test_flat_map(tf: ModuleType) -> None:
    assert_twins_agree(both(tf, "flat_map", counts))
    assert_twins_agree(both(tf, "flat_map", counts).verb("batch", 4))
    assert_twins_agree(both(tf, "flat_map", lambda dataset, mod: lambda x: dataset.range(x).batch(2)))
    assert_twins_agree(
        both(tf, "flat_map", lambda dataset, mod: lambda x: dataset.range(3).flat_map(lambda y: dataset.range(y + x)))
    )
    assert_twins_agree(both(tf, "flat_map", lambda dataset, mod: lambda x: dataset.range(2).repeat()).verb("take", 9))


@settings(max_examples=80)
@given(
    count=st.integers(0, 20), size=st.integers(1, 6), shift=st.integers(1, 7), stride=st.integers(1, 4),
    drop=st.booleans(), batch=st.integers(1, 7),
)  # fmt: skip
def test_window(  # noqa: PLR0917  # each is drawn
    tf: ModuleType, count: int, size: int, shift: int, stride: int, drop: bool, batch: int
) -> None:
    twin = Twin(ps.Dataset.range(count), tf.data.Dataset.range(count), "number", f"range({count})")
    twin = twin.verb("window", size, shift, stride, drop)
    note(twin.text)
    assert twin.ours.cardinality() == int(twin.theirs.cardinality())
    ours = [[plain(x) for x in window] for window in twin.ours.iterator(epoch=0)]
    theirs = [[plain(x) for x in window.as_numpy_iterator()] for window in twin.theirs]
    assert ours == theirs
    for drop_remainder in (False, True):
        assert_twins_agree(both(tf, "flat_map", lambda *_: lambda w: w.batch(batch, drop_remainder), twin=twin))  # noqa: B023  # called at once


def test_windows_of_nests(tf: ModuleType) -> None:
    tensors = {"a": np.arange(7), "b": np.arange(14).reshape(7, 2)}
    twin = Twin(
        ps.Dataset.from_tensor_slices(tensors), tf.data.Dataset.from_tensor_slices(tensors), "dict", "slices"
    ).verb("window", 3, 2)

    def joined(dataset: Any, mod: Any) -> Any:
        return lambda w: dataset.zip((w["a"].batch(3), w["b"].batch(3)))

    assert_twins_agree(both(tf, "flat_map", joined, twin=twin))
    pairs = Twin(
        ps.Dataset.zip(ps.Dataset.range(7), ps.Dataset.range(10, 17)),
        tf.data.Dataset.zip(tf.data.Dataset.range(7), tf.data.Dataset.range(10, 17)),
        "pair",
        "zip",
    ).verb("window", 3)
    assert_twins_agree(both(tf, "flat_map", lambda dataset, _: lambda a, b: dataset.zip((a, b.skip(1))), twin=pairs))
    assert_twins_agree(both(tf, "interleave", lambda *_: lambda a, b: a.concatenate(b), 2, twin=pairs))


@settings(max_examples=40)
@given(count=st.integers(0, 25), keys=st.integers(1, 4), size=st.integers(1, 5), batch=st.integers(1, 5))
def test_group_by_window(tf: ModuleType, count: int, keys: int, size: int, batch: int) -> None:
    by_size = Twin(
        ps.Dataset.range(count).group_by_window(lambda x: x % keys, lambda k, w: w.batch(batch), size),
        tf.data.Dataset.range(count).group_by_window(
            lambda x: tf.math.floormod(x, keys), lambda k, w: w.batch(batch), size
        ),
        "any",
        f"range({count}).group_by_window(x % {keys}, {size}).batch({batch})",
    )
    assert_twins_agree(by_size)
    by_function = Twin(
        ps.Dataset.range(count).group_by_window(
            lambda x: x % keys, lambda k, w: w.map(lambda x: x + k), window_size_func=lambda k: k + size
        ),
        tf.data.Dataset.range(count).group_by_window(
            lambda x: tf.math.floormod(x, keys),
            lambda k, w: w.map(lambda x: x + k),
            window_size_func=lambda k: k + size,
        ),
        "any",
        by_size.text,
    )
    assert_twins_agree(by_function)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"drop_remainder": True},
        {"pad_to_bucket_boundary": True},
        {"padded_shapes": [9]},
        {"padding_values": np.int64(-1)},
    ],
    ids=str,
)
def test_buckets(tf: ModuleType, options: dict[str, Any]) -> None:
    lengths = np.random.default_rng(1).integers(0, 8, 40).tolist()

    def generate() -> Any:
        for length in lengths:
            yield np.arange(length, dtype=np.int64)

    twin = Twin(
        ps.Dataset.from_generator(generate, output_signature=ps.Spec((None,), np.int64)).bucket_by_sequence_length(
            len, [2, 5, 8], [4, 3, 2, 1], **options
        ),
        tf.data.Dataset.from_generator(
            generate, output_signature=tf.TensorSpec((None,), tf.int64)
        ).bucket_by_sequence_length(lambda x: tf.shape(x)[0], [2, 5, 8], [4, 3, 2, 1], **options),
        "any",
        f"buckets({options})",
    )
    assert len(lengths) < LIMIT
    assert_twins_agree(twin)
