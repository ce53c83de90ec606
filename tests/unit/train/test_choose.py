"""Which strategy follows from a backend, its devices and its processes, as tables; and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.adapters.world import World
from penstock.errors import InvalidArgumentError
from penstock.train.backend import Backend
from penstock.train.strategy.choose import choose, resolve
from penstock.train.strategy.reduction import mirrored_reduction, multi_worker_reduction
from penstock.train.strategy.tf_config import Cluster, read_tf_config, require_free_port

ALONE = World(0, 1, "one process")
OF_TWO = World(1, 2, "TF_CONFIG")
CPUS, GPUS = ("CPU:0", "CPU:1"), ("GPU:0", "GPU:1")


@pytest.mark.parametrize(
    ("backend", "devices", "world", "expected"),
    [
        ("tensorflow", 1, ALONE, "one_device"),
        ("tensorflow", 4, ALONE, "mirrored"),
        ("tensorflow", 1, OF_TWO, "multi_worker"),
        ("jax", 1, ALONE, "one_device"),
        ("jax", 2, ALONE, "data_parallel"),
        ("jax", 1, OF_TWO, "data_parallel"),
        ("torch", 8, ALONE, "one_device"),
        ("torch", 1, OF_TWO, "ddp"),
    ],
)
def test_auto_takes_all_devices_and_processes(backend: Backend, devices: int, world: World, expected: str) -> None:
    assert resolve(backend, "auto", lambda: devices, world) == expected


def test_devices_are_not_counted_where_their_number_decides_nothing() -> None:
    def counted() -> int:
        raise AssertionError

    assert resolve("tensorflow", "auto", counted, OF_TWO) == "multi_worker"
    assert resolve("tensorflow", "mirrored", counted, ALONE) == "mirrored"


def test_unknown_and_foreign_strategies_list_what_exists() -> None:
    exist = r'expected "auto" or one of \'one_device\', \'ddp\''
    with pytest.raises(InvalidArgumentError, match="'horovod'.*no strategy of this name.*" + exist):
        resolve("torch", "horovod", lambda: 1, ALONE)
    with pytest.raises(InvalidArgumentError, match="'mirrored'.*exists on tensorflow only.*" + exist):
        resolve("torch", "mirrored", lambda: 1, ALONE)


def test_a_strategy_of_one_process_is_refused_to_one_of_several() -> None:
    with pytest.raises(InvalidArgumentError, match=r"rank 1 of 2 \(TF_CONFIG\).*'multi_worker'"):
        resolve("tensorflow", "mirrored", lambda: 2, OF_TWO)


def test_what_would_follow_nothing_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="nothing to add up"):
        choose("torch", "one_device", cross_device_ops="nccl")
    with pytest.raises(InvalidArgumentError, match="layout, under 'one_device'"):
        choose("torch", "one_device", layout=object())
    with pytest.raises(InvalidArgumentError, match=r"layout, under 'model_parallel'.*got none"):
        choose("jax", "model_parallel")
    with pytest.raises(InvalidArgumentError, match="none of them twice"):
        choose("torch", devices=["cuda:0", "cuda:0"])


@pytest.mark.parametrize(
    ("said", "devices", "has_nccl", "expected"),
    [
        (None, CPUS, True, "one_device"),
        (None, GPUS, True, "nccl"),
        (None, GPUS, False, "hierarchical"),
        (None, ("GPU:0", "CPU:0"), True, "one_device"),
        ("hierarchical", GPUS, True, "hierarchical"),
        ("one_device", GPUS, True, "one_device"),
    ],
)
def test_mirrored_gradients_are_added_up(
    said: str | None, devices: tuple[str, ...], has_nccl: bool, expected: str
) -> None:
    assert mirrored_reduction(said, devices, has_nccl=has_nccl) == expected


def test_gradients_of_processes_are_added_up() -> None:
    assert multi_worker_reduction(None, on_gpus=False) == "ring"
    assert multi_worker_reduction(None, on_gpus=True) == "nccl"
    assert multi_worker_reduction("ring", on_gpus=True) == "ring"


def test_ways_to_add_up_that_do_not_exist_here_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match='\'ring\', expected "nccl", "hierarchical"'):
        mirrored_reduction("ring", GPUS, has_nccl=True)
    with pytest.raises(InvalidArgumentError, match="NCCL is for GPUs"):
        mirrored_reduction("nccl", CPUS, has_nccl=True)
    with pytest.raises(InvalidArgumentError, match="NCCL is for GPUs"):
        multi_worker_reduction("nccl", on_gpus=False)
    with pytest.raises(InvalidArgumentError, match='\'hierarchical\', expected "nccl" or "ring"'):
        multi_worker_reduction("hierarchical", on_gpus=True)


def tf_config(task: Any = None, **cluster: Any) -> dict[str, str]:
    cluster = cluster or {"worker": ["a:1", "b:2"]}
    return {
        "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1} if task is None else task})
    }


def test_the_chief_comes_first() -> None:
    assert read_tf_config(tf_config()) == Cluster(("a:1", "b:2"), 1)
    with_chief = {"chief": ["c:3"], "worker": ["a:1", "b:2"]}
    assert read_tf_config(tf_config(**with_chief)) == Cluster(("c:3", "a:1", "b:2"), 2)
    assert read_tf_config(tf_config({"type": "chief", "index": 0}, **with_chief)).own_address == "c:3"


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({}, "TF_CONFIG is not set"),
        ({"TF_CONFIG": "{cluster"}, "TF_CONFIG is not JSON .*'{cluster'"),
        ({"TF_CONFIG": "[1]"}, "has no 'cluster'"),
        ({"TF_CONFIG": '{"cluster": {"worker": ["a:1"]}}'}, "has no 'task'"),
        (tf_config({"type": "trainer", "index": 0}), "task.type; got 'trainer', expected one of 'worker'"),
        (tf_config({"type": "worker", "index": 2}), "task.index; got 2, expected 0 to 1: the cluster has 2"),
        (tf_config({"type": "worker"}), "task.index; got None"),
        (tf_config(worker=["a:1", "a:1"]), "'a:1' twice"),
        (tf_config(worker=["a:1", "b"]), "cluster.worker.*host:port"),
        (tf_config(worker=["a:1", "b:65536"]), "cluster.worker"),
        (tf_config(worker="a:1"), "cluster.worker"),
    ],
)
def test_a_tf_config_that_cannot_be_followed_says_what_is_wrong(environment: dict[str, str], said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        read_tf_config(environment)


def test_a_port_in_use_is_told_before_anything_waits_for_it() -> None:
    cluster = Cluster(("here:1234", "there:80"), 0)
    require_free_port(cluster, is_taken=lambda port: port != 1234)
    with pytest.raises(InvalidArgumentError, match="port 1234 of this process is in use; got here:1234 for rank 0"):
        require_free_port(cluster, is_taken=lambda port: True)


def test_a_listener_takes_its_port() -> None:
    import socket

    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        port = listener.getsockname()[1]
        with pytest.raises(InvalidArgumentError, match="in use"):
            require_free_port(Cluster((f"127.0.0.1:{port}",), 0))
    require_free_port(Cluster((f"127.0.0.1:{port}",), 0))
