"""Windows batched by a flat map are gathered; what the rule cannot see through stays as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock import UNKNOWN_CARDINALITY, Dataset, Options, Spec
from penstock.graph.nodes import Slide
from penstock.graph.walk import nodes_of, numbered
from penstock.optimize.driver import optimize
from penstock.testing import assert_same_elements, collect

PAIRS = {"a": np.arange(11), "b": np.arange(22).reshape(11, 2)}


CALLED: list[int] = []


def slides(dataset: Dataset) -> bool:
    graph, _ = optimize(numbered(dataset._node), frozenset(), lambda: 0.0)
    return any(isinstance(node, Slide) for node in nodes_of(graph))


def join(w: Any) -> Dataset:
    return Dataset.zip({"y": w["b"].batch(4), "x": w["a"].batch(4)})


SEEN: dict[str, Callable[[], Dataset]] = {
    "batch": lambda: Dataset.range(11).window(4, 2).flat_map(lambda w: w.batch(4)),
    "larger batch": lambda: Dataset.range(11).window(4, 3, 2).flat_map(lambda w: w.batch(9)),
    "dropped": lambda: Dataset.range(11).window(4, 3).flat_map(lambda w: w.batch(4, drop_remainder=True)),
    "dict": lambda: Dataset.from_tensor_slices(PAIRS).window(4).flat_map(join),
    "one leaf": lambda: Dataset.from_tensor_slices(PAIRS).window(4, 1).flat_map(lambda w: w["b"].batch(4)),
    "large rows": lambda: Dataset.range(9).map(lambda x: np.full(400, x)).window(3, 1).flat_map(lambda w: w.batch(3)),
}


@pytest.mark.parametrize("name", SEEN)
def test_rule_gathers_what_children_would_give(name: str) -> None:
    make = SEEN[name]
    assert slides(make()) or name == "large rows"  # what an opaque map gives is not known beforehand
    drawn = lambda ds: ds.enumerate().random_map(lambda n, x, rng: (n, x, rng.random()))  # noqa: E731
    slow = Options(skip_rules=frozenset({"slide_windows"}), executor="inline", block_size=1)
    assert_same_elements(collect(drawn(make())), collect(drawn(make()).with_options(slow)), name)
    assert make().element_spec == make().with_options(slow).element_spec


@pytest.mark.parametrize(
    "function",
    [
        lambda w: w.batch(3),
        lambda w: w.batch(5, drop_remainder=True),
        lambda w: w.batch(4).batch(1),
        lambda w: w,
        lambda w: w.skip(1).batch(4),
        lambda w: Dataset.zip(w.batch(4), w.batch(4)),
        lambda w: Dataset.range(3).batch(4),
        lambda w: w.batch(len(w)),
        lambda w: w.batch(4, remainder="pad"),
        lambda w: (CALLED.append(0), w.batch(4))[1],
    ],
)
def test_rule_leaves_what_it_does_not_know(function: Callable[[Any], Any]) -> None:
    assert not slides(Dataset.range(11).window(4).flat_map(function))
    assert CALLED == []


@pytest.mark.parametrize("drops", [True, False])
def test_no_window_is_no_batch(drops: bool) -> None:
    dataset = Dataset.range(3).window(4, drop_remainder=drops).flat_map(lambda w: w.batch(4, drop_remainder=True))
    assert slides(dataset)
    assert list(dataset) == []
    assert dataset.cardinality() == (0 if drops else UNKNOWN_CARDINALITY)


def test_memory_of_large_windows_is_bounded() -> None:
    dataset = Dataset.range(3000).window(1000, 1, drop_remainder=True).flat_map(lambda w: w.batch(1000))
    assert slides(dataset)
    assert len(list(dataset)) == 2001


def test_ragged_rows_are_told_with_both_places() -> None:
    rows = Dataset.from_generator(
        lambda: (np.zeros(n) for n in (2, 2, 3, 2)), output_signature=Spec((None,), np.float64)
    )
    dataset = rows.window(2, 1).flat_map(lambda w: w.batch(2))
    assert slides(dataset)
    with pytest.raises(ValueError, match=r"flat_map at .*window of 2 from element 1.*batch at .*shape"):
        list(dataset)
