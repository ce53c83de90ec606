"""Keras' `fit` under MultiWorkerMirroredStrategy, repaired where it is broken (keras#20585, seen in 3.15).

Two places: the first batch is averaged over replicas as a whole nest, which TensorFlow does for single tensors only;
and the scalars that a step returns are averaged along an axis that they do not have. Each is tried on stand-ins,
without a cluster, and put right only if it fails; so where Keras is repaired, nothing is touched.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def repair_multi_worker() -> tuple[tuple[str, ...], Callable[[], None]]:
    """Put right what is broken in this Keras: what that was (nothing: it is not), and a function that takes it back.

    Raises: ImportError, AttributeError: Keras is built otherwise than any version known, and nothing was changed.
    """
    from keras.src.backend.tensorflow import trainer as module

    repairs: list[tuple[str, Any, str, Any]] = []
    if _averages_nests_at_once(module):
        repaired = _leafwise_build(module.TensorFlowTrainer._maybe_symbolic_build)
        repairs.append(("the first batch", module.TensorFlowTrainer, "_maybe_symbolic_build", repaired))
    if _averages_scalars_along_an_axis(module):
        repaired = _scalars_without_axis(module.reduce_per_replica)
        repairs.append(("the metrics of a step", module, "reduce_per_replica", repaired))
    before = [(owner, name, getattr(owner, name)) for _, owner, name, _ in repairs]
    for _, owner, name, new in repairs:
        setattr(owner, name, new)

    def undo() -> None:
        for owner, name, old in before:
            setattr(owner, name, old)

    return tuple(text for text, *_ in repairs), undo


def _leafwise_build(build: Callable[..., Any]) -> Callable[..., Any]:
    """`build` given the first replica's part of the batch, whose dtypes and inner shapes are all it looks at.

    It keeps the name of what it replaces: by that, `keras_call` knows a batch that is read to learn shapes.
    """
    import tensorflow as tf
    from keras import tree

    def _maybe_symbolic_build(self: Any, iterator: Any = None, data_batch: Any = None) -> Any:
        if self._distribute_strategy is None or iterator is None:
            return build(self, iterator=iterator, data_batch=data_batch)

        def first(value: Any) -> Any:
            if isinstance(value, tf.distribute.DistributedValues):
                return self._distribute_strategy.experimental_local_results(value)[0]
            return value

        for _, _, batches in iterator:
            data_batch = tree.map_structure(first, next(batches))
            break
        return build(self, iterator=None, data_batch=data_batch)

    return _maybe_symbolic_build


def _scalars_without_axis(reduce_per_replica: Callable[..., Any]) -> Callable[..., Any]:
    import tensorflow as tf
    from keras import tree

    def repaired(values: Any, strategy: Any, reduction: str) -> Any:
        is_mean = reduction in ("auto", "mean")
        if not is_mean or not isinstance(strategy, tf.distribute.MultiWorkerMirroredStrategy):
            return reduce_per_replica(values, strategy, reduction)
        return tree.map_structure(lambda value: strategy.reduce("MEAN", value, axis=None), values)

    return repaired


def _averages_nests_at_once(module: Any) -> bool:
    import tensorflow as tf

    value: Any = object.__new__(type("Value", (tf.distribute.DistributedValues,), {}))
    seen: list[Any] = []

    class Stop(Exception):  # noqa: N818 - ends the trial as soon as it has been seen
        pass

    class Strategy:
        def reduce(self, reduction: str, values: Any, axis: Any = None) -> Any:
            seen.append(values)
            raise Stop

        def experimental_local_results(self, values: Any) -> Any:
            raise Stop

    class Trainer:
        _distribute_strategy = distribute_strategy = Strategy()

    try:
        module.TensorFlowTrainer._maybe_symbolic_build(Trainer(), iterator=[(0, 0, iter([(value, value)]))])
    except Stop:
        return bool(seen) and isinstance(seen[0], tuple)
    return False


def _averages_scalars_along_an_axis(module: Any) -> bool:
    import tensorflow as tf

    axes: list[Any] = []

    class Extended:
        def _in_multi_worker_mode(self) -> bool:
            return True

    class Strategy(tf.distribute.MultiWorkerMirroredStrategy):  # type: ignore[misc]  # TensorFlow has no types
        extended = Extended()

        def reduce(self, reduction: str, value: Any, axis: Any = None) -> Any:
            axes.append(axis)
            return value

    module.reduce_per_replica(tf.constant(1.0), object.__new__(Strategy), "mean")
    return any(axis is not None for axis in axes)
