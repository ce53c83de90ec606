"""A strategy once chosen: over how many devices and processes each step is spread."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from penstock.errors import InvalidArgumentError
from penstock.train.backend import Backend

Name = Literal["one_device", "mirrored", "multi_worker", "ddp", "data_parallel", "model_parallel"]
NAMES: tuple[Name, ...] = get_args(Name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """Over what a step is spread.

    devices: the framework's names of this process' devices, one replica each. rank, world: this process, and how many
    there are. native: the framework's own object (a `tf.distribute.Strategy`, a `keras.distribution`, a
    `torch.distributed` group), None for one device. enter: opens the framework's scope. cross_device_ops: how
    gradients are added up ("nccl", "hierarchical", "ring", "gloo"; "": by one device, or the framework decides).
    copies: of the model, over all processes; None: one a device.
    """

    name: Name
    backend: Backend
    devices: tuple[str, ...]
    rank: int = 0
    world: int = 1
    cross_device_ops: str = ""
    copies: int | None = None
    native: Any = field(default=None, compare=False, repr=False)
    enter: Callable[[], AbstractContextManager[object]] = field(default=nullcontext, compare=False, repr=False)

    @property
    def replicas(self) -> int:
        """Copies of the model that work on one step, over all processes."""
        return len(self.devices) * self.world if self.copies is None else self.copies

    def scope(self) -> AbstractContextManager[object]:
        """Where models are built and compiled."""
        return self.enter()

    def per_replica(self, global_batch_size: int) -> int:
        """Rows of a global batch that each replica gets. Raises: InvalidArgumentError: they do not come out even."""
        if global_batch_size < 1 or global_batch_size % self.replicas:
            fitting = max(1, round(global_batch_size / self.replicas)) * self.replicas
            raise InvalidArgumentError(
                f"the global batch size does not divide over the {self.replicas} replicas of {self.name!r}",
                got=global_batch_size, expected=f"a multiple of {self.replicas}", remedy=f"say batch({fitting})",
            )  # fmt: skip
        return global_batch_size // self.replicas

    def __str__(self) -> str:
        count = len(self.devices)
        text = f"{self.name}, {count} device{'s' if count != 1 else ''} ({', '.join(self.devices)})"
        if self.world > 1:
            text += f", rank {self.rank} of {self.world} processes"
        return text + (f", gradients by {self.cross_device_ops}" if self.cross_device_ops else "")
