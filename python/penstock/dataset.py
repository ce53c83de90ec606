"""Dataset: the public face. Lazy, immutable, with the verbs and defaults of tf.data, for every framework alike."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import Any, Self

from penstock.adapters.delivery import Delivery
from penstock.adapters.feed import Shared
from penstock.adapters.moving import Convert
from penstock.block.spec import SpecTree
from penstock.engine.kept import Kept
from penstock.errors import InvalidArgumentError, NotIndexableError, UnknownLengthError, user_location
from penstock.graph.distribution import steps_of_ranks
from penstock.graph.node import INFINITE, UNKNOWN, Node, index_obstacle
from penstock.graph.nodes import Batch, Distribute, Rebatch, Slices, Stride
from penstock.graph.render import render_cardinality
from penstock.graph.walk import nodes_of
from penstock.optimize.index_files import with_indices
from penstock.options import require_integer
from penstock.session import (
    PipelineIterator,
    explain,
    first_element,
    prepare_filled,
    read_positions,
    resolve_signature,
)
from penstock.verbs.distribution import DistributionVerbs, require_own_part
from penstock.verbs.element import ElementVerbs
from penstock.verbs.files import FileVerbs
from penstock.verbs.formats import FormatVerbs
from penstock.verbs.grouping import GroupingVerbs
from penstock.verbs.keeping import KeepingVerbs
from penstock.verbs.mixing import MixingVerbs
from penstock.verbs.nested import NestedVerbs
from penstock.verbs.order import OrderVerbs
from penstock.verbs.saving import SavingVerbs
from penstock.verbs.size import SizeVerbs
from penstock.verbs.sources import SourceVerbs
from penstock.verbs.stateful import StatefulVerbs

_NO_CLASSES = "class_names: no from_folder in this dataset"
_PAGE = "docs/reference/differences-from-tf-data.md"
_NOT_HERE = {
    "fingerprint": "to_bytes() is the pipeline as data",
    "options": "explain() says how a pipeline runs",
    "sparse_batch": "there are no sparse tensors; padded_batch makes dense ones",
}
"""Names of tf.data that are left out, and what to take instead."""


class _Epochs:
    """The counter behind `iter(dataset)`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0

    def take(self) -> int:
        with self._lock:
            epoch = self._next
            self._next += 1
        return epoch


