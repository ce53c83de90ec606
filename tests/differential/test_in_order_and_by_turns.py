"""Verbs with a memory and mixtures, against tf.data: all that is deterministic on both sides."""

from __future__ import annotations

from collections import Counter
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import penstock as ps
from tests.differential.test_against_tf_data import int_range, int_stream, slices, twins
from tests.differential.twins import Twin, assert_twins_agree, plain

pytestmark = [pytest.mark.framework, pytest.mark.slow]


def scanned(twin: Twin, initial: Any, function: Any) -> Twin:
    return Twin(twin.ours.scan(initial, function), twin.theirs.scan(initial, function), "any", f"{twin.text}.scan(f)")


def chosen(tf: ModuleType, parts: list[Twin], choices: Twin, stop: bool) -> Twin:
    return Twin(
        ps.Dataset.choose_from_datasets([part.ours for part in parts], choices.ours, stop),
        tf.data.Dataset.choose_from_datasets([part.theirs for part in parts], choices.theirs, stop),
        "number",
        f"choose([{', '.join(part.text for part in parts)}], {choices.text}, {stop})",
    )


def test_scan(tf: ModuleType) -> None:
    for source in (int_range(tf, 9), int_stream(tf, 9), int_range(tf, 0), int_range(tf, 4).verb("repeat")):
        for twin in (
            scanned(source, np.int64(0), lambda s, x: (s + x, s)),
            scanned(source, np.int64(1), lambda s, x: (s + 2, (x, {"s": s}))),
            scanned(source, (np.int64(0), np.int64(1)), lambda s, x: ((s[1], s[0] + s[1]), s[0] * x)),
        ):
            assert_twins_agree(twin)
            assert_twins_agree(twin.verb("take", 3))
    pair = int_range(tf, 5).joined(tf, int_stream(tf, 7))
    assert_twins_agree(scanned(pair, np.int64(0), lambda s, x: (s + x[0], x[1] - s)))


def test_take_while(tf: ModuleType) -> None:
    for source in (int_range(tf, 20), int_stream(tf, 20), int_range(tf, 0), int_range(tf, 9).verb("repeat")):
        for bound in (0, 5, 8):
            twin = source.function("take_while", lambda x, b=bound: x < b, lambda x, b=bound: x < b)
            for follows in (twin, twin.verb("batch", 3), twin.verb("skip", 2), twin.verb("repeat", 2)):
                assert_twins_agree(follows)


@pytest.mark.parametrize(
    "values",
    [
        np.array([1, 37, 2, 37, 2, 1]),
        np.array([3, 3, 3], dtype=np.int32),
        np.array([b"a", b"", b"a", b"b", b""], dtype=object),
        np.array([[1, 2], [2, 1], [1, 2]]),
        np.array([], dtype=np.int64),
    ],
    ids=str,
)
def test_unique(tf: ModuleType, values: Any) -> None:
    twin = slices(tf, values, "any").verb("unique")
    assert_twins_agree(twin)
    assert_twins_agree(twin.verb("batch", 2))


def test_reduce(tf: ModuleType) -> None:
    assert int_range(tf, 9).ours.reduce(0, lambda s, x: s + x) == 36
    for source in (int_range(tf, 9), int_stream(tf, 9), int_range(tf, 0), int_range(tf, 9).verb("batch", 4)):
        for initial, function in (
            (np.int64(3), lambda s, x: s * 2),
            (np.float64(0), lambda s, x: s + 0.5),
            ((np.int64(0), np.int64(1)), lambda s, x: (s[0] + 1, s[1] * 2)),
        ):
            ours = source.ours.reduce(initial, function)
            theirs = source.theirs.reduce(initial, function)
            flat = tuple(part.numpy() for part in theirs) if isinstance(theirs, tuple) else theirs.numpy()
            assert plain(ours) == plain(flat)


def test_single_element(tf: ModuleType) -> None:
    for twin in (int_range(tf, 5, 6), int_range(tf, 9).verb("batch", 9), slices(tf, (np.ones(1), np.zeros(1)), "pair")):
        theirs = twin.theirs.get_single_element()
        flat = tuple(part.numpy() for part in theirs) if isinstance(theirs, tuple) else theirs.numpy()
        assert plain(twin.ours.get_single_element()) == plain(flat)
    for twin in (int_range(tf, 0), int_range(tf, 2), int_stream(tf, 2).verb("repeat")):
        with pytest.raises(tf.errors.InvalidArgumentError):
            twin.theirs.get_single_element()
        with pytest.raises(ps.errors.CardinalityError):
            twin.ours.get_single_element()


@pytest.mark.parametrize("count", [0, 3, 5, 9, -1])
@pytest.mark.parametrize("size", [0, 5])
def test_asserted_cardinality(tf: ModuleType, count: int, size: int) -> None:
    for source in (int_stream(tf, size), int_range(tf, size)):
        theirs = source.theirs.apply(tf.data.experimental.assert_cardinality(count))
        ours = source.ours.assert_cardinality(count)
        assert ours.cardinality() == int(theirs.cardinality())
        assert outcome(ours.iterator(epoch=0)) == outcome(theirs.as_numpy_iterator())


def outcome(iterator: Any) -> tuple[list[int], bool]:
    """What came, and whether an error ended it."""
    came: list[int] = []
    while True:
        try:
            came.append(int(next(iterator)))
        except StopIteration:
            return came, False
        except Exception:  # noqa: BLE001  # each side has its own
            return came, True


