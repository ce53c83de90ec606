"""Batches as PyTorch tensors: on the CPU without a copy; on a GPU copied ahead, while it computes.

`to_torch` is a real `IterableDataset`, so that what asks for one takes it: `DataLoader(x, batch_size=None)`, Lightning,
Accelerate, torchdata's StatefulDataLoader. It reads in this process: worker processes are Penstock's own affair.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from penstock.adapters.delivery import Delivery, Mover
from penstock.adapters.feed import Feed
from penstock.adapters.moving import Convert, PlaceInThread
from penstock.adapters.nest import leafwise, require_numbers
from penstock.adapters.transfer import Copier, Transfer
from penstock.block.ragged import Ragged
from penstock.block.tree import Structure, structure_of
from penstock.errors import InvalidArgumentError, MissingDependencyError, UnsupportedValueError

_REMEDY = (
    "DataLoader(dataset, batch_size=None, num_workers=0), or no DataLoader at all: Penstock computes ahead by itself"
)


def converter(device: Any = "cpu") -> Callable[[Any], Any]:
    """A function from a batch of arrays to the same nest of tensors on `device`.

    On the CPU a tensor aliases its array and keeps the array's owner alive. A transfer is a blocking one: the buffer
    may go back to its pool as soon as it is over.
    """
    import torch

    from_numpy = torch.from_numpy

    def convert(leaf: Any) -> Any:
        if type(leaf) is np.ndarray and leaf.dtype.kind in "fiub" and leaf.flags.writeable:  # nearly all, and cheaply
            try:
                return from_numpy(leaf)
            except (TypeError, ValueError):
                pass  # said, or copied, there
        return as_tensor(leaf)

    if torch.device(device).type == "cpu":
        return leafwise(convert)
    return leafwise(lambda leaf: convert(leaf).to(device))


def as_tensor(leaf: Any, *, is_only_read: bool = False) -> Any:
    """A tensor over the memory of `leaf`, which it keeps alive; over a copy where PyTorch cannot read or write that.

    is_only_read: nobody writes to the tensor, so that it may lie over read-only memory as well.
    """
    import torch

    array = _numbers(leaf)
    if not array.flags.writeable:
        if is_only_read:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
                return _over(array, torch)
        array = array.copy()  # PyTorch has no read-only tensors, and would let the model write to the user's data
    return _over(array, torch)


def _over(array: Any, torch: Any) -> Any:
    dtype = array.dtype
    if dtype.kind == "V":  # bfloat16 and the float8s are ml_dtypes' in NumPy
        own = getattr(torch, dtype.name, None)
        if own is None:
            raise _no_dtype(array)
        return torch.from_numpy(array.view(f"i{dtype.itemsize}")).view(own)
    try:
        return torch.from_numpy(array)
    except ValueError:  # of negative strides, or the other byte order
        return torch.from_numpy(np.ascontiguousarray(array, dtype.newbyteorder("=")))
    except TypeError as error:
        raise _no_dtype(array) from error


def to_torch(feed: Feed, device: Any = None, prefetch: int = 2, pin_memory: bool | None = None) -> Any:
    """`feed` as an `IterableDataset`: see `Dataset.to_torch`.

    Raises: MissingDependencyError: PyTorch is not installed. InvalidArgumentError: no such device.
    """
    try:
        from torch.utils.data import IterableDataset
    except ImportError as error:
        raise MissingDependencyError("to_torch needs PyTorch", got=str(error), remedy="pip install torch") from error
    kind = type(
        "TorchBatches", (TorchBatches, IterableDataset), {"__doc__": TorchBatches.__doc__, "__module__": __name__}
    )
    return kind(feed, mover_to(device, prefetch, pin_memory))


class TorchBatches(Delivery):
    """Batches of tensors: one epoch per iteration, with the state of the loop that reads them."""

    def __iter__(self) -> Iterator[Any]:
        from torch.utils.data import get_worker_info

        worker = get_worker_info()
        if worker is not None:
            raise InvalidArgumentError(
                "to_torch: read in a worker process of a DataLoader, where every worker would give every batch",
                got=f"num_workers={worker.num_workers}", expected="num_workers=0", remedy=_REMEDY,
            )  # fmt: skip
        return super().__iter__()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise InvalidArgumentError("to_torch: sent to another process", expected="num_workers=0", remedy=_REMEDY)


def mover_to(device: Any, prefetch: int = 2, pin_memory: bool | None = None) -> Mover:
    """What brings batches to `device`: ahead to a GPU, else when they are asked for."""
    import torch

    try:
        target = torch.device("cpu" if device is None else device)
    except (RuntimeError, TypeError) as error:
        raise InvalidArgumentError(
            "to_torch: device", got=repr(device), expected='None, "cpu", "cuda", "cuda:1", a torch.device'
        ) from error
    if target.type == "cuda":
        if not torch.cuda.is_available() or (target.index or 0) >= torch.cuda.device_count():
            raise InvalidArgumentError(
                "to_torch: device", got=f"{target}, of {torch.cuda.device_count()} GPUs that PyTorch sees",
                expected="one that is here", remedy="device=None gives tensors on the CPU",
            )  # fmt: skip
        from penstock.adapters.torch_copies import CudaCopier

        return CopyAhead(CudaCopier(target), prefetch, is_locked=pin_memory is not False)
    if target.type != "cpu" or not pin_memory:
        return Convert(converter(target))
    if not torch.cuda.is_available():
        warnings.warn("to_torch: pin_memory=True, and there is no GPU: memory is not page-locked", stacklevel=4)
        return Convert(converter())
    return Convert(leafwise(lambda leaf: as_tensor(leaf).pin_memory()))


class CopyAhead:
    """Copies `ahead` batches to the device before they are asked for.

    Writing a batch into page-locked memory takes milliseconds, so a thread does that, as a DataLoader's does; what the
    trainer's own thread does is to let its stream wait.
    """

    def __init__(self, copier: Copier, ahead: int, is_locked: bool = True) -> None:
        self.ahead = ahead
        self._transfer = Transfer(copier, ahead, is_locked)
        self._thread = PlaceInThread(self._transfer.send, ahead)
        self._structure: Structure | None = None

    def send(self, batch: Any) -> Any:
        """Queue the batch for the thread that starts its copies."""
        if self._structure is None:
            self._structure = structure_of(batch)
        return self._thread.send([_numbers(leaf) for leaf in self._structure.flatten(batch)])

    def receive(self, sent: Any) -> Any:
        """The copies, in the nest of the batch; or the error of starting them."""
        assert self._structure is not None
        return self._structure.unflatten(self._transfer.hand_over(self._thread.receive(sent)))

    def close(self) -> None:
        """End the thread, then as `Transfer.close`."""
        self._thread.close()
        self._transfer.close()


def _numbers(leaf: Any) -> Any:
    """`leaf` as an array of numbers, which a single one may not be yet."""
    return require_numbers(leaf if isinstance(leaf, np.ndarray | Ragged) else np.asarray(leaf), "PyTorch")


def _no_dtype(array: Any) -> UnsupportedValueError:
    return UnsupportedValueError(
        "PyTorch has no such dtype", got=f"a leaf of shape {array.shape} and dtype {array.dtype}",
        remedy="cast it, or drop that leaf, before the batch",
    )  # fmt: skip
