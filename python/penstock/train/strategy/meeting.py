"""Where the processes of one training meet, as variables say it: read and checked before any framework waits there."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from penstock.adapters.world import World
from penstock.errors import InvalidArgumentError
from penstock.train.strategy.tf_config import is_port_taken

_REMEDY = "start the script by `penstock launch --workers N script.py`, or by the framework's own launcher"

IN_USE = "end what listens there (an earlier run?), or set another; `penstock launch` finds a free one"


@dataclass(frozen=True, slots=True, kw_only=True)
class TorchPlan:
    """What PyTorch's process group is made of. device: of this process, "cpu" or "cuda:N"."""

    collectives: str
    device: str
    address: str


def torch_plan(world: World, variables: Mapping[str, str], gpus: int, said: str | None) -> TorchPlan:
    """NCCL and the GPU of LOCAL_RANK where there are GPUs, else gloo; said: what was asked for instead.

    Raises: InvalidArgumentError: a variable is missing or cannot be, fewer GPUs than processes, or NCCL without GPUs.
    """
    if said not in (None, "nccl", "gloo"):
        raise InvalidArgumentError("setup: cross_device_ops of 'ddp'", got=repr(said), expected='"nccl" or "gloo"')
    if said == "nccl" and not gpus:
        raise InvalidArgumentError(
            "setup: cross_device_ops of 'ddp'", got="'nccl'", expected='"gloo": PyTorch sees no GPU here'
        )
    missing = [name for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT") if not variables.get(name)]
    if missing:
        raise InvalidArgumentError(
            "setup: 'ddp' finds no processes to join: a variable is missing", got=f"no {', no '.join(missing)}",
            expected="those that torchrun sets", remedy=_REMEDY,
        )  # fmt: skip
    address = f"{variables['MASTER_ADDR']}:{_port(variables['MASTER_PORT'], 'MASTER_PORT')}"
    if not gpus:
        return TorchPlan(collectives="gloo", device="cpu", address=address)
    local = variables.get("LOCAL_RANK", "")
    if local and not local.isdecimal():
        raise InvalidArgumentError("setup: LOCAL_RANK", got=repr(local), expected="the process' number on this host")
    number = int(local) if local else world.rank % gpus
    if number >= gpus:
        raise InvalidArgumentError(
            "setup: 'ddp' takes one GPU a process", got=f"process {number} of this host, and {gpus} GPUs",
            remedy=f"start at most {gpus} processes here, or hide the GPUs: CUDA_VISIBLE_DEVICES=''",
        )  # fmt: skip
    return TorchPlan(collectives=said or "nccl", device=f"cuda:{number}", address=address)


def jax_coordinator(variables: Mapping[str, str], rank: int, is_taken: Callable[[int], bool] = is_port_taken) -> str:
    """The address where JAX's processes meet, rank 0 listening.

    Raises: InvalidArgumentError: it is missing, has no port, or another listens there: JAX would crash.
    """
    address = variables.get("JAX_COORDINATOR_ADDRESS", "")
    if not address:
        raise InvalidArgumentError(
            "setup: one of several processes, and JAX_COORDINATOR_ADDRESS does not say where they meet",
            remedy=f"{_REMEDY}; or call jax.distributed.initialize() before",
        )  # fmt: skip
    host, _, port = address.rpartition(":")
    if not host:
        raise InvalidArgumentError("setup: JAX_COORDINATOR_ADDRESS", got=repr(address), expected="host:port")
    number = _port(port, "JAX_COORDINATOR_ADDRESS")
    if rank == 0 and is_taken(number):
        raise InvalidArgumentError(
            "setup: the port of JAX_COORDINATOR_ADDRESS is in use", got=address,
            expected="a port that nobody listens on", remedy=IN_USE,
        )  # fmt: skip
    return f"{host}:{number}"


def _port(text: str, name: str) -> int:
    if not text.isdecimal() or not 0 < int(text) < 65536:
        raise InvalidArgumentError(f"setup: {name}", got=repr(text), expected="a port, 1 to 65535")
    return int(text)