@settings(max_examples=30)
@given(
    sizes=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    choices=st.lists(st.integers(0, 3), max_size=30),
    stop=st.booleans(),
    data=st.data(),
)
def test_choosing(tf: ModuleType, sizes: list[int], choices: list[int], stop: bool, data: st.DataObject) -> None:
    parts = [data.draw(st.sampled_from([int_range, int_stream]))(tf, size) for size in sizes]
    numbers = np.array([choice % len(sizes) for choice in choices], dtype=np.int64)
    twin = chosen(tf, parts, slices(tf, numbers, "number"), stop)
    note(twin.text)
    assert_counts_may_be_known(twin)


def assert_counts_may_be_known(twin: Twin) -> None:
    """As `assert_twins_agree`, where tf.data says endless of what may end."""
    ours, theirs = list(twin.ours.iterator(epoch=0)), list(twin.theirs.as_numpy_iterator())
    assert list(map(plain, ours)) == list(map(plain, theirs)), twin.text


def test_choosing_by_turns_and_what_follows(tf: ModuleType) -> None:
    turns = int_range(tf, 3).verb("repeat")
    parts = [int_range(tf, 9), int_stream(tf, 4), int_range(tf, 50, 60)]
    for stop in (True, False):
        if stop:
            twin = chosen(tf, parts, turns, stop)
            for follows in (twin, twin.verb("batch", 4), twin.verb("shard", 2, 1), twin.verb("repeat", 2)):
                assert_counts_may_be_known(follows)
        assert_counts_may_be_known(chosen(tf, parts, turns.verb("take", 20), stop))


def test_sampling_takes_the_same_elements(tf: ModuleType) -> None:
    parts = [int_range(tf, 9), int_stream(tf, 14), int_range(tf, 50, 60)]
    for weights in (None, [0.2, 0.3, 0.5], [0.0, 0.5, 0.5]):
        ours = ps.Dataset.sample_from_datasets([part.ours for part in parts], weights, seed=1)
        theirs = tf.data.Dataset.sample_from_datasets([part.theirs for part in parts], weights, seed=1)
        left, right = [int(x) for x in ours], [int(x) for x in theirs.as_numpy_iterator()]
        assert Counter(left) == Counter(right)
        for order in (left, right):
            assert [x for x in order if x >= 50] == list(range(50, 60))


def test_resampling_gives_class_and_element(tf: ModuleType) -> None:
    target, initial = [0.9, 0.1], [0.5, 0.5]
    twin = int_range(tf, 4000)
    ours = twin.ours.rejection_resample(lambda x: np.int32(x % 2), target, initial, seed=2)
    theirs = twin.theirs.rejection_resample(lambda x: tf.cast(x % 2, tf.int32), target, initial, seed=2)
    shares = []
    for pairs in (list(ours), list(theirs.as_numpy_iterator())):
        assert all(label == element % 2 and label.dtype == np.int32 for label, element in pairs)
        shares.append(sum(int(label) for label, _ in pairs) / len(pairs))
        assert len(pairs) > 2000  # not compared: tf.data reads the input twice, side by side
    assert all(abs(share - 0.1) < 0.03 for share in shares)


@settings(max_examples=25)
@given(data=st.data())
def test_any_pipeline_scanned_or_mixed(tf: ModuleType, data: st.DataObject) -> None:
    parts = [data.draw(twins(tf, depth=3), label="pipeline") for _ in range(data.draw(st.integers(1, 3)))]
    parts = [part for part in parts if part.kind == "number"] or [int_range(tf, 7)]
    specs = [part.theirs.element_spec for part in parts]
    alike = [(spec.shape.rank, spec.dtype) == (specs[0].shape.rank, specs[0].dtype) for spec in specs]
    parts = [part.verb("take", 20) for part, fits in zip(parts, alike, strict=True) if fits]
    twin = chosen(tf, parts, int_range(tf, len(parts)).verb("repeat", 30), data.draw(st.booleans()))
    note(twin.text)
    assert_counts_may_be_known(twin)
    count = Twin(
        twin.ours.scan(np.int64(0), lambda s, x: (s + 1, (s, x))),
        twin.theirs.scan(np.int64(0), lambda s, x: (s + 1, (s, x))),
        "any",
        f"{twin.text}.scan(count)",
    )
    assert_counts_may_be_known(count)


@settings(max_examples=8)
@given(size=st.integers(0, 20), bad=st.integers(1, 5), taken=st.integers(0, 12), passes=st.integers(1, 2))
def test_ignoring_errors(tf: ModuleType, size: int, bad: int, taken: int, passes: int) -> None:
    def fails(x: Any) -> Any:
        if x % bad == 1:
            raise ValueError("bad")
        return x * 2

    def theirs_fails(x: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_none_equal(x % bad, np.int64(1))]):
            return x * 2

    for source in (int_range(tf, size), int_stream(tf, size)):
        mapped = source.function("map", fails, theirs_fails)
        for twin in (
            mapped.verb("ignore_errors"),
            mapped.verb("ignore_errors").verb("batch", 3),
            mapped.verb("skip", 1).verb("repeat", passes).verb("ignore_errors").verb("take", taken),
            mapped.function("filter", lambda x: x % 3 != 0, lambda x: x % 3 != 0).verb("ignore_errors"),
        ):
            assert_twins_agree(twin)
