from __future__ import annotations

import json
from typing import Any

import pytest

from penstock.adapters.world import detect_world
from penstock.errors import InvalidArgumentError
from penstock.train.launch.variables import Group, group_of


def group(**facts: Any) -> Group:
    return Group(**{"workers": 2, "backend": "auto", "ports": (4001, 4002), **facts})


@pytest.mark.parametrize(
    ("backend", "theirs"),
    [
        ("tensorflow", {"TF_CONFIG"}),
        ("torch", {"MASTER_ADDR", "MASTER_PORT"}),
        ("jax", {"JAX_COORDINATOR_ADDRESS", "JAX_COORDINATOR_BIND_ADDRESS"}),
    ],
)
def test_each_framework_gets_its_own_variables_and_auto_all(backend: str, theirs: set[str]) -> None:
    found = group(backend=backend).variables(1)
    assert theirs <= {name for name in found if not name.startswith("KERAS_")}
    assert theirs <= set(group().variables(1))
    others = {"TF_CONFIG", "MASTER_ADDR", "JAX_COORDINATOR_ADDRESS"} - theirs
    assert not others & set(found)
    assert (found["RANK"], found["WORLD_SIZE"], found["LOCAL_RANK"]) == ("1", "2", "1")


def test_tf_config_names_every_worker_and_this_one() -> None:
    found = group().variables(1)
    assert json.loads(found["TF_CONFIG"]) == {
        "cluster": {"worker": ["127.0.0.1:4001", "127.0.0.1:4002"]},
        "task": {"type": "worker", "index": 1},
    }
    assert (found["MASTER_ADDR"], found["MASTER_PORT"]) == ("127.0.0.1", "4001")
    assert found["KERAS_DISTRIBUTION_PROCESS_ID"] == "1"


@pytest.mark.parametrize("backend", ["tensorflow", "torch", "jax", "auto"])
def test_a_dataset_finds_its_rank(backend: str) -> None:
    world = detect_world(group(backend=backend).variables(1), {})
    assert (world.rank, world.size) == (1, 2)


@pytest.mark.parametrize(
    ("backend", "gpus", "workers", "of_tensorflow", "of_jax"),
    [
        ("tensorflow", ("0", "1", "2", "3"), 2, "2,3", None),
        ("jax", ("GPU-a", "GPU-b"), 2, None, "1"),
        ("torch", ("0", "1"), 2, None, None),
        ("auto", ("0", "1", "2", "3"), 2, None, "2,3"),
        ("tensorflow", ("7",), 2, "7", None),
        ("tensorflow", (), 2, None, None),
    ],
)
def test_gpus_are_divided_as_each_framework_counts_them(
    backend: str, gpus: tuple[str, ...], workers: int, of_tensorflow: str | None, of_jax: str | None
) -> None:
    found = group(backend=backend, gpus=gpus, workers=workers).variables(1)
    assert found.get("CUDA_VISIBLE_DEVICES") == of_tensorflow
    assert found.get("JAX_LOCAL_DEVICE_IDS") == of_jax


@pytest.mark.parametrize(("cpus", "workers", "threads"), [(8, 2, "4"), (2, 4, "1"), (7, 2, "3")])
def test_cpus_are_divided(cpus: int, workers: int, threads: str) -> None:
    found = group_of(workers, "auto", cpus=cpus, environment={})
    assert found.variables(0)["OMP_NUM_THREADS"] == threads
    assert len(set(found.ports)) == workers


def test_threads_that_the_user_set_are_left_alone() -> None:
    assert "OMP_NUM_THREADS" not in group_of(2, "auto", cpus=8, environment={"OMP_NUM_THREADS": "3"}).variables(0)


@pytest.mark.parametrize(("workers", "backend", "said"), [(0, "auto", "--workers"), (2, "mxnet", "--backend")])
def test_wrong_requests_are_refused(workers: int, backend: str, said: str) -> None:
    with pytest.raises(InvalidArgumentError, match=said):
        group_of(workers, backend, cpus=2, environment={})
