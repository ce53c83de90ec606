"""TF_CONFIG read in full before TensorFlow reads it, which waits for ever for a worker that cannot come."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError

_FORM = (
    '{"cluster": {"worker": ["host:port", ...]}, "task": {"type": "worker", "index": 0}}, the index another one in each'
)
_TRAINING = ("chief", "worker")


@dataclass(frozen=True, slots=True)
class Cluster:
    """addresses: "host:port" of each process, by rank. rank: this one's."""

    addresses: tuple[str, ...]
    rank: int

    @property
    def own_address(self) -> str:
        return self.addresses[self.rank]


def read_tf_config(environment: Mapping[str, str]) -> Cluster:
    """The cluster that TF_CONFIG describes, the chief first.

    Raises: InvalidArgumentError: it is missing, no JSON, has no cluster or no task, names an address that is none or
        one address twice, a type that does not train, or an index that the cluster does not have.
    """
    text = environment.get("TF_CONFIG", "")
    if not text.strip():
        raise InvalidArgumentError(
            "TF_CONFIG is not set", expected=_FORM, remedy="set it for each process before it starts"
        )  # fmt: skip
    try:
        config = json.loads(text)
    except ValueError as error:
        raise _refused(f"is not JSON ({error})", _shortened(text), _FORM) from error
    cluster, task = _part(config, "cluster", text), _part(config, "task", text)
    kind, index = task.get("type"), task.get("index")
    if kind not in _TRAINING or kind not in cluster:
        trains = [name for name in cluster if name in _TRAINING] or ["worker"]
        raise _refused("task.type", repr(kind), f"one of {', '.join(map(repr, trains))}")
    addresses: dict[str, list[str]] = {name: _addresses(name, cluster.get(name, [])) for name in _TRAINING}
    if isinstance(index, str) and index.isdecimal():
        index = int(index)
    if type(index) is not int or not 0 <= index < len(addresses[kind]):
        count = len(addresses[kind])
        raise _refused("task.index", repr(index), f"0 to {count - 1}: the cluster has {count} of type {kind!r}")
    together = (*addresses["chief"], *addresses["worker"])
    twice = sorted({address for address in together if together.count(address) > 1})
    if twice:
        raise _refused("cluster", f"{twice[0]!r} twice", "an address for each process")
    return Cluster(together, index + (len(addresses["chief"]) if kind == "worker" else 0))


def require_free_port(cluster: Cluster, is_taken: Callable[[int], bool] | None = None) -> None:
    """Raises: InvalidArgumentError: another process listens on the port where this one is to be reached.

    TensorFlow itself would share it, and each of the two receive some of the messages.
    """
    port = int(cluster.own_address.rsplit(":", 1)[1])
    if (is_port_taken if is_taken is None else is_taken)(port):
        raise InvalidArgumentError(
            f"TF_CONFIG: port {port} of this process is in use", got=f"{cluster.own_address} for rank {cluster.rank}",
            expected="a free port", remedy="name another one in every process, or end the run that was left behind",
        )  # fmt: skip


def is_port_taken(port: int) -> bool:
    """Whether something on this host listens on `port`."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # a closed run's connections do not count
        try:
            probe.bind(("", port))
        except OSError:
            return True
    return False


def _part(config: Any, name: str, text: str) -> dict[str, Any]:
    part = config.get(name) if isinstance(config, dict) else None
    if not isinstance(part, dict) or not part:
        raise _refused(f"has no {name!r}", _shortened(text), _FORM)
    return part


def _addresses(kind: str, listed: Any) -> list[str]:
    if not isinstance(listed, list) or not all(map(_is_address, listed)):
        raise _refused(f"cluster.{kind}", repr(listed), 'a list of "host:port"')
    return listed


def _is_address(value: Any) -> bool:
    if not isinstance(value, str):
        return False
    host, colon, port = value.rpartition(":")
    return bool(host and colon and port.isdecimal() and 0 < int(port) < 65536)


def _shortened(text: str) -> str:
    return repr(text if len(text) <= 80 else text[:77] + "...")


def _refused(what: str, got: str, expected: str) -> InvalidArgumentError:
    separator = " " if what.startswith(("is", "has")) else ": "
    return InvalidArgumentError(f"TF_CONFIG{separator}{what}", got=got, expected=expected)
