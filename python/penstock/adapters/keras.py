"""A feed as something that Keras' `fit`, `evaluate`, `predict` and `validation_data` take, on every backend.

Keras takes few things: arrays, tf.data, PyDataset, DataLoader, generators, and a `DataAdapter`, its own inner form of
all of them. The last is the only one that copies nothing, loses nothing and repeats nothing, so a feed becomes one.
It is not exported by Keras: where it is missing or not accepted, the feed becomes a `tf.data.Dataset` on TensorFlow and
a `PyDataset` elsewhere (on TensorFlow, Keras reads a PyDataset from several threads at once). Only this file knows.
"""

from __future__ import annotations

import re
import sys
import weakref
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

from penstock.adapters.class_weight import weigher
from penstock.adapters.delivery import Mover, look_ahead
from penstock.adapters.feed import AroundFeed, Feed, shared_of
from penstock.adapters.jax import converter as jax_converter
from penstock.adapters.keras_call import find_call
from penstock.adapters.keras_replicas import check_jax, check_torch
from penstock.adapters.nest import named_leaves
from penstock.adapters.passes import Passes
from penstock.adapters.py_dataset import InOrder
from penstock.adapters.row_weights import require_strategy
from penstock.adapters.tensorflow import converter as tensorflow_converter
from penstock.adapters.tensorflow import end_of_data, to_tf_dataset
from penstock.adapters.tf_distribute import batches_of_all, distributed_dataset
from penstock.adapters.torch import mover_to
from penstock.adapters.world import detect_world
from penstock.errors import InvalidArgumentError, MissingDependencyError, UnsupportedValueError

_FIRST_VERSION = (3, 9)  # 3.0 to 3.6 have the class and refuse its instances


def to_keras(feed: Feed) -> Any:
    """What `model.fit(x)` takes, giving each batch of `feed` once per epoch, without a copy where the buffers allow it.

    Each call of `fit` goes on with the next epoch. Under a Keras distribution on JAX, its devices share each batch.

    Raises: InvalidArgumentError: the elements are no batches, or there are none, or too many parts.
        UnsupportedValueError: a leaf is text and the backend has no dtype for it.
        MissingDependencyError: Keras is not installed.
    """
    try:
        import keras
    except ImportError as error:
        raise MissingDependencyError(
            "to_keras needs Keras", got=str(error), remedy='pip install "keras>=3.9" and a backend'
        ) from error
    backend = keras.backend.backend()
    _check(feed, backend)
    base = _data_adapter()
    if base is not None:
        return type("PenstockDataAdapter", (Adapter, base), {"__doc__": Adapter.__doc__})(feed)
    if backend == "tensorflow":
        return to_tf_dataset(feed)
    return _py_dataset(feed, keras.utils.PyDataset)


class Adapter(AroundFeed):
    """The body of the DataAdapter, without its base class, which is known only once Keras is imported.

    `feed` may be replaced by another around it before the first epoch, to record what passes.
    """

    def __init__(self, feed: Feed) -> None:
        super().__init__()
        self.passes = Passes(feed, is_peek=lambda: find_call().is_peek)
        self._shared = shared_of(feed)  # of the dataset's own feed: what is put around it may not know
        self._weighers: weakref.WeakKeyDictionary[Any, Callable[[Any], Any]] = weakref.WeakKeyDictionary()
        self._mover: Mover | None = None

    @property
    def feed(self) -> Feed:
        return self.passes.feed

    @feed.setter
    def feed(self, feed: Feed) -> None:
        self.passes.feed = feed

    def get_tf_dataset(self) -> Any:
        strategy, weigh = find_call().strategy, self._weighing(sys._getframe(1))
        if strategy is None:
            require_strategy(self._shared, detect_world())
            return _TensorFlowPasses(self.passes, weigh)
        return distributed_dataset(self.passes, strategy, self._shared, weigh)

    def get_jax_iterator(self) -> Iterator[Any]:
        check_jax(self.feed, self._shared)
        return self.passes(_after(self._weighing(sys._getframe(1)), jax_converter()))

    def get_torch_dataloader(self) -> Iterator[Any]:
        check_torch(self.feed, self._shared)
        if self._mover is None:  # one for all epochs: page-locked memory is kept
            self._mover = mover_to(_torch_device())
        mover, send = self._mover, _after(self._weighing(sys._getframe(1)), self._mover.send)
        return self.passes(send, through=lambda sent: look_ahead(sent, mover) if mover.ahead else sent)

    def get_numpy_iterator(self) -> Iterator[Any]:
        return self.passes(self._weighing(sys._getframe(1)) or (lambda batch: batch))

    @property
    def num_batches(self) -> int | None:
        asking = sys._getframe(1).f_locals
        class_weight = _class_weight_of_fit(asking)
        if class_weight is not None:
            self._weighers[asking["self"]] = weigher(class_weight)
        return batches_of_all(self.feed, find_call().strategy, self._shared)

    def _weighing(self, frame: FrameType) -> Callable[[Any], Any] | None:
        """What weighs the batches of the loop that is asking: it is known by the object that asked for the length."""
        asking = frame.f_locals.get("self")
        return next((weigh for known, weigh in self._weighers.items() if known is asking), None)

    def on_epoch_begin(self) -> None:
        """Nothing: Keras does not call these in pairs, so epochs are counted where they are opened."""

    def on_epoch_end(self) -> None:
        """Nothing, for the same reason."""


