"""Rows, weights and refusals under a strategy, without a framework: the law is the gradient of one device."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.adapters.feed import Shared, shared_of
from penstock.adapters.row_weights import (
    Layout,
    Purpose,
    is_even,
    require_common_divisor,
    require_strategy,
    row_weight,
    shares,
    weighing_of,
    weighted,
)
from penstock.adapters.world import World
from penstock.dataset import DatasetFeed
from penstock.errors import InvalidArgumentError, PenstockWarning

MEAN = frozenset({"sum_over_batch_size"})
PAIR = (np.zeros((2, 3), np.float32), np.zeros(2, np.float32))


@dataclass
class Batches:
    batch_size: int | None = 8
    has_partial_batch: bool | None = False
    cardinality: int = 4


@pytest.mark.parametrize("replicas", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("rows", [0, 1, 2, 7, 8, 25])
def test_each_row_goes_to_one_replica_in_order(rows: int, replicas: int) -> None:
    taken = [row for cut in shares(rows, replicas) for row in range(cut.start, cut.stop)]
    assert taken == list(range(rows))
    lengths = [cut.stop - cut.start for cut in shares(rows, replicas)]
    assert max(lengths) - min(lengths) <= 1


@pytest.mark.parametrize("replicas", [2, 3, 4])
@pytest.mark.parametrize("rows", [1, 2, 7, 25])
def test_weighted_means_of_replicas_average_to_the_mean_of_all(rows: int, replicas: int) -> None:
    losses = np.random.default_rng(rows).normal(size=rows)
    of_replicas = [
        (losses[cut] * row_weight(cut.stop - cut.start, replicas, rows)).mean()
        for cut in shares(rows, replicas)
        if cut.stop > cut.start
    ]
    assert sum(of_replicas) / replicas == pytest.approx(losses.mean())


@pytest.mark.parametrize(
    ("shape", "expected"),
    [((4,), (4,)), ((4, 1), (4,)), ((4, 9), (4,)), ((4, 5, 6), (4, 1)), ((4, 5, 6, 2), (4, 1, 1))],
)
def test_weights_have_the_axes_of_losses(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    *_, weights = weighted((np.zeros((4, 2)), np.zeros(shape)), 0.5)
    assert (weights.shape, weights.dtype, set(weights.ravel())) == (expected, np.float32, {0.5})


def test_weights_follow_the_targets_where_these_differ_in_rank() -> None:
    targets = {"class": np.zeros(4), "mask": np.zeros((4, 5, 6))}
    *_, weights = weighted((np.zeros(4), targets), 0.5)
    assert {name: leaf.shape for name, leaf in weights.items()} == {"class": (4,), "mask": (4, 1)}
    *_, alike = weighted((np.zeros(4), {"a": np.zeros(4), "b": np.zeros((4, 3))}), 0.5)
    assert alike.shape == (4,)


@pytest.mark.parametrize(("dtype", "expected"), [(np.float64, np.float64), (np.int64, np.float32)])
def test_weights_that_there_were_are_multiplied(dtype: Any, expected: Any) -> None:
    *_, weights = weighted((np.zeros(3), np.zeros(3), np.arange(3, dtype=dtype)), 0.5)
    assert (weights.tolist(), weights.dtype) == ([0, 0.5, 1], expected)


@pytest.mark.parametrize(
    ("feed", "layout", "shared", "expected"),
    [
        (Batches(), Layout(2, 2), None, True),
        (Batches(has_partial_batch=True), Layout(2, 2), None, False),
        (Batches(has_partial_batch=None), Layout(2, 2), None, False),
        (Batches(batch_size=None), Layout(2, 2), None, False),
        (Batches(), Layout(2, 4), Shared("data", 2, (4, 4), is_whole=True), True),
        (Batches(), Layout(1, 2), Shared("data", 2, None, is_whole=True), True),
        (Batches(), Layout(1, 2), Shared("data", 2, (4, 4), is_whole=False), False),
        (Batches(), Layout(1, 2), Shared("file", 2, (4, 3), is_whole=True), False),
        (Batches(), Layout(1, 2), Shared("file", 2, (4, 4), is_whole=True), True),
        (Batches(), Layout(1, 2), Shared("file", 2, None, is_whole=True), False),
        (Batches(cardinality=-1), Layout(1, 2), Shared("file", 2, None, is_whole=True), True),
        (Batches(batch_size=3), Layout(1, 2), Shared("off", 2, (4, 4), is_whole=True), True),
    ],
)
def test_batches_are_even_where_that_is_known(feed: Any, layout: Layout, shared: Any, expected: bool) -> None:
    assert is_even(feed, layout, shared) is expected


def test_a_batch_that_replicas_do_not_divide_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"over 3 replicas; got batch\(8\).*say batch\(9\)"):
        is_even(Batches(), Layout(3, 3))  # type: ignore[arg-type]  # what is asked of a feed is there


def test_a_model_of_no_strategy_does_not_train_on_a_part_of_the_data() -> None:
    shared, cluster = Shared("data", 2, None, is_whole=True), World(1, 2, "TF_CONFIG")
    with pytest.raises(InvalidArgumentError, match=r"got rank 1 of 2 \(TF_CONFIG\).*runtime.scope"):
        require_strategy(shared, cluster)
    require_strategy(shared, World(1, 2, "RANK and WORLD_SIZE"))
    require_strategy(shared, World(0, 1, "one process"))
    require_strategy(Shared("off", 2, None, is_whole=True), cluster)
    require_strategy(None, cluster)


def test_ranks_that_are_not_the_processes_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="got 2 and 3, expected equally many"):
        is_even(Batches(), Layout(1, 2), Shared("data", 3, None, is_whole=True))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("purpose", "reductions", "expected"),
    [
        ("fit", MEAN, "by mean"),
        ("fit", frozenset(), "by mean"),
        ("evaluate", MEAN | {"mean"}, "by mean"),
        ("fit", frozenset({"sum"}), "by sum"),
        ("predict", frozenset({"mean_with_sample_weight"}), "none"),
    ],
)
def test_rows_are_weighed_as_the_loss_is_reduced(purpose: Purpose, reductions: frozenset[Any], expected: str) -> None:
    assert weighing_of(purpose, PAIR, reductions) == expected


def test_what_no_weights_make_exact_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"fit: .*'mean_with_sample_weight'.*drop_remainder=True"):
        weighing_of("fit", PAIR, frozenset({"mean_with_sample_weight"}))
    with pytest.raises(InvalidArgumentError, match=r"'sum' and 'sum_over_batch_size'"):
        weighing_of("fit", PAIR, MEAN | {"sum"})
    with pytest.raises(InvalidArgumentError, match="divides by the weights of a replica's rows"):
        require_common_divisor("fit", (*PAIR, PAIR[1]), frozenset({"mean_with_sample_weight"}))
    require_common_divisor("fit", PAIR, frozenset({"mean_with_sample_weight"}))
    require_common_divisor("fit", (*PAIR, PAIR[1]), MEAN)
    with pytest.raises(InvalidArgumentError, match="no place for weights"):
        weighing_of("fit", PAIR[0], MEAN)


@pytest.mark.parametrize(
    ("dataset", "expected"),
    [
        (ps.Dataset.range(20).batch(8), Shared("off", 1, (3,), is_whole=False)),
        (ps.Dataset.range(24).batch(8), Shared("off", 1, (3,), is_whole=True)),
        (ps.Dataset.range(20).repeat().batch(8), Shared("off", 1, None, is_whole=True)),
        (ps.Dataset.range(20).batch(8).distribute("data", 1, 2), Shared("data", 2, (3, 3), is_whole=False)),
        (ps.Dataset.range(20).batch(8).distribute("data", 1, 2).take(2), Shared("data", 2, (2, 2), is_whole=False)),
    ],
)
def test_a_dataset_says_how_it_is_shared_out(dataset: ps.Dataset, expected: Shared) -> None:
    assert shared_of(DatasetFeed(dataset)) == expected


def test_unequal_files_are_told_with_their_counts(tmp_path: Path) -> None:
    for number, lines in enumerate((5, 3, 4)):
        (tmp_path / f"{number}.txt").write_text("line\n" * lines)
    files = sorted(map(str, tmp_path.iterdir()))
    lines = ps.TextLineDataset(files).batch(4, drop_remainder=True)
    with pytest.warns(PenstockWarning, match=r'by "file", ranks receive unequal parts: .*to_keras\(\)'):
        mine = lines.distribute("file", 0, 2)
    steps = DatasetFeed(mine).shared.steps
    assert steps is None or len(set(steps)) == 2
