"""Batches as JAX arrays: on the CPU over the same memory; on accelerators copied ahead; over many devices in parts.

A NumPy array given to `device_put` stays alive for as long as JAX reads it, so a buffer goes back to its pool when the
copy is done, or, on the CPU, where aligned memory is aliased, when the last array over it dies.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from penstock.adapters.delivery import Delivery
from penstock.adapters.feed import Feed, shared_of
from penstock.adapters.nest import leafwise, require_numbers
from penstock.adapters.replicas import require_divisible
from penstock.block.ragged import Ragged
from penstock.block.tree import Structure, structure_of
from penstock.errors import InvalidArgumentError, MissingDependencyError, UnsupportedValueError

_REMEDY = 'batch(..., drop_remainder=True), or batch(..., remainder="pad"), with a size the devices divide'


def converter() -> Callable[[Any], Any]:
    """A function from a batch to itself, once every leaf is seen to hold numbers.

    On the CPU a NumPy array given to a compiled function is cheaper than one put there first (99 against 492 us for
    38 MB). On an accelerator Keras starts the transfer one batch ahead.
    """
    return leafwise(partial(require_numbers, framework="JAX"))


def to_jax(feed: Feed, sharding: Any = None, prefetch: int = 2) -> Delivery:
    """`feed` as an iterable of nests of `jax.Array`: see `Dataset.to_jax`.

    Raises: MissingDependencyError: JAX is not installed. InvalidArgumentError: `sharding` is none; it does not divide
        a batch, as far as the dataset knows their sizes.
    """
    try:
        import jax
    except ImportError as error:
        raise MissingDependencyError("to_jax needs JAX", got=str(error), remedy="pip install jax") from error
    target = _target(sharding)
    devices = jax.local_devices()[:1] if target is None else list(target.addressable_devices)
    if target is not None:
        processes = len({device.process_index for device in target.device_set})
        if processes > 1 or feed.has_partial_batch is not None:  # else JAX will tell, and none waits for another
            require_divisible(feed, shared_of(feed), processes, max(1, _pieces(target) // processes), "to_jax")
    return Delivery(feed, PutAhead(batches_ahead([device.platform for device in devices], prefetch), target))


def batches_ahead(platforms: Sequence[str], prefetch: int) -> int:
    """None on the CPU, where nothing is copied, and what the engine has ready waits as well there as here."""
    return 0 if all(platform == "cpu" for platform in platforms) else prefetch


class PutAhead:
    """Puts `ahead` batches on the devices of `target`, a sharding or None, before they are asked for."""

    def __init__(self, ahead: int, target: Any) -> None:
        self.ahead = ahead
        self._structure: Structure | None = None
        self._target = target
        self._put = _putter(target)

    def send(self, batch: Any) -> Any:
        """The arrays, in the nest of the batch; on accelerators their bytes are on the way."""
        if self._structure is None:
            self._structure = structure_of(batch)
        leaves = [require_numbers(_as_array(leaf), "JAX") for leaf in self._structure.flatten(batch)]
        try:
            return self._structure.unflatten(self._put(leaves))
        except TypeError as error:
            raise UnsupportedValueError(
                "JAX has no such dtype", got=", ".join(str(leaf.dtype) for leaf in leaves),
                remedy="cast that leaf, or drop it, before the batch",
            ) from error  # fmt: skip
        except ValueError as error:
            if self._target is None:
                raise
            shapes = zip(self._structure.names(), (leaf.shape for leaf in leaves), strict=True)
            raise InvalidArgumentError(
                "to_jax: the sharding does not divide a batch", expected="rows that its devices divide", remedy=_REMEDY,
                got=f"{', '.join(f'{name} {shape}' for name, shape in shapes)} for {self._target}",
            ) from error  # fmt: skip

    def receive(self, sent: Any) -> Any:
        """The arrays: JAX waits for their bytes where it needs them."""
        return sent

    def close(self) -> None:
        """Nothing was taken."""


def _target(sharding: Any) -> Any:
    """A sharding, or None for the default device. A device, or several that share a batch, become one."""
    import jax
    from jax.sharding import Mesh, NamedSharding, PartitionSpec, Sharding, SingleDeviceSharding

    if sharding is None or isinstance(sharding, Sharding):
        return sharding
    if isinstance(sharding, jax.Device):
        return SingleDeviceSharding(sharding)
    if isinstance(sharding, list | tuple) and sharding and all(isinstance(item, jax.Device) for item in sharding):
        return NamedSharding(Mesh(np.array(sharding, dtype=object), ("batch",)), PartitionSpec("batch"))
    raise InvalidArgumentError(
        "to_jax: sharding", got=repr(sharding), expected="None, a jax.sharding.Sharding, a device or a list of devices"
    )


def _putter(target: Any) -> Callable[[list[Any]], list[Any]]:
    """What makes arrays of the leaves of this process."""
    import jax

    if target is None:
        return jax.device_put  # type: ignore[no-any-return]  # JAX is not checked
    if target.is_fully_addressable:
        return lambda leaves: jax.device_put(leaves, target)
    return lambda leaves: [jax.make_array_from_process_local_data(target, leaf) for leaf in leaves]


def _pieces(target: Any) -> int:
    """Into how many the rows of a global batch are cut; 1 where that hangs on more than their number."""
    rows = len(target.device_set)
    try:
        return rows // int(target.shard_shape((rows,))[0])
    except ValueError:
        return 1


def _as_array(leaf: Any) -> Any:
    """Text and numbers outside an array, as one; arrays and Ragged as they are."""
    return leaf if isinstance(leaf, np.ndarray | Ragged) else np.asarray(leaf)
