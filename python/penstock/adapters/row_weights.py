"""Which rows of a batch go to which replica, and what each weighs, so that the gradient is that of one device.

The law: a framework averages the gradients of W replicas, each the mean over its own rows, n of them, and not over the
N rows of the global batch. Their sum is the single device's where every row weighs n * W / N. Where all batches are
whole that is 1, and no weights are needed.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.adapters.feed import INFINITE_CARDINALITY, Feed, Shared
from penstock.adapters.world import World
from penstock.block.tree import structure_of
from penstock.errors import InvalidArgumentError

Purpose = Literal["fit", "evaluate", "predict"]
Weighing = Literal["none", "by mean", "by sum"]
_CLUSTER = "TF_CONFIG"
_REMEDY = "batch(..., drop_remainder=True), or a batch size that divides the dataset"
_BY_MEAN = frozenset({"sum_over_batch_size", "mean"})
_BY_SUM = frozenset({"sum", "none", None})


@dataclass(frozen=True, slots=True)
class Layout:
    """How many replicas this process has (`local`) and all processes together (`replicas`)."""

    local: int
    replicas: int

    @property
    def processes(self) -> int:
        return self.replicas // self.local


def shares(rows: int, replicas: int) -> list[slice]:
    """The rows of each replica, in order, as even as can be; empty ones where there are fewer rows than replicas."""
    return [slice(number * rows // replicas, (number + 1) * rows // replicas) for number in range(replicas)]


def row_weight(own_rows: int, replicas: int, global_rows: int) -> float:
    """What a row of a replica with `own_rows` weighs."""
    return own_rows * replicas / global_rows


def require_strategy(shared: Shared | None, world: World) -> None:
    """A model that belongs to no strategy trains alone, whatever the cluster.

    Raises: InvalidArgumentError: this process is one of a TF_CONFIG, and the dataset gives it its part only.
    """
    if shared is None or shared.policy == "off" or min(shared.world_size, world.size) < 2 or world.source != _CLUSTER:
        return
    raise InvalidArgumentError(
        "fit: the model was not built under a strategy, so each process would train its own on its part of the data",
        got=f"rank {world.rank} of {world.size} (TF_CONFIG)", expected='strategy="multi_worker"',
        remedy="build and compile it in `with runtime.scope():`; distribute(\"off\") gives each process everything",
    )  # fmt: skip


def is_even(feed: Feed, layout: Layout, shared: Shared | None = None) -> bool:
    """Whether every replica is known to get equally many rows at every step, and every process equally many steps.

    Raises: InvalidArgumentError: the replicas do not divide the full batch; or the dataset is shared out by another
        number of processes than there are.
    """
    processes = 1 if shared is None else shared.world_size
    if processes != layout.processes:
        raise InvalidArgumentError(
            "to_keras: processes of the strategy, and ranks of the dataset", got=f"{layout.processes} and {processes}",
            expected="equally many", remedy="distribute() without rank and world_size takes those of TF_CONFIG",
        )  # fmt: skip
    if feed.batch_size is None:
        return False
    replicas = layout.local if processes > 1 and shared is not None and shared.policy == "off" else layout.replicas
    if feed.batch_size % replicas:
        fitting = max(1, round(feed.batch_size / replicas)) * replicas
        raise InvalidArgumentError(
            f"to_keras: the global batch does not divide over {replicas} replicas", got=f"batch({feed.batch_size})",
            expected=f"a multiple of {replicas}", remedy=f"say batch({fitting})",
        )  # fmt: skip
    if shared is None:
        return feed.has_partial_batch is False
    return shared.is_whole and (processes == 1 or have_equal_steps(feed, shared))


def have_equal_steps(feed: Feed, shared: Shared) -> bool:
    """Whether all ranks are known to make equally many steps in an epoch."""
    if shared.policy == "data" or feed.cardinality == INFINITE_CARDINALITY:
        return True
    return shared.steps is not None and len(set(shared.steps)) == 1


def require_common_divisor(purpose: Purpose, element: Any, reductions: frozenset[Any]) -> None:
    """Batches that are whole need nothing but a loss that divides by the same on every replica.

    Raises: InvalidArgumentError: one that divides by the weights of a replica's rows, which differ.
    """
    has_weights = isinstance(element, tuple) and len(element) > 2
    if has_weights and purpose != "predict" and "mean_with_sample_weight" in reductions:
        raise InvalidArgumentError(
            f"{purpose}: the loss divides by the weights of a replica's rows, and they differ between replicas",
            got="reduction 'mean_with_sample_weight'", expected="'sum_over_batch_size', or 'sum'",
        )  # fmt: skip


def weighing_of(purpose: Purpose, element: Any, reductions: frozenset[Any]) -> Weighing:
    """How rows of batches that are not whole are weighed. `reductions`: of the model's losses.

    Under a loss that is a sum over rows all weigh 1, but for rows that are there for nothing.

    Raises: InvalidArgumentError: there is no way to be exact.
    """
    if purpose == "predict":
        return "none"
    by_sum = bool(reductions) and reductions <= _BY_SUM
    if not by_sum and not reductions <= _BY_MEAN:
        raise InvalidArgumentError(
            f"{purpose}: replicas get batches of unequal size, and the loss is not made the single device's by weights",
            got=f"reduction {' and '.join(sorted(map(repr, reductions)))}", expected="'sum_over_batch_size', or 'sum'",
            remedy=_REMEDY,
        )  # fmt: skip
    if not isinstance(element, tuple) or len(element) < 2:
        raise InvalidArgumentError(
            f"{purpose}: replicas get batches of unequal size, and elements without targets have no place for weights",
            expected="(inputs, targets)", remedy=_REMEDY,
        )  # fmt: skip
    return "by sum" if by_sum else "by mean"


def weighted(part: Any, weight: float) -> Any:
    """(inputs, targets, weights) of a replica's rows, each of which weighs `weight` times what it did.

    The weights have as many axes as the targets, less the last one, of which losses take the mean.
    """
    targets = part[1]
    structure = structure_of(targets)
    if len(part) > 2:
        old = structure_of(part[2])
        return (
            *part[:2],
            old.unflatten([np.asarray(leaf, _weight_dtype(leaf)) * weight for leaf in old.flatten(part[2])]),
        )
    new = [_weights(leaf, weight) for leaf in structure.flatten(targets)]
    return (*part, new[0] if len({leaf.ndim for leaf in new}) == 1 else structure.unflatten(new))


def _weights(target: Any, weight: float) -> npt.NDArray[np.float32]:
    return np.full((len(target), *(1,) * (target.ndim - 2)), weight, np.float32)


def _weight_dtype(leaf: Any) -> Any:
    return leaf.dtype if leaf.dtype.kind == "f" else np.float32
