"""The verbs shared with tf.data, against tf.data itself: each alone, then composed at random."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import penstock as ps
from tests.differential.twins import Twin, assert_twins_agree, plain

pytestmark = [pytest.mark.framework, pytest.mark.slow]


def int_range(tf: ModuleType, *args: int) -> Twin:
    return Twin(ps.Dataset.range(*args), tf.data.Dataset.range(*args), "number", f"range{args}")


def int_stream(tf: ModuleType, count: int) -> Twin:
    def generate() -> Iterator[int]:
        yield from range(count)

    return Twin(
        ps.Dataset.from_generator(generate, output_signature=ps.Spec((), np.int64)),
        tf.data.Dataset.from_generator(generate, output_signature=tf.TensorSpec((), tf.int64)),
        "number",
        f"generator({count})",
    )


def slices(tf: ModuleType, tensors: Any, kind: str) -> Twin:
    return Twin(
        ps.Dataset.from_tensor_slices(tensors), tf.data.Dataset.from_tensor_slices(tensors), kind, f"slices({kind})"
    )


@pytest.mark.parametrize("args", [(0,), (7,), (-3,), (2, 9), (9, 2), (2, 20, 5), (20, 2, -4), (2, 20, -1), (-5, 5)])
def test_range(tf: ModuleType, args: tuple[int, ...]) -> None:
    assert_twins_agree(int_range(tf, *args))


@pytest.mark.parametrize("dtype", ["int32", "uint8", "float32"])
def test_range_of_dtype(tf: ModuleType, dtype: str) -> None:
    ours = ps.Dataset.range(3, 30, 4, output_type=np.dtype(dtype))
    assert_twins_agree(Twin(ours, tf.data.Dataset.range(3, 30, 4, output_type=tf.as_dtype(dtype)), "number", dtype))


@pytest.mark.parametrize(
    ("args", "dtype"),
    [((), "int64"), ((5, -2), "int64"), ((3, 0), "int32"), ((2**31 - 3, 2), "int32"), ((1.5, 0.25), "float32")],
)
def test_counter(tf: ModuleType, args: tuple[Any, ...], dtype: str) -> None:
    theirs = tf.data.Dataset.counter(*args, dtype=tf.as_dtype(dtype))
    assert_twins_agree(Twin(ps.Dataset.counter(*args, dtype=np.dtype(dtype)), theirs, "number", f"counter{args}"))


def test_random_numbers_differ_but_repeat_alike(tf: ModuleType) -> None:
    ours, theirs = ps.Dataset.random(seed=3).take(9), tf.data.Dataset.random(seed=3).take(9)
    assert ours.element_spec == ps.Spec((), theirs.element_spec.dtype)
    assert ps.Dataset.random().cardinality() == int(tf.data.Dataset.random().cardinality())
    for dataset in (ours, theirs):
        first, second = ([int(x) for x in dataset] for _ in range(2))
        assert first == second
        assert all(0 <= x < 2**32 for x in first)


@pytest.mark.parametrize(
    "tensors",
    [
        np.arange(12, dtype=np.float32).reshape(4, 3),
        {"x": np.arange(5), "y": np.arange(10, dtype=np.int32).reshape(5, 2)},
        (np.arange(5), {"a": np.ones((5, 2, 2)), "b": (np.zeros(5), np.arange(5, dtype=np.uint8))}),
        np.array([b"a", b"", b"ccc"], dtype=object),
        np.array([True, False]),
        np.array([1 + 2j, 3]),
        np.array([1, 2], dtype=np.float16),
        np.zeros((3, 0)),
        np.zeros((0, 2)),
    ],
    ids=str,
)
def test_sources_in_memory(tf: ModuleType, tensors: Any) -> None:
    assert_twins_agree(slices(tf, tensors, "any"))
    whole = Twin(ps.Dataset.from_tensors(tensors), tf.data.Dataset.from_tensors(tensors), "any", "from_tensors")
    assert_twins_agree(whole)


@pytest.mark.parametrize(
    "source", [lambda tf: int_range(tf, 10), lambda tf: int_stream(tf, 10)], ids=["range", "stream"]
)
@pytest.mark.parametrize(
    ("name", "args"),
    [
        *(("batch", (size,)) for size in (1, 3, 5, 10, 11)),
        *(("batch", (size, True)) for size in (3, 10, 11)),
        *(("take", (count,)) for count in (-1, 0, 3, 10, 99)),
        *(("skip", (count,)) for count in (-1, 0, 3, 10, 99)),
        *(("repeat", (count,)) for count in (None, -1, 0, 1, 3)),
        *(("shard", shard) for shard in ((1, 0), (3, 0), (3, 2), (10, 9), (20, 15))),
        *(("enumerate", (start,)) for start in (0, 5, -2)),
        *(("prefetch", (size,)) for size in (-1, 0, 1, 50)),
    ],
)
def test_verb(tf: ModuleType, source: Callable[[ModuleType], Twin], name: str, args: tuple[Any, ...]) -> None:
    assert_twins_agree(source(tf).verb(name, *args))


def test_filter_and_what_follows(tf: ModuleType) -> None:
    for source in (int_range(tf, 20), int_stream(tf, 20), int_range(tf, 0)):
        even = source.function("filter", lambda x: x % 2 == 0, lambda x: x % 2 == 0)
        for twin in (even, even.verb("batch", 3), even.verb("enumerate"), even.verb("take", 3), even.verb("repeat", 2)):
            assert_twins_agree(twin)
        assert_twins_agree(source.function("filter", lambda x: False, lambda x: x < 0))


def test_map_calls_with_what_tf_data_calls_with(tf: ModuleType) -> None:
    pair = int_range(tf, 5).joined(tf, int_range(tf, 10, 15))
    assert_twins_agree(pair.function("map", lambda a, b: a * b, lambda a, b: a * b))
    named = slices(tf, {"a": np.arange(4), "b": np.arange(4) * 2}, "dict")
    assert_twins_agree(named.function("map", lambda d: (d["b"], d["a"]), lambda d: (d["b"], d["a"])))
    nested = slices(tf, ((np.arange(4), np.arange(4)), np.arange(4)), "nested")
    assert_twins_agree(nested.function("map", lambda p, c: (c, p), lambda p, c: (c, p)))
    single = slices(tf, (np.arange(4),), "single")
    assert_twins_agree(single.function("map", lambda a: a + 1, lambda a: a + 1))


def test_unbatch(tf: ModuleType) -> None:
    for twin in (
        slices(tf, np.arange(24).reshape(4, 3, 2), "rows"),
        slices(tf, {"a": np.arange(12).reshape(4, 3), "b": np.ones((4, 3, 2))}, "rows"),
        slices(tf, np.zeros((3, 0)), "rows"),
        int_range(tf, 10).verb("batch", 4),
        int_range(tf, 10).verb("batch", 4, True),
        int_stream(tf, 10).verb("batch", 4),
    ):
        assert_twins_agree(twin.verb("unbatch"))
        assert_twins_agree(twin.verb("unbatch").verb("batch", 5))


def test_zip_and_concatenate(tf: ModuleType) -> None:
    sources = (int_range(tf, 4), int_range(tf, 9), int_stream(tf, 6), int_range(tf, 0), int_range(tf, 3).verb("repeat"))
    for left in sources:
        for right in sources:
            assert_twins_agree(left.joined(tf, right))
            assert_twins_agree(left.followed(right))


def test_zip_of_nests(tf: ModuleType) -> None:
    a, b = int_range(tf, 4), int_range(tf, 5)
    ours = ps.Dataset.zip({"x": a.ours, "y": (b.ours, a.ours)})
    theirs = tf.data.Dataset.zip({"x": a.theirs, "y": (b.theirs, a.theirs)})
    assert_twins_agree(Twin(ours, theirs, "nest", "zip(nest)"))


def test_generator_of_nests(tf: ModuleType) -> None:
    def generate(low: int, high: int) -> Iterator[dict[str, Any]]:
        for number in range(low, high):
            yield {"n": number, "row": np.full(3, number, dtype=np.float32), "text": b"x" * number}

    ours = {"n": ps.Spec((), np.int64), "row": ps.Spec((None,), np.float32), "text": ps.Spec((), bytes)}
    theirs = {
        "n": tf.TensorSpec((), tf.int64),
        "row": tf.TensorSpec((None,), tf.float32),
        "text": tf.TensorSpec((), tf.string),
    }
    for signature in (ours, theirs):  # tf.TensorSpec is understood too
        twin = Twin(
            ps.Dataset.from_generator(generate, args=(2, 9), output_signature=signature),
            tf.data.Dataset.from_generator(generate, args=(2, 9), output_signature=theirs),
            "dict",
            "generator(nest)",
        )
        assert_twins_agree(twin)
        assert_twins_agree(twin.verb("batch", 3))


def test_cache_and_options_change_nothing(tf: ModuleType) -> None:
    for source in (int_range(tf, 10), int_stream(tf, 10)):
        assert_twins_agree(source.verb("cache").verb("repeat", 2).verb("batch", 3))


# --- shuffle: drawn otherwise, so compared by what holds for any draw -------------------------------------------------


@pytest.mark.parametrize("buffer", [1, 2, 5, 50])
def test_buffered_shuffle_moves_as_far_forward_as_tf_data(tf: ModuleType, buffer: int) -> None:
    twin = int_stream(tf, 60).verb("shuffle", buffer, seed=3)
    ours = [int(x) for x in twin.ours.iterator(epoch=0)]
    theirs = [int(x) for x in twin.theirs.as_numpy_iterator()]
    for order in (ours, theirs):
        assert Counter(order) == Counter(range(60))
        # An element leaves a buffer that holds the `buffer` next ones: it comes at most `buffer - 1` places early.
        assert all(element - place < buffer for place, element in enumerate(order))
    assert (ours == list(range(60))) == (buffer == 1)


def test_buffered_shuffle_is_uniform_over_its_buffer() -> None:
    count = Counter(
        next(
            ps.Dataset.from_generator(lambda: range(9), output_signature=ps.Spec((), np.int64))
            .shuffle(4)
            .iterator(epoch=e)
        )
        for e in range(400)
    )
    assert set(count) == {0, 1, 2, 3}
    assert all(60 < times < 140 for times in count.values())  # 100 each, standard deviation 8.7


def test_full_shuffle_is_a_permutation_on_both_sides(tf: ModuleType) -> None:
    twin = int_range(tf, 50).verb("shuffle", 50, seed=1).verb("repeat", 3)
    ours = [int(x) for x in twin.ours.iterator(epoch=0)]
    theirs = [int(x) for x in twin.theirs.as_numpy_iterator()]
    for order in (ours, theirs):
        passes = [tuple(order[start : start + 50]) for start in (0, 50, 100)]
        assert [sorted(one) for one in passes] == [list(range(50))] * 3
        assert len(set(passes)) == 3


def test_shuffle_without_reshuffling_repeats_itself_on_both_sides(tf: ModuleType) -> None:
    twin = int_range(tf, 50).verb("shuffle", 50, seed=1, reshuffle_each_iteration=False).verb("repeat", 2)
    for order in ([int(x) for x in twin.ours.iterator(epoch=0)], [int(x) for x in twin.theirs.as_numpy_iterator()]):
        assert order[:50] == order[50:]


# --- composed at random -----------------------------------------------------------------------------------------------

MAPS: dict[str, list[tuple[Callable[..., Any], str]]] = {
    "number": [
        (lambda x: x * 3 + 1, "number"),
        (lambda x: (x, x * 2), "pair"),
        (lambda x: {"a": x, "b": -x}, "dict"),
    ],
    "pair": [(lambda a, b: a, "any"), (lambda a, b: (b, a), "pair")],
    "dict": [(lambda d: d["a"], "number")],
    "any": [],
}


@st.composite
def twins(draw: st.DrawFn, tf: ModuleType, depth: int = 6) -> Twin:
    """Sources and verbs that both sides have and that are deterministic there."""
    count = draw(st.integers(0, 12))
    twin = draw(
        st.sampled_from(
            [
                int_range(tf, count),
                int_stream(tf, count),
                slices(tf, np.arange(count) * 2, "number"),
                slices(tf, {"a": np.arange(count), "b": np.arange(count) + 5}, "dict"),
            ]
        )
    )
    batched = False
    for _ in range(draw(st.integers(1, depth))):
        verbs = ["take", "skip", "shard", "repeat", "prefetch", "cache", "enumerate", "zip", "concatenate"]
        verbs += (
            ["map"] * (2 * bool(MAPS.get(twin.kind)) and not batched)
            + ["unbatch"] * batched
            + ["batch"] * (not batched)
        )
        verbs += ["filter"] if twin.kind == "number" and not batched else []
        name = draw(st.sampled_from(verbs))
        if name == "map":
            function, kind = draw(st.sampled_from(MAPS[twin.kind]))
            twin = twin.function("map", function, function, kind)
        elif name == "filter":
            twin = twin.function("filter", lambda x: x % 3 != 0, lambda x: x % 3 != 0)
        elif name == "batch":
            twin, batched = twin.verb("batch", draw(st.integers(1, 5)), draw(st.booleans())), True
        elif name == "unbatch":
            twin, batched = twin.verb("unbatch"), False
        elif name in ("take", "skip"):
            twin = twin.verb(name, draw(st.integers(-1, 9)))
        elif name == "shard":
            shards = draw(st.integers(1, 4))
            twin = twin.verb(name, shards, draw(st.integers(0, shards - 1)))
        elif name == "repeat" or name == "prefetch":
            twin = twin.verb(name, draw(st.integers(0, 3)))
        elif name == "cache":
            twin = twin.verb(name)
        elif name == "enumerate":
            twin = Twin(twin.ours.enumerate(), twin.theirs.enumerate(), "any", f"{twin.text}.enumerate()")
            break  # positions beside batches: nothing above but ending
        elif name == "zip":
            twin = twin.joined(tf, int_range(tf, draw(st.integers(0, 20))))
            twin = Twin(twin.ours, twin.theirs, "any", twin.text)
            break
        else:
            twin = twin.followed(twin.verb("take", draw(st.integers(0, 4))))
    return twin


@settings(max_examples=60)
@given(data=st.data())
def test_any_pipeline(tf: ModuleType, data: st.DataObject) -> None:
    twin = data.draw(twins(tf), label="pipeline")
    note(twin.text)
    assert_twins_agree(twin)


def test_comparison_sees_a_difference() -> None:
    assert plain(np.int64(1)) != plain(np.int32(1))
    assert plain(np.array([1])) != plain(np.int64(1))
    assert plain((1, 2)) != plain({"a": 1, "b": 2})
