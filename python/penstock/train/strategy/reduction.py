"""How the replicas of tf.distribute add up their gradients: a table, from what there is to what is used."""

from __future__ import annotations

from typing import Literal

from penstock.errors import InvalidArgumentError

Mirrored = Literal["nccl", "hierarchical", "one_device"]
MultiWorker = Literal["nccl", "ring"]


def mirrored_reduction(said: str | None, devices: tuple[str, ...], *, has_nccl: bool) -> Mirrored:
    """Between the devices of one process.

    GPUs: NCCL, where TensorFlow is built with it (not on Windows), else copies in two levels. CPUs: all to the first
    and back: nothing is faster within one memory, and TensorFlow's own default there, collectives, breaks down for good
    as soon as a process mirrors two models of unequal shape.

    Raises: InvalidArgumentError: a name that does not exist here, or NCCL without GPUs.
    """
    gpus = all("GPU" in device.upper() for device in devices)
    if said is None:
        if not gpus:
            return "one_device"
        return "nccl" if has_nccl else "hierarchical"
    if said == "nccl" and not (gpus and has_nccl):
        raise _refused(said, "mirrored", '"hierarchical" or "one_device": NCCL is for GPUs, and not on Windows')
    if said not in ("nccl", "hierarchical", "one_device"):
        raise _refused(said, "mirrored", '"nccl", "hierarchical" or "one_device"')
    return said  # type: ignore[return-value]  # one of the three


def multi_worker_reduction(said: str | None, *, on_gpus: bool) -> MultiWorker:
    """Between processes: NCCL for GPUs, a ring over gRPC for CPUs. Raises: InvalidArgumentError: as above."""
    if said is None:
        return "nccl" if on_gpus else "ring"
    if said == "nccl" and not on_gpus:
        raise _refused(said, "multi_worker", '"ring": NCCL is for GPUs')
    if said not in ("nccl", "ring"):
        raise _refused(said, "multi_worker", '"nccl" or "ring"')
    return said  # type: ignore[return-value]  # one of the two


def _refused(said: str, strategy: str, expected: str) -> InvalidArgumentError:
    return InvalidArgumentError(f"setup: cross_device_ops of {strategy!r}", got=repr(said), expected=expected)
