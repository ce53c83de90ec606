"""Cardinality of every verb over inputs of every kind: tf.data's, or a number where tf.data says unknown."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import penstock as ps
from tests.unit.graph.datasets import INT, infinite, node_of, ten, unknown

INF, UNK = ps.INFINITE_CARDINALITY, ps.UNKNOWN_CARDINALITY

# verb: (over 10 elements, over none, over an endless input, over an unknown number), as tf.data 2.21 gives them.
AS_TF_DATA: dict[str, tuple[Callable[[ps.Dataset], ps.Dataset], tuple[int, int, int, int]]] = {
    "take(3)": (lambda d: d.take(3), (3, 0, 3, UNK)),
    "take(-1)": (lambda d: d.take(-1), (10, 0, INF, UNK)),
    "take(20)": (lambda d: d.take(20), (10, 0, 20, UNK)),
    "skip(3)": (lambda d: d.skip(3), (7, 0, INF, UNK)),
    "skip(20)": (lambda d: d.skip(20), (0, 0, INF, UNK)),
    "shard(3, 1)": (lambda d: d.shard(3, 1), (3, 0, INF, UNK)),
    "batch(4)": (lambda d: d.batch(4), (3, 0, INF, UNK)),
    "batch(4, True)": (lambda d: d.batch(4, drop_remainder=True), (2, 0, INF, UNK)),
    'batch(4, remainder="pad")': (lambda d: d.batch(4, remainder="pad"), (3, 0, INF, UNK)),
    "ragged_batch(4)": (lambda d: d.ragged_batch(4), (3, 0, INF, UNK)),
    "padded_batch(4)": (lambda d: d.padded_batch(4), (3, 0, INF, UNK)),
    "padded_batch(4, True)": (lambda d: d.padded_batch(4, drop_remainder=True), (2, 0, INF, UNK)),
    "repeat()": (lambda d: d.repeat(), (INF, 0, INF, INF)),
    "repeat(-1)": (lambda d: d.repeat(-1), (INF, 0, INF, INF)),
    "repeat(2)": (lambda d: d.repeat(2), (20, 0, INF, UNK)),
    "repeat(0)": (lambda d: d.repeat(0), (0, 0, 0, 0)),
    "map": (lambda d: d.map(lambda x: x), (10, 0, INF, UNK)),
    "random_map": (lambda d: d.random_map(lambda x, rng: x), (10, 0, INF, UNK)),
    "shuffle(5)": (lambda d: d.shuffle(5), (10, 0, INF, UNK)),
    "enumerate": (lambda d: d.enumerate(), (10, 0, INF, UNK)),
    "scan": (lambda d: d.scan(0, lambda s, x: (s, x)), (10, 0, INF, UNK)),
    "group_by_window": (lambda d: d.group_by_window(lambda x: 0, lambda k, w: w.batch(2), 4), (UNK, UNK, INF, UNK)),
    "assert_cardinality": (lambda d: d.assert_cardinality(7), (7, 7, 7, 7)),
    "prefetch": (lambda d: d.prefetch(2), (10, 0, INF, UNK)),
    "with_options": (lambda d: d.with_options(ps.Options(seed=1)), (10, 0, INF, UNK)),
    "concatenate(10)": (lambda d: d.concatenate(ten()), (20, 10, INF, UNK)),
    "concatenate(endless)": (lambda d: d.concatenate(infinite()), (INF, INF, INF, INF)),
    "concatenate(unknown)": (lambda d: d.concatenate(unknown()), (UNK, UNK, INF, UNK)),
    "zip(4)": (lambda d: ps.Dataset.zip(d, ten().take(4)), (4, 0, 4, UNK)),
    "zip(endless)": (lambda d: ps.Dataset.zip(d, infinite()), (10, 0, INF, UNK)),
    "zip(unknown)": (lambda d: ps.Dataset.zip(d, unknown()), (UNK, UNK, UNK, UNK)),
    "batch and unbatch": (lambda d: d.batch(2, drop_remainder=True).unbatch(), (10, 0, INF, UNK)),
}

# Where tf.data says unknown, or less than can be said.
SHARPER: dict[str, tuple[Callable[[ps.Dataset], ps.Dataset], tuple[int, int, int, int]]] = {
    "take(0)": (lambda d: d.take(0), (0, 0, 0, 0)),
    "rebatch(3)": (lambda d: d.batch(2, drop_remainder=True).rebatch(3), (4, 0, INF, UNK)),
    "rebatch(3, True)": (lambda d: d.batch(2, drop_remainder=True).rebatch(3, drop_remainder=True), (3, 0, INF, UNK)),
    "rebatch([1, 3, 2])": (lambda d: d.batch(2, drop_remainder=True).rebatch([1, 3, 2]), (5, 0, INF, UNK)),
    "rebatch with a rest": (lambda d: d.batch(4).rebatch(3), (UNK, 0, INF, UNK)),
    "skip(-1)": (lambda d: d.skip(-1), (0, 0, 0, 0)),
    "filter": (lambda d: d.filter(lambda x: True), (UNK, 0, INF, UNK)),
    "map that skips": (lambda d: d.map(lambda x: x, on_error="skip"), (UNK, 0, INF, UNK)),
    "map that is ignored": (lambda d: d.map(lambda x: x).ignore_errors(), (UNK, 0, INF, UNK)),
    "nothing ignored": (lambda d: d.ignore_errors(), (10, 0, INF, UNK)),
    "sample with ten": (lambda d: ps.Dataset.sample_from_datasets([ps.Dataset.range(10), d]), (UNK, UNK, INF, UNK)),
    "sample with ten, stop": (
        lambda d: ps.Dataset.sample_from_datasets([ps.Dataset.range(10), d], stop_on_empty_dataset=True),
        (UNK, UNK, UNK, UNK),
    ),
    "sample with itself, stop": (
        lambda d: ps.Dataset.sample_from_datasets([d, d], stop_on_empty_dataset=True),
        (UNK, 0, INF, UNK),
    ),
    "choose": (lambda d: ps.Dataset.choose_from_datasets([d, d], ps.Dataset.range(2).repeat()), (UNK, 0, INF, UNK)),
    "choose ten": (lambda d: ps.Dataset.choose_from_datasets([d, d], ps.Dataset.range(10)), (UNK, UNK, UNK, UNK)),
    "mix with ten": (lambda d: ps.Dataset.mix([ps.Dataset.range(10), d]), (20, 1, 20, UNK)),
    "mix with itself": (lambda d: ps.Dataset.mix([d, d], [1, 2]), (16, 0, INF, UNK)),
    "take_while": (lambda d: d.take_while(lambda x: True), (UNK, 0, UNK, UNK)),
    "unique": (lambda d: d.unique(), (UNK, 0, UNK, UNK)),
    "rejection_resample": (lambda d: d.rejection_resample(lambda x: 0, [1.0]), (UNK, 0, INF, UNK)),
    "batch and unbatch with a rest": (lambda d: d.batch(4).unbatch(), (UNK, 0, INF, UNK)),
}


@pytest.mark.parametrize("verb", [*AS_TF_DATA, *SHARPER])
def test_cardinality(verb: str) -> None:
    apply, expected = {**AS_TF_DATA, **SHARPER}[verb]
    inputs = (ten(), ten().take(0), infinite(), unknown())
    assert tuple(apply(dataset).cardinality() for dataset in inputs) == expected


@pytest.mark.parametrize(
    ("dataset", "count"),
    [
        (ps.Dataset.range(2, 11, 3), 3),
        (ps.Dataset.range(5, 5), 0),
        (ps.Dataset.range(9, 0, -2), 5),
        (ps.Dataset.from_tensor_slices(np.zeros((7, 2))), 7),
        (ps.Dataset.from_tensors(np.zeros((7, 2))), 1),
        (ps.Dataset.from_source([1, 2, 3]), 3),
        (ps.Dataset.range(10)[2:9:3], 3),
        (ps.Dataset.range(10)[::-1], 10),
        (unknown(), UNK),
    ],
)
def test_cardinality_of_sources_and_slices(dataset: ps.Dataset, count: int) -> None:
    assert dataset.cardinality() == count


def test_cardinality_of_unbatch_does_not_trust_the_first_element() -> None:
    ragged = ps.Dataset.range(3).map(lambda n: np.arange(n + 1))
    assert ragged.element_spec == ps.Spec((1,), "int64")
    assert ragged.unbatch().cardinality() == UNK


@pytest.mark.parametrize(
    ("dataset", "size"),
    [
        (ten().batch(5), 5),
        (ten().batch(4), None),
        (ten().batch(4, drop_remainder=True), 4),
        (infinite().batch(4), 4),
        (unknown().batch(4), None),
    ],
)
def test_signature_of_batch_knows_the_size_where_every_batch_is_whole(dataset: ps.Dataset, size: int | None) -> None:
    assert dataset.element_spec == ps.Spec((size,), "int64")


SIGNATURES: dict[str, tuple[ps.Dataset, Any]] = {
    "zip of nests": (ps.Dataset.zip({"a": ten(), "b": (ten(), ten())}), {"a": INT, "b": (INT, INT)}),
    "enumerate": (ten().enumerate(), (INT, INT)),
    "enumerate of tuple": (ten().enumerate().enumerate(), (INT, (INT, INT))),
    "unbatch": (ten().batch(2).unbatch(), INT),
    "concatenate of shapes": (
        ps.Dataset.from_tensors(np.zeros(2)).concatenate(ps.Dataset.from_tensors(np.zeros(3))),
        ps.Spec((None,), "float64"),
    ),
    "declared map": (ten().map(str, output_signature=ps.Spec((), str)), ps.Spec((), str)),
    "text": (ps.Dataset.from_tensor_slices(["a"]), ps.Spec((), str)),
}


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name: str) -> None:
    dataset, expected = SIGNATURES[name]
    signature = node_of(dataset).signature()
    assert signature is not None
    assert signature.tree() == expected


@pytest.mark.parametrize(
    "dataset",
    [
        ten().map(lambda x: x),
        ten().map(lambda x: x).batch(2),
        ps.Dataset.zip(ten(), ten().map(lambda x: x)),
        ps.Dataset.from_source([1]),
        ten().map(lambda x: x).enumerate(),
    ],
)
def test_signature_of_an_opaque_function_is_unknown(dataset: ps.Dataset) -> None:
    assert node_of(dataset).signature() is None


def test_signature_of_concatenate_is_that_of_the_known_part() -> None:
    dataset = ten().map(lambda x: x).concatenate(ten())
    signature = node_of(dataset).signature()
    assert signature is not None
    assert signature.tree() == INT