class Dataset(
    SourceVerbs,
    FileVerbs,
    FormatVerbs,
    MixingVerbs,
    ElementVerbs,
    StatefulVerbs,
    GroupingVerbs,
    NestedVerbs,
    OrderVerbs,
    KeepingVerbs,
    SizeVerbs,
    DistributionVerbs,
    SavingVerbs,
):
    """A lazy sequence of elements: arrays, numbers, bytes, str, or tuples and dicts of them.

    Verbs return new datasets and run nothing. `for element in dataset` runs one epoch; each `iter()` is the next epoch,
    shuffled and augmented anew, reproducibly. Where every verb allows it, `dataset[i]`, slices and `len()` work too.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise InvalidArgumentError(
            "Dataset() is not called", remedy="start from Dataset.from_tensor_slices, from_folder, from_generator, ..."
        )

    @classmethod
    def _of(cls, node: Node) -> Self:
        dataset = cls.__new__(cls)
        dataset._node = node
        return dataset

    @property
    def _epochs(self) -> _Epochs:
        """Made when first asked for, as most datasets are only drawn from by others."""
        found: _Epochs = self.__dict__.get("_counter") or self.__dict__.setdefault("_counter", _Epochs())
        return found

    @property
    def _kept(self) -> Kept:
        """Likewise."""
        found: Kept = self.__dict__.get("_keeps") or self.__dict__.setdefault("_keeps", Kept())
        return found

    def __iter__(self) -> PipelineIterator:
        return self.iterator()

    def iterator(self, epoch: int | None = None) -> PipelineIterator:
        """An iterator over one epoch: of number `epoch`, or the next of this object's own count.

        Close it, or use it as a context manager, to stop early; see `PipelineIterator`.
        """
        if epoch is None:
            epoch = self._epochs.take()
        number = require_integer("iterator", "epoch", epoch, minimum=0) or 0
        return PipelineIterator(self._node, number, kept=self._kept)

    def as_numpy_iterator(self) -> PipelineIterator:
        """`iter(self)`: elements are NumPy values already."""
        return self.iterator()

    @property
    def element_spec(self) -> SpecTree:
        """Shape and dtype of each leaf, nested as the elements are.

        Where a function's result is not known it is found by running the first element, once. The shape is then the
        first element's. Raises: UnknownLengthError: the dataset is empty, so there is nothing to look at.
        """
        signature = resolve_signature(self._node)
        if signature is None:
            raise UnknownLengthError(
                "the element spec of an empty dataset is unknown",
                where=self._node.label,
                remedy="say it with map(..., output_signature=...)",
            )
        return signature.tree()

    def cardinality(self) -> int:
        """Elements per epoch; INFINITE_CARDINALITY (-1) or UNKNOWN_CARDINALITY (-2) where that is so."""
        return self._node.cardinality()

    def __len__(self) -> int:
        count = self.cardinality()
        if count < 0:
            what = "infinite" if count == INFINITE else "unknown"
            raise UnknownLengthError(
                f"the length of this dataset is {what}",
                where=self._node.label,
                remedy="cardinality() tells without raising",
            )
        return count

    def __bool__(self) -> bool:
        return True

    def __getitem__(self, index: int | slice) -> Any:
        """Element `index` (epoch 0), computed alone; or, for a slice, a dataset of those elements.

        Raises: NotIndexableError: a verb prevents it (named); IndexError: out of range.
        """
        node = with_indices(self._node, everywhere=True)
        graph = prepare_filled(node, everywhere=True).plan.graph
        obstacle = index_obstacle(graph)
        if obstacle is not None:
            raise NotIndexableError(f"this dataset cannot be indexed: {obstacle}")
        count = graph.cardinality()
        if isinstance(index, slice):
            return self._slice(node, index, count)
        number = require_integer("dataset[i]", "i", index) or 0
        if count != INFINITE and not -count <= number < count:
            raise IndexError(f"index {number} is out of range: {self._node.label} has {count} elements")
        if number < 0 and count == INFINITE:
            raise IndexError(f"index {number} counts from the end of an infinite dataset")
        return read_positions(node, [number + count if number < 0 else number])[0]

    def _slice(self, node: Node, index: slice, count: int) -> Self:
        where = user_location()
        parts = [
            require_integer("dataset[i:j:k]", name, value, optional=True, where=where)
            for name, value in (("start", index.start), ("stop", index.stop), ("step", index.step))
        ]
        if parts[2] == 0:
            raise InvalidArgumentError("dataset[i:j:k]: step", got=0, expected="another integer", where=where)
        first, last, stride = parts[0] or 0, parts[1], 1 if parts[2] is None else parts[2]
        if count != INFINITE:
            start, stop, step = slice(*parts).indices(count)
            length = len(range(start, stop, step))
        elif min(first, last or 0) < 0 or (stride < 0 and parts[0] is None):
            raise NotIndexableError(
                "a slice of an infinite dataset counts from its start", got=f"[{_said(parts)}]",
                expected="a start and a stop that are not negative", where=where,
            )  # fmt: skip
        else:
            start, step = first, stride
            end = -1 if last is None else last
            length = INFINITE if last is None and stride > 0 else len(range(first, end, stride))
        return self._of(Stride(inputs=(node,), location=where, start=start, step=step, count=length))

    def __getattr__(self, name: str) -> Any:
        if name == "class_names":  # asked for here when the property below found none
            raise AttributeError(_NO_CLASSES)
        if name == "__array__" and sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] == "keras":
            raise InvalidArgumentError(  # Keras asks for it first; what it would say itself names no remedy
                "Keras was given a Dataset as it is", got=repr(self), remedy="give it dataset.to_keras()"
            )
        if name in _NOT_HERE:
            raise AttributeError(f"Dataset.{name} is not here: {_NOT_HERE[name]} ({_PAGE})")
        raise AttributeError(f"'Dataset' object has no attribute {name!r}")

    def apply(self, transformation_func: Callable[[Self], Self]) -> Self:
        """`transformation_func(self)`, for a chain of verbs kept in a function."""
        if (getattr(transformation_func, "__module__", None) or "").startswith("tensorflow."):
            raise InvalidArgumentError(
                "apply", got=f"{transformation_func.__qualname__} of TensorFlow", expected="a function of a Dataset",
                remedy="there is a verb in its place: docs/reference/differences-from-tf-data.md",
            )  # fmt: skip
        result = transformation_func(self)
        if not isinstance(result, Dataset):
            raise InvalidArgumentError("apply", got=repr(result), expected="a function that returns a Dataset")
        return result

    def peek(self) -> Any:
        """The first element of epoch 0, computed in this thread; nothing keeps running."""
        return first_element(self._node)

    def explain(self) -> str:
        """How it runs and why: the graph, each rule's effect, the stages, and where each function runs."""
        return explain(self._node)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes of the `from_folder` below, in the order of their labels. Raises: AttributeError."""
        for node in nodes_of(self._node):
            if isinstance(node, Slices) and node.class_names is not None:
                return node.class_names
        raise AttributeError(_NO_CLASSES)

    def to_keras(self) -> Any:
        """What `model.fit`, `evaluate` and `predict` take: batches without a copy, on any Keras backend.

        The dataset must end in `batch`. Raises: MissingDependencyError: Keras is not installed; InvalidArgumentError:
        one of several ranks, and nothing says which part is its own.
        """
        from penstock.adapters.keras import to_keras

        require_own_part(self._node, user_location())
        return to_keras(DatasetFeed(self))

    def to_torch(self, device: Any = None, prefetch: int = 2, pin_memory: bool | None = None) -> Any:
        """A `torch.utils.data.IterableDataset` of tensors: one epoch per iteration, resumable, also by torchdata.

        device: None: on the CPU, over the batches' own memory. A GPU: copied from page-locked memory while it computes,
        `prefetch` batches ahead. pin_memory: False copies without page-locking; True page-locks what stays on the CPU.

        Raises: MissingDependencyError: PyTorch is not installed; InvalidArgumentError: no such device; or one of
        several ranks, and nothing says which part is its own. While read: UnsupportedValueError: text, or ragged.
        """
        from penstock.adapters.torch import to_torch

        require_own_part(self._node, user_location())
        return to_torch(DatasetFeed(self), device, _prefetch("to_torch", prefetch), pin_memory)

    def to_jax(self, sharding: Any = None, prefetch: int = 2) -> Any:
        """An iterable of nests of `jax.Array`: one epoch per iteration, resumable by `state_dict`.

        sharding: None: the default device. A device; a list of devices, which share the rows of each batch; or a
        `jax.sharding.Sharding`: where it spans several processes, a batch is this one's part of a global array.
        prefetch: how many batches are copied ahead, on accelerators; on the CPU an array is the batch's own memory.

        Raises: MissingDependencyError: JAX is not installed; InvalidArgumentError: `sharding` is none; or one of
        several ranks, and nothing says which part is its own. While read: the devices do not divide a batch;
        UnsupportedValueError: text, or ragged.
        """
        from penstock.adapters.jax import to_jax

        require_own_part(self._node, user_location())
        return to_jax(DatasetFeed(self), sharding, _prefetch("to_jax", prefetch))

    def to_tf(self, device: str | None = None, as_dataset: bool = False) -> Any:
        """Eager TensorFlow tensors: one epoch per iteration, counted by what is returned, resumable by `state_dict`.

        device: None: on the host, where aligned arrays are aliased and others copied. A device of TensorFlow's
        ("/GPU:0"): copied there ahead of their use. as_dataset: a `tf.data.Dataset` instead, with signature and
        cardinality, for code that demands one; it costs more.

        Raises: MissingDependencyError: TensorFlow is not installed; InvalidArgumentError: no such device; or one of
        several ranks, and nothing says which part is its own.
        """
        from penstock.adapters.tensorflow import to_tf

        require_own_part(self._node, user_location())
        return to_tf(DatasetFeed(self), device, as_dataset)

    def to_numpy(self) -> Delivery:
        """NumPy batches: one epoch per iteration, counted by what is returned, resumable by `state_dict`."""
        require_own_part(self._node, user_location())
        return Delivery(DatasetFeed(self), Convert())

    def __repr__(self) -> str:
        return f"<penstock.Dataset {self._node.label}: {render_cardinality(self.cardinality())} elements>"


def _prefetch(verb: str, value: Any) -> int:
    return require_integer(verb, "prefetch", value, minimum=0, where=user_location()) or 0


def _said(parts: list[int | None]) -> str:
    """A slice as it was written."""
    return ":".join("" if part is None else str(part) for part in parts)


class DatasetFeed:
    """A dataset as adapters see it: what they must know of it, and how to open it."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset = dataset
        grouping = (node for node in reversed(list(nodes_of(dataset._node))) if isinstance(node, Batch | Rebatch))
        nearest = next(grouping, None)
        self._batch = nearest if isinstance(nearest, Batch) else None
        sizes = set(nearest.batch_sizes) if isinstance(nearest, Rebatch) else set()
        self._batch_size = sizes.pop() if len(sizes) == 1 else None
        self._drops = isinstance(nearest, Rebatch) and nearest.drop_remainder

    @property
    def element_spec(self) -> SpecTree:
        return self._dataset.element_spec

    @property
    def cardinality(self) -> int:
        """Batches per epoch."""
        return self._dataset.cardinality()

    @property
    def batch_size(self) -> int | None:
        return self._batch_size if self._batch is None else self._batch.batch_size

    @property
    def has_partial_batch(self) -> bool | None:
        """Whether the last batch of an epoch is short; None where that is unknown."""
        if self._batch is None:
            return False if self._drops else None
        rows = self._batch.input.cardinality()
        if self._batch.drop_remainder or self._batch.pads_remainder or rows == INFINITE:
            return False
        if UNKNOWN in (rows, self._dataset.cardinality()):
            return None
        return rows % self._batch.batch_size != 0

    @property
    def partial_batch_size(self) -> int | None:
        """Rows of that short batch; None where there is none, or it is unknown."""
        if not self.has_partial_batch or self._batch is None:
            return None
        return self._batch.input.cardinality() % self._batch.batch_size

    @property
    def shared(self) -> Shared:
        """How it is shared out among processes."""
        nodes = [node for node in nodes_of(self._dataset._node) if isinstance(node, Distribute)]
        policy, ranks = (nodes[-1].policy, nodes[-1].world_size) if nodes else ("off", 1)
        is_whole = self.has_partial_batch is False
        if policy == "file":  # whose rests are those of each rank's own files
            is_whole = self._drops if self._batch is None else self._batch.drop_remainder or self._batch.pads_remainder
        return Shared(policy, ranks, steps_of_ranks(self._dataset._node), is_whole)

    def open(self, epoch: int | None = None, start: int = 0) -> PipelineIterator:
        """The batches of an epoch from number `start` on."""
        iterator = self._dataset.iterator(epoch)
        if start:
            state = iterator.state_dict()
            state.pop("mark", None)  # that of the first batch
            iterator.load_state_dict({**state, "position": start})
        return iterator

    def bookmark(self, batches: PipelineIterator) -> Callable[[], dict[str, Any]]:
        """A function that gives the state in which `batches` are now, whenever it is called."""
        return batches._bookmark()

    def resume(self, state: dict[str, Any]) -> PipelineIterator:
        """The batches after that state."""
        iterator = self._dataset.iterator(state.get("epoch", 0))
        iterator.load_state_dict(state)
        return iterator
