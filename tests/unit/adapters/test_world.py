"""Which rank this is: every way a launcher or a framework may say so."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

import penstock as ps
from penstock.adapters.world import World, detect_world
from penstock.errors import InvalidArgumentError


def _torch(rank: int, size: int, *, initialised: bool = True) -> Any:
    return SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: initialised,
        get_rank=lambda: rank,
        get_world_size=lambda: size,
    )


def _jax(rank: int, size: int, *, initialised: bool = True) -> Any:
    return SimpleNamespace(
        distributed=SimpleNamespace(is_initialized=lambda: initialised),
        process_index=lambda: rank,
        process_count=lambda: size,
    )


def _tf_config(kind: str, index: int) -> dict[str, str]:
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"], "ps": ["d:1"]}
    return {"TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})}


@pytest.mark.parametrize(
    ("variables", "modules", "world"),
    [
        ({}, {}, World(0, 1, "one process")),
        ({"RANK": "1", "WORLD_SIZE": "4"}, {}, World(1, 4, "RANK and WORLD_SIZE")),
        ({"RANK": "1"}, {}, World(0, 1, "one process")),
        ({"RANK": "1", "WORLD_SIZE": "4"}, {"torch.distributed": _torch(3, 8)}, World(3, 8, "torch.distributed")),
        ({}, {"torch.distributed": _torch(3, 8, initialised=False)}, World(0, 1, "one process")),
        (_tf_config("chief", 0), {}, World(0, 3, "TF_CONFIG")),
        (_tf_config("worker", 1), {}, World(2, 3, "TF_CONFIG")),
        (_tf_config("ps", 0), {}, World(0, 1, "one process")),
        ({}, {"jax": _jax(1, 2)}, World(1, 2, "jax.distributed")),
        ({}, {"jax": _jax(1, 2, initialised=False)}, World(0, 1, "one process")),
    ],
)
def test_detect_world_asks_in_order(variables: dict[str, str], modules: dict[str, Any], world: World) -> None:
    assert detect_world(variables, modules) == world


@pytest.mark.parametrize(
    "variables",
    [
        {"RANK": "one", "WORLD_SIZE": "2"},
        {"RANK": "2", "WORLD_SIZE": "2"},
        {"TF_CONFIG": "not json"},
        {"TF_CONFIG": "[1]"},
    ],
)
def test_detect_world_refuses_what_it_cannot_read(variables: dict[str, str]) -> None:
    with pytest.raises(InvalidArgumentError):
        detect_world(variables, {})


def test_distribute_takes_its_rank_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    assert [x.tolist() for x in ps.Dataset.range(8).batch(4).distribute()] == [[2, 3], [6, 7]]


def test_an_adapter_of_one_rank_wants_to_know_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANK", "1")
    monkeypatch.setenv("WORLD_SIZE", "2")
    with pytest.raises(InvalidArgumentError, match=r"rank 1 of 2 \(RANK and WORLD_SIZE\).*ds\.distribute\(\)"):
        ps.Dataset.range(8).batch(4).to_keras()
