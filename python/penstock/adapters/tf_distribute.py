"""A feed under a tf.distribute strategy: each replica's rows of each global batch, weighed where they are unequal.

A `tf.distribute.DistributedDataset` of our own: Keras takes it as it is, and in-graph iteration, which cannot run
Python, is left out. Where all batches are whole, a batch is cut up and that is all. Where they may not be, rows carry
weights (see `row_weights`), and several processes first tell each other how many rows each has (a scalar summed over
them; 4 ms on loopback): so they also end together, one that is out of rows going on with rows of weight 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from penstock.adapters.feed import Feed, Shared
from penstock.adapters.keras_call import Call, find_call, weigh_reported_loss
from penstock.adapters.passes import Passes
from penstock.adapters.row_weights import (
    Layout,
    is_even,
    require_common_divisor,
    row_weight,
    shares,
    weighing_of,
    weighted,
)
from penstock.adapters.tensorflow import converter, end_of_data
from penstock.block.tree import structure_of
from penstock.errors import InvalidArgumentError


def distributed_dataset(
    passes: Passes, strategy: Any, shared: Shared | None = None, weigh: Callable[[Any], Any] | None = None
) -> Any:
    """What `fit` of a model built under `strategy` takes.

    shared: how the dataset is dealt out to processes. weigh: gives each batch the weights of its classes.

    Raises: InvalidArgumentError: the batch does not divide over the replicas; ranks of the dataset are not the
        strategy's processes; a strategy that is neither mirrored nor of one device.
    """
    import tensorflow as tf

    fed = (tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy, tf.distribute.OneDeviceStrategy)
    if not isinstance(strategy, fed):
        raise InvalidArgumentError(
            "to_keras: this strategy is not fed", got=type(strategy).__name__,
            expected="one of MirroredStrategy, MultiWorkerMirroredStrategy, OneDeviceStrategy",
        )  # fmt: skip
    made = type("PenstockDistributedDataset", (DistributedBatches, tf.distribute.DistributedDataset), {})
    return made(passes, strategy, shared, weigh)


def batches_of_all(feed: Feed, strategy: Any, shared: Shared | None) -> int | None:
    """Steps per epoch: the batches of the process that has most; None where that is endless or unknown."""
    if shared is not None and shared.world_size > 1 and shared.steps and strategy is not None:
        return max(shared.steps)
    return feed.cardinality if feed.cardinality >= 0 else None


class DistributedBatches:
    """The body of the DistributedDataset, without its base class, which is known only once TensorFlow is imported."""

    def __init__(
        self, passes: Passes, strategy: Any, shared: Shared | None, weigh: Callable[[Any], Any] | None
    ) -> None:
        self._passes = passes
        self._weigh = weigh
        self._strategy = strategy
        devices = strategy.extended.worker_devices
        self._layout = Layout(len(devices), strategy.num_replicas_in_sync)
        self._is_even = is_even(passes.feed, self._layout, shared)
        self._devices = tuple(devices)
        self._convert = converter()
        self._sum: Callable[[int], int] | None = None
        if not self._is_even and self._layout.processes > 1:
            self._sum = _sum_over_processes(strategy)

    @property
    def element_spec(self) -> Any:
        return self._passes.feed.element_spec

    def __iter__(self) -> Iterator[Any]:
        call = find_call()
        raw = self._passes() if self._weigh is None else self._passes(self._weigh)
        if call.is_peek:
            return self._peeked(raw, call)
        return self._distributed(raw, call)

    def _peeked(self, raw: Iterator[Any], call: Call) -> Iterator[Any]:
        """Batches as the first replica gets them, but no values of replicas: Keras would add these up."""
        for batch in raw:
            yield self._convert(self._parts(batch, call, None)[0])

    def _distributed(self, raw: Iterator[Any], call: Call) -> Iterator[Any]:
        example: Any = None
        try:
            while True:
                batch = next(raw, None)
                if self._sum is None:
                    if batch is None:
                        break
                    total = None
                else:
                    total = self._sum(0 if batch is None else _rows(batch))
                    if not total:
                        break
                    if batch is None:
                        batch = _nothing_like(example)
                    elif example is None:
                        example = _copied(batch)
                parts = self._parts(batch, call, total, example)
                del batch  # a suspended generator keeps its variables, and a batch kept is a buffer kept
                handed_over = [self._put(parts)]
                del parts
                yield handed_over.pop()
        finally:
            raw.close()  # type: ignore[attr-defined]  # it is a generator
        raise end_of_data()

    def _parts(self, batch: Any, call: Call, total: int | None, example: Any = None) -> list[Any]:
        """The batch cut up, a part for each replica of this process; `total`: rows of all processes together."""
        rows = _rows(batch)
        cuts = shares(rows, self._layout.local)
        if self._is_even:
            if rows % self._layout.local:
                raise InvalidArgumentError(
                    f"{call.purpose}: a batch does not divide over {self._layout.local} replicas", got=f"{rows} rows",
                    remedy="what comes after batch() changes the number of rows: batch after it",
                )  # fmt: skip
            require_common_divisor(call.purpose, batch, call.reductions)
            return [_cut(batch, cut) for cut in cuts]
        weighing = weighing_of(call.purpose, batch, call.reductions)
        if weighing == "none":
            return [_cut(batch, cut) for cut in cuts]
        weigh_reported_loss(call.model, call.purpose)
        all_rows = rows if total is None else total
        parts = []
        for cut in cuts:
            own = cut.stop - cut.start
            if own or call.purpose == "evaluate":
                weight = row_weight(own, self._layout.replicas, all_rows) if weighing == "by mean" else 1.0
                parts.append(weighted(_cut(batch, cut), weight))
            else:  # one row that counts for nothing: of none, a batch normalisation learns not-a-number
                parts.append(weighted(_cut(batch if rows else example, slice(0, 1)), 0.0))
        return parts

    def _put(self, parts: list[Any]) -> Any:
        """The parts as values of the replicas, each on its device."""
        import tensorflow as tf

        if self._layout.replicas == 1:
            return self._convert(parts[0])
        values = []
        for part, device in zip(parts, self._devices, strict=True):
            with tf.device(device):
                values.append(tf.nest.map_structure(tf.identity, self._convert(part), expand_composites=True))
        following = iter(values)
        return self._strategy.experimental_distribute_values_from_function(lambda context: next(following))


def _sum_over_processes(strategy: Any) -> Callable[[int], int]:
    import tensorflow as tf

    add_up = tf.function(lambda rows: strategy.reduce(tf.distribute.ReduceOp.SUM, rows, axis=None))
    return lambda rows: int(add_up(tf.constant(rows, tf.float32)))


def _rows(batch: Any) -> int:
    return len(structure_of(batch).flatten(batch)[0])


def _cut(batch: Any, cut: slice) -> Any:
    structure = structure_of(batch)
    return structure.unflatten([leaf[cut] for leaf in structure.flatten(batch)])


def _copied(batch: Any) -> Any:
    """The first row, kept without the buffer it lies in."""
    structure = structure_of(batch)
    return structure.unflatten([leaf[:1].copy() for leaf in structure.flatten(batch)])


def _nothing_like(example: Any) -> Any:
    """No rows, of the structure and the shapes of others."""
    if example is None:
        raise InvalidArgumentError(
            "distribute: this process has no batch at all", expected="at least one", remedy='policy="data"'
        )
    return _cut(example, slice(0, 0))
