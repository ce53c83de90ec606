"""What each worker finds in its environment: who it is, who the others are, which GPUs and how many threads it has.

The names are the frameworks' own, so that a script which runs under their launchers runs under ours: TF_CONFIG;
torchrun's RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR and MASTER_PORT; JAX_COORDINATOR_ADDRESS, which JAX reads, and
KERAS_DISTRIBUTION_*, from which `keras.distribution.initialize()` takes what JAX has no variables for. RANK and
WORLD_SIZE are there for every backend. Every address is the loopback's.
"""

from __future__ import annotations

import json
import socket
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Literal, get_args

from penstock.errors import InvalidArgumentError

Backend = Literal["auto", "tensorflow", "torch", "jax"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)

HOST = "127.0.0.1"
_THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "NPROC")


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The workers of one launch.

    backend: whose variables they get; "auto": those of all three, of which each framework reads its own.
    ports: as many free ones as workers. threads: of each worker's arithmetic; None: the user has said. gpus: names of
    the visible ones, as CUDA_VISIBLE_DEVICES has them.
    """

    workers: int
    backend: Backend
    ports: tuple[int, ...]
    threads: int | None = None
    gpus: tuple[str, ...] = ()

    def variables(self, rank: int) -> dict[str, str]:
        """What worker `rank` finds beside the launcher's own environment."""
        found = {
            "RANK": str(rank),
            "WORLD_SIZE": str(self.workers),
            "LOCAL_RANK": str(rank),
            "LOCAL_WORLD_SIZE": str(self.workers),
            "PYTHONUNBUFFERED": "1",  # lines come when they are written
        }
        if self.threads is not None:
            found |= dict.fromkeys(_THREADS, str(self.threads)) | {"TF_NUM_INTEROP_THREADS": str(self.threads)}
        for backend, theirs in (("tensorflow", self._tensorflow), ("torch", self._torch), ("jax", self._jax)):
            if self.backend in (backend, "auto"):
                found |= theirs(rank)
        return found

    def _tensorflow(self, rank: int) -> dict[str, str]:
        cluster = {"worker": [f"{HOST}:{port}" for port in self.ports]}
        found = {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": rank}})}
        if self.backend == "tensorflow" and self.gpus:  # PyTorch counts them all, by LOCAL_RANK
            found["CUDA_VISIBLE_DEVICES"] = ",".join(self.gpus[place] for place in self._share(rank))
        return found

    def _torch(self, rank: int) -> dict[str, str]:
        return {"MASTER_ADDR": HOST, "MASTER_PORT": str(self.ports[0])}

    def _jax(self, rank: int) -> dict[str, str]:
        address = f"{HOST}:{self.ports[0]}"
        found = {
            "JAX_COORDINATOR_ADDRESS": address,
            "JAX_COORDINATOR_BIND_ADDRESS": address,  # else JAX listens on every interface
            "KERAS_DISTRIBUTION_JOB_ADDRESSES": address,
            "KERAS_DISTRIBUTION_NUM_PROCESSES": str(self.workers),
            "KERAS_DISTRIBUTION_PROCESS_ID": str(rank),
        }
        if self.gpus:
            found["JAX_LOCAL_DEVICE_IDS"] = ",".join(map(str, self._share(rank)))
        return found

    def _share(self, rank: int) -> Sequence[int]:
        """The places of a worker's GPUs among the visible ones; where there are fewer than workers, some share one."""
        each = len(self.gpus) // self.workers
        return range(rank * each, (rank + 1) * each) if each else (rank % len(self.gpus),)


def group_of(
    workers: int, backend: str, *, cpus: int, gpus: Sequence[str] = (), environment: Mapping[str, str]
) -> Group:
    """The group of a launch, with ports that are free now, and the CPUs divided where OMP_NUM_THREADS says nothing.

    Raises: InvalidArgumentError: no worker, or an unknown backend.
    """
    if workers < 1:
        raise InvalidArgumentError("launch: --workers", got=workers, expected="at least 1")
    if backend not in BACKENDS:
        raise InvalidArgumentError("launch: --backend", got=repr(backend), expected=f"one of {', '.join(BACKENDS)}")
    threads = None if "OMP_NUM_THREADS" in environment else max(1, cpus // workers)
    return Group(workers=workers, backend=backend, ports=free_ports(workers), threads=threads, gpus=tuple(gpus))


def free_ports(count: int) -> tuple[int, ...]:
    """Ports of the loopback that nobody listens on, all different. Another program may still take one first."""
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return tuple(one.getsockname()[1] for one in sockets)
