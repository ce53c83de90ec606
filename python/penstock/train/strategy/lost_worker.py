"""A line below TensorFlow's traceback when a worker of the cluster is gone: which one, and what to do."""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from types import TracebackType

from penstock.train.strategy.tf_config import Cluster

_KINDS = ("UnavailableError", "AbortedError", "DeadlineExceededError", "FailedPreconditionError", "InternalError")
_TIMEOUT_S = 1.0


def tell_of_lost_worker(cluster: Cluster) -> Callable[[], None]:
    """Say so when an error of TensorFlow's collectives ends this process; returns a function that takes it back."""
    before = sys.excepthook

    def tell(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> None:
        before(kind, error, traceback)
        if is_of_lost_worker(error):
            sys.stderr.write(f"{lost_worker(cluster, _answers)}\n")

    def undo() -> None:
        if sys.excepthook is tell:
            sys.excepthook = before

    sys.excepthook = tell
    return undo


def is_of_lost_worker(error: BaseException) -> bool:
    """Whether TensorFlow gave up waiting for another process: the error's kind, and that it speaks of collectives."""
    kind = type(error)
    return kind.__module__.startswith("tensorflow") and kind.__name__ in _KINDS and "ollective" in str(error)


def lost_worker(cluster: Cluster, answers: Callable[[str], bool]) -> str:
    """What to say. `answers(address)`: whether somebody listens there."""
    others = [(rank, address) for rank, address in enumerate(cluster.addresses) if rank != cluster.rank]
    gone = [f"rank {rank} ({address})" for rank, address in others if not answers(address)]
    who = " and ".join(gone) if gone else "another process, which answers still or again,"
    return (
        f"penstock: {who} of {len(cluster.addresses)} was lost; rank {cluster.rank} cannot go on without it. "
        "Its own output says why; start all processes again, from the last checkpoint"
    )


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        socket.create_connection((host.strip("[]"), int(port)), _TIMEOUT_S).close()
    except OSError:
        return False
    return True
