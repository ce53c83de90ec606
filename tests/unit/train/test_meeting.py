"""Where processes meet, as tables: what PyTorch's group and JAX's coordinator are made of, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.adapters.world import World
from penstock.errors import InvalidArgumentError
from penstock.train.strategy.chosen import Strategy
from penstock.train.strategy.meeting import jax_coordinator, torch_plan
from penstock.train.strategy.torch import wrap

WORLD = World(1, 2, "RANK and WORLD_SIZE")
VARIABLES = {"RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500"}


@pytest.mark.parametrize(
    ("variables", "gpus", "said", "collectives", "device"),
    [
        ({}, 0, None, "gloo", "cpu"),
        ({}, 2, None, "nccl", "cuda:1"),
        ({"LOCAL_RANK": "0"}, 2, None, "nccl", "cuda:0"),
        ({"LOCAL_RANK": "1"}, 2, "gloo", "gloo", "cuda:1"),
        ({}, 1, None, "nccl", "cuda:0"),
    ],
)
def test_torch_takes_nccl_and_the_gpu_of_its_local_rank(
    variables: dict[str, str], gpus: int, said: str | None, collectives: str, device: str
) -> None:
    plan = torch_plan(WORLD, {**VARIABLES, **variables}, gpus, said)
    assert (plan.collectives, plan.device, plan.address) == (collectives, device, "10.0.0.1:29500")


@pytest.mark.parametrize(
    ("variables", "gpus", "said", "message"),
    [
        ({"MASTER_ADDR": ""}, 0, None, "no MASTER_ADDR, expected .*penstock launch"),
        ({"MASTER_PORT": "x"}, 0, None, "MASTER_PORT; got 'x'"),
        ({"MASTER_PORT": "70000"}, 0, None, "1 to 65535"),
        ({"LOCAL_RANK": "1"}, 1, None, "one GPU a process; got process 1 of this host, and 1 GPUs"),
        ({"LOCAL_RANK": "x"}, 1, None, "LOCAL_RANK; got 'x'"),
        ({}, 0, "nccl", "no GPU"),
        ({}, 0, "ring", '"nccl" or "gloo"'),
    ],
)
def test_torch_is_told_what_is_wrong(variables: dict[str, str], gpus: int, said: str | None, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        torch_plan(WORLD, {**VARIABLES, **variables}, gpus, said)


def test_jax_meets_at_its_coordinator() -> None:
    variables = {"JAX_COORDINATOR_ADDRESS": "host0:1234"}
    assert jax_coordinator(variables, 1, is_taken=lambda port: True) == "host0:1234"
    with pytest.raises(InvalidArgumentError, match="in use; got host0:1234"):
        jax_coordinator(variables, 0, is_taken=lambda port: port == 1234)


@pytest.mark.parametrize(
    ("address", "message"),
    [("", "does not say where.*penstock launch"), ("host0", "host:port"), ("host0:0", "1 to 65535")],
)
def test_jax_is_told_what_is_wrong(address: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        jax_coordinator({"JAX_COORDINATOR_ADDRESS": address}, 1)


def test_one_process_wraps_nothing() -> None:
    model: Any = object()
    assert wrap(model, Strategy(name="one_device", backend="torch", devices=("cpu",))) is model


def test_a_keras_model_is_not_wrapped() -> None:
    model = type("Model", (), {"__module__": "keras.src.models.model"})()
    with pytest.raises(InvalidArgumentError, match="averaged"):
        wrap(model, Strategy(name="ddp", backend="torch", devices=("cpu",), world=2))


def test_a_split_model_has_as_many_replicas_as_its_mesh_has_copies() -> None:
    four = tuple(f"gpu:{number}" for number in range(4))
    assert Strategy(name="model_parallel", backend="jax", devices=four, world=2, copies=2).replicas == 2
    assert Strategy(name="data_parallel", backend="jax", devices=four, world=2).replicas == 8