class _TensorFlowPasses:
    """A plain iterable in the place of a `tf.data.Dataset`: Keras then hands each batch to its compiled step itself."""

    def __init__(self, passes: Passes, weigh: Callable[[Any], Any] | None = None) -> None:
        self._passes = passes
        self._weigh = weigh

    def __iter__(self) -> Iterator[Any]:
        return self._passes(_after(self._weigh, tensorflow_converter()), end=end_of_data)


def _after(first: Callable[[Any], Any] | None, second: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return second if first is None else lambda batch: second(first(batch))


def _check(feed: Feed, backend: str) -> None:
    if feed.cardinality == 0:
        raise InvalidArgumentError(
            "to_keras: the dataset has no batch",
            expected="at least one",
            remedy="it is empty, or smaller than a batch whose remainder is dropped",
        )
    spec = feed.element_spec
    if isinstance(spec, tuple) and len(spec) > 3:
        raise InvalidArgumentError(
            "to_keras: too many parts in an element",
            got=f"{len(spec)}",
            expected="inputs, (inputs, targets) or (inputs, targets, sample_weights)",
            remedy="put what belongs together into one tuple or dict",
        )
    for name, leaf in named_leaves(spec):
        if leaf.shape == ():
            raise InvalidArgumentError(
                f"to_keras: leaf {name!r} is a single value",
                got=str(leaf),
                expected="batches",
                remedy="add .batch(batch_size) at the end",
            )
        if leaf.dtype.kind in "SU" and backend != "tensorflow":
            raise UnsupportedValueError(
                f"to_keras: leaf {name!r} is text, which the backend {backend!r} has no dtype for",
                got=str(leaf),
                expected="numbers",
                remedy="drop that leaf, or map it to numbers, before the batch",
            )


def _class_weight_of_fit(variables: dict[str, Any]) -> Any:
    """The `class_weight` that `fit` was given, which Keras does not pass on; refuses `y` and `sample_weight` likewise.

    `variables` are those of the function in Keras that asks for the length, which holds those arguments. Where a
    version asks from elsewhere, nothing is found and nothing is said.
    """
    for name in ("y", "sample_weight"):
        if variables.get(name) is not None:
            raise InvalidArgumentError(
                f"fit: {name} was given beside a Penstock dataset",
                expected="it as a part of the dataset's elements: (inputs, targets, sample_weights)",
            )
    return variables.get("class_weight")


def _torch_device() -> Any:
    try:
        from keras.src.backend.torch.core import get_device
    except ImportError:
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"
    return get_device()


def _data_adapter() -> type[Any] | None:
    """Keras' DataAdapter, or None where it is missing or would be refused."""
    import keras

    try:
        from keras.src.trainers.data_adapters.data_adapter import DataAdapter
    except ImportError:
        return None
    version = tuple(int(part) for part in re.findall(r"\d+", keras.__version__)[:2])
    base: type[Any] = DataAdapter
    return base if version >= _FIRST_VERSION else None


def _py_dataset(feed: Feed, base: type[Any]) -> Any:
    """The feed as a PyDataset, read in order by the training loop itself."""
    if feed.cardinality < 0:
        raise InvalidArgumentError(
            "to_keras: this version of Keras must know how many batches there are",
            got="an endless dataset or one of unknown length",
            remedy="use .take(n), or Keras 3.9 or newer",
        )
    return type("PenstockPyDataset", (InOrder, base), {"__doc__": InOrder.__doc__})(feed)
