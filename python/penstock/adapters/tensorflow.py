"""Batches as TensorFlow tensors, without a copy where the buffer allows it.

A tensor made from an aligned buffer aliases it and keeps its owner alive, so the buffer comes back to its pool when
TensorFlow lets go of it. `tf.constant` and `tf.convert_to_tensor` always copy (17 to 27 ms for 38 MB).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from penstock.adapters.delivery import Delivery
from penstock.adapters.feed import UNKNOWN_CARDINALITY, Feed
from penstock.adapters.moving import Convert, PlaceInThread
from penstock.adapters.nest import is_aliasable, leafwise, named_leaves, specwise
from penstock.adapters.passes import Passes
from penstock.block.ragged import Ragged
from penstock.block.spec import Spec
from penstock.errors import InvalidArgumentError, MissingDependencyError

_AHEAD = 2  # batches on the device beside the one in use


def to_tf(feed: Feed, device: str | None = None, as_dataset: bool = False) -> Any:
    """Eager tensors, the next epoch for each `iter()`; or a `tf.data.Dataset` of the same batches.

    device: where the tensors are copied to, two batches ahead, by a thread of its own. None: on the host, where aligned
    arrays are aliased and others copied.
    Raises: InvalidArgumentError: TensorFlow has no such device; MissingDependencyError: TensorFlow is not installed.
    """
    try:
        import tensorflow as tf
    except ImportError as error:
        raise MissingDependencyError(
            "to_tf needs TensorFlow", got=str(error), remedy="pip install tensorflow"
        ) from error
    name = None if device is None else _device_name(device, [known.name for known in tf.config.list_logical_devices()])
    if as_dataset:
        dataset = to_tf_dataset(feed)
        return dataset if name is None else dataset.apply(tf.data.experimental.prefetch_to_device(name, _AHEAD))
    return Delivery(feed, Convert(converter()) if name is None else PlaceInThread(copier(name), _AHEAD))


def converter() -> Callable[[Any], Any]:
    """A function from a batch to the same nest of `tf.Tensor`; text becomes `tf.string`, Ragged a `tf.RaggedTensor`."""
    import tensorflow as tf

    from_dlpack = tf.experimental.dlpack.from_dlpack

    def convert(array: Any) -> Any:
        if isinstance(array, Ragged):
            return tf.RaggedTensor.from_row_splits(convert(array.values), array.row_splits, validate=False)
        # The alignment is checked here because TensorFlow checks it too late: it aborts the process, at first use.
        if isinstance(array, np.ndarray) and is_aliasable(array):
            return from_dlpack(array.__dlpack__())
        return tf.convert_to_tensor(array)

    return leafwise(convert)


def copier(device: str) -> Callable[[Any], Any]:
    """A function from a batch to the same nest of tensors on `device`; text stays on the host."""
    import tensorflow as tf

    convert = converter()

    def copy(tensor: Any) -> Any:
        return tensor if tensor.dtype == tf.string else tf.identity(tensor)

    def place(batch: Any) -> Any:
        tensors = convert(batch)
        with tf.device(device):
            return tf.nest.map_structure(copy, tensors, expand_composites=True)

    return place


def end_of_data() -> BaseException:
    """What a loop of Keras takes for the end of a dataset whose length it does not know."""
    import tensorflow as tf

    error: BaseException = tf.errors.OutOfRangeError(None, None, "end of the dataset")
    return error


def to_tf_dataset(feed: Feed) -> Any:
    """A `tf.data.Dataset` of `feed`'s batches, one epoch per iteration; aligned arrays are aliased, others copied."""
    import tensorflow as tf

    passes = Passes(feed)
    signature = specwise(_tf_spec, feed.element_spec)
    batches = (
        partial(passes, converter()) if any(leaf.ragged_rank for _, leaf in named_leaves(feed.element_spec)) else passes
    )
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)
    if feed.cardinality == UNKNOWN_CARDINALITY:
        return dataset
    return dataset.apply(tf.data.experimental.assert_cardinality(feed.cardinality))


def _tf_spec(leaf: Spec) -> Any:
    import tensorflow as tf

    if leaf.ragged_rank:
        return tf.RaggedTensorSpec(leaf.shape, _tf_dtype(leaf.dtype), leaf.ragged_rank, tf.int64)
    return tf.TensorSpec(leaf.shape, _tf_dtype(leaf.dtype))


def _tf_dtype(dtype: np.dtype[Any]) -> Any:
    import tensorflow as tf

    return tf.string if dtype.kind in "SU" else tf.as_dtype(dtype)


def _device_name(device: str, known: list[str]) -> str:
    """The one of `known` that `device` means. TensorFlow itself would take the host for a device that is not there."""
    wanted = str(device).lower().rpartition("device:")[2].strip("/")
    kind, _, index = wanted.partition(":")
    for name in known:
        if name.lower().rpartition("device:")[2] == f"{kind}:{index or 0}":
            return name
    raise InvalidArgumentError("to_tf: device", got=repr(device), expected=f"one of {known}")
