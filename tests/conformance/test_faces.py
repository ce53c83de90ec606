"""What a dataset says of itself agrees with what it delivers: cardinality, len, indexing, slices, spec, peek."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from penstock import Dataset, Ragged, RaggedSpec, Spec
from penstock.block.spec import DatasetSpec
from penstock.errors import NotIndexableError, UnknownLengthError
from penstock.testing import assert_same_elements, collect, freeze
from tests.conformance.registry import Case, double, is_even, numbers, ragged, stream

_MAY_END = {(ps.UNKNOWN_CARDINALITY, verb) for verb in ("flat_map", "interleave")}
"""Endless, but only their children know it."""


def test_cardinality_is_what_is_delivered(case: Case, files: Path) -> None:
    dataset = case.build(files)
    said = dataset.cardinality()
    delivered = len(collect(dataset, 0, case.limit))
    if case.endless:
        assert delivered == case.limit
        assert said == ps.INFINITE_CARDINALITY or (said, case.streams) in _MAY_END
    elif case.name == "repeat_stream_none":  # endless unless empty, which is known only when it is read; as tf.data
        assert (said, delivered) == (ps.INFINITE_CARDINALITY, 0)
    elif said != ps.UNKNOWN_CARDINALITY:
        assert said == delivered
    else:
        assert case.streams or case.uncounted
    if said >= 0:
        assert len(dataset) == said
    else:
        with pytest.raises(UnknownLengthError):
            len(dataset)
    assert dataset


def test_cardinality_stays_after_the_spec_was_asked_for(case: Case, files: Path) -> None:
    dataset = case.build(files)
    before = dataset.cardinality()
    try:
        _ = dataset.element_spec
    except UnknownLengthError:
        return
    assert dataset.cardinality() == before


def test_indexing_is_epoch_zero(indexed: Case, files: Path) -> None:
    dataset = indexed.build(files)
    elements = collect(dataset, 0, indexed.limit)
    places = list(range(len(elements)))
    random.Random(0).shuffle(places)
    for place in places[:12]:
        assert freeze(dataset[place]) == freeze(elements[place])
        if not indexed.endless:
            assert freeze(dataset[place - len(elements)]) == freeze(elements[place])
    if not indexed.endless:
        for outside in (len(elements), -len(elements) - 1):
            with pytest.raises(IndexError):
                _ = dataset[outside]


@pytest.mark.parametrize(
    "cut", [slice(2, 9), slice(None, None, 2), slice(-3, None), slice(None, None, -3), slice(5, 2)]
)
def test_slices_are_those_of_a_list(indexed: Case, files: Path, cut: slice) -> None:
    if indexed.endless:
        cut = slice(2, 30, 3)
    dataset = indexed.build(files)
    part = dataset[cut]
    expected = collect(dataset, 0, indexed.limit)[cut]
    assert_same_elements(collect(part), expected)
    assert len(part) == len(expected)


def test_what_streams_cannot_be_indexed(streaming: Case, files: Path) -> None:
    dataset = streaming.build(files)
    for index in (0, slice(0, 2)):
        with pytest.raises(NotIndexableError, match=rf"{streaming.streams} at .*registry\.py:\d+"):
            _ = dataset[index]


def test_spec_fits_every_element(case: Case, files: Path) -> None:
    dataset = case.build(files)
    elements = collect(dataset, 1, case.limit)
    if not elements:
        return
    spec = dataset.element_spec
    for element in elements[: 1 if case.ragged else None]:
        _assert_fits(spec, element)


def _assert_fits(spec: object, element: object) -> None:
    if isinstance(spec, dict):
        assert isinstance(element, dict)
        assert list(spec) == list(element)
        for key in spec:
            _assert_fits(spec[key], element[key])
    elif isinstance(spec, tuple):
        assert type(spec) is type(element)
        for part, value in zip(spec, element, strict=True):  # type: ignore[arg-type]
            _assert_fits(part, value)
    elif isinstance(element, Ragged):
        assert isinstance(spec, Spec)
        assert spec.is_compatible_with(RaggedSpec(element.shape, element.dtype, element.ragged_rank))
    elif isinstance(element, Dataset):
        assert isinstance(spec, DatasetSpec)
        for inner in collect(element) if spec.element is not None else ():
            _assert_fits(spec.element, inner)
    else:
        assert isinstance(spec, Spec)
        if isinstance(element, str | bytes):
            assert spec == Spec((), type(element))
        elif isinstance(element, np.ndarray) and element.dtype == object:
            assert {type(item) for item in element.ravel()} <= {{"S": bytes, "U": str}[spec.dtype.kind]}
            assert spec.is_compatible_with(Spec(element.shape, spec.dtype))
        else:
            assert isinstance(element, np.ndarray | np.generic)
            assert spec.is_compatible_with(Spec(element.shape, element.dtype))


def test_peek_is_the_first(case: Case, files: Path) -> None:
    dataset = case.build(files)
    first = collect(dataset, 0, 1)
    if first:
        assert freeze(dataset.peek()) == freeze(first[0])
    else:
        with pytest.raises(UnknownLengthError, match="empty"):
            dataset.peek()


def test_explain_names_every_verb(case: Case, files: Path) -> None:
    text = case.build(files).explain()
    assert "stages, from the source:" in text
    assert case.streams in text


def test_spec_of_a_batch_knows_what_is_known() -> None:
    assert numbers(24).batch(4).element_spec == Spec((4,), np.int64)
    assert numbers(23).batch(4).element_spec == Spec((None,), np.int64)
    assert numbers(23).batch(4, drop_remainder=True).element_spec == Spec((4,), np.int64)
    assert numbers(23).repeat().batch(4).element_spec == Spec((4,), np.int64)


def test_spec_runs_a_function_once() -> None:
    calls = []
    dataset = numbers().map(lambda x: calls.append(x) or x)
    assert dataset.element_spec == Spec((), np.int64)
    assert dataset.batch(4).element_spec == Spec((None,), np.int64)
    assert calls == [0]


def test_spec_of_an_empty_map_says_what_to_do() -> None:
    with pytest.raises(UnknownLengthError, match="output_signature"):
        _ = numbers(0).map(double).element_spec
    assert numbers(0).map(double, output_signature=Spec((), np.int64)).element_spec == Spec((), np.int64)


def test_verbs_run_nothing() -> None:
    def explode(*_: object) -> None:
        raise AssertionError("ran")

    dataset = numbers().map(explode).filter(explode).shuffle().batch(3).cache().prefetch(2)
    Dataset.from_generator(explode, output_signature=Spec((), np.int64)).map(explode).batch(2)
    dataset.cardinality()
    dataset.explain()
    repr(dataset)


def test_take_of_a_generator_pulls_no_more() -> None:
    for make in (
        lambda ds: ds.take(3),
        lambda ds: ds.map(double).take(3),
        lambda ds: ds.enumerate().take(3),
        lambda ds: ds.skip(1).take(2),
        lambda ds: ds.batch(3).take(1),
        lambda ds: ds.take(3).take(5),
        lambda ds: ds.prefetch(4).take(3),
    ):
        pulled = []

        def generate(pulled: list[int] = pulled) -> object:
            for number in range(100):
                pulled.append(number)
                yield number

        list(make(Dataset.from_generator(generate, output_signature=Spec((), np.int64))))
        assert pulled == [0, 1, 2]


def test_shards_together_are_all() -> None:
    for dataset in (numbers().shuffle(), stream(), numbers().filter(is_even)):
        parts = [collect(dataset.shard(3, index)) for index in range(3)]
        assert sorted(x for part in parts for x in part) == sorted(collect(dataset))


def test_unbatched_count_is_not_guessed_from_the_first_element() -> None:
    dataset = numbers(9).map(ragged).unbatch()
    _ = dataset.element_spec
    assert dataset.cardinality() == ps.UNKNOWN_CARDINALITY
    assert len(list(dataset)) == sum(x % 4 + 1 for x in range(9))
