"""Which rank this process is, and of how many: what the launcher or the framework says. Imports no framework."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class World:
    """`rank` in [0, size); `source`: who said so."""

    rank: int
    size: int
    source: str


def detect_world(environment: Mapping[str, str] | None = None, modules: Mapping[str, Any] | None = None) -> World:
    """torch.distributed where it is initialised, then RANK and WORLD_SIZE, TF_CONFIG, an initialised jax.distributed.

    Asks only modules that the process has imported. Raises: InvalidArgumentError: a variable that cannot be read.
    """
    variables = os.environ if environment is None else environment
    loaded = sys.modules if modules is None else modules
    for ask in (_of_torch, _of_variables, _of_tf_config, _of_jax):
        world = ask(variables, loaded)
        if world is not None:
            return world
    return World(0, 1, "one process")


def _of_torch(variables: Mapping[str, str], modules: Mapping[str, Any]) -> World | None:
    distributed = modules.get("torch.distributed")
    if distributed is None or not (distributed.is_available() and distributed.is_initialized()):
        return None
    return World(distributed.get_rank(), distributed.get_world_size(), "torch.distributed")


def _of_variables(variables: Mapping[str, str], modules: Mapping[str, Any]) -> World | None:
    if "RANK" not in variables or "WORLD_SIZE" not in variables:
        return None
    said = f"RANK={variables['RANK']}, WORLD_SIZE={variables['WORLD_SIZE']}"
    try:
        rank, size = int(variables["RANK"]), int(variables["WORLD_SIZE"])
    except ValueError:
        raise InvalidArgumentError("the environment", got=said, expected="two integers") from None
    if not 0 <= rank < size:
        raise InvalidArgumentError("the environment", got=said, expected="0 <= RANK < WORLD_SIZE")
    return World(rank, size, "RANK and WORLD_SIZE")


def _of_tf_config(variables: Mapping[str, str], modules: Mapping[str, Any]) -> World | None:
    text = variables.get("TF_CONFIG")
    if not text:
        return None
    try:
        config = json.loads(text)
        cluster, task = config.get("cluster", {}), config.get("task", {})
        chiefs, workers = len(cluster.get("chief", ())), len(cluster.get("worker", ()))
        kind, index = task.get("type", "worker"), int(task.get("index", 0))
    except (ValueError, AttributeError, TypeError) as error:
        raise InvalidArgumentError(
            "TF_CONFIG cannot be read", got=text[:80], expected='JSON with a "cluster" and a "task"'
        ) from error
    if kind not in ("chief", "worker") or not chiefs + workers:
        return None
    return World(index + (chiefs if kind == "worker" else 0), chiefs + workers, "TF_CONFIG")


def _of_jax(variables: Mapping[str, str], modules: Mapping[str, Any]) -> World | None:
    jax = modules.get("jax")
    if jax is None or not getattr(getattr(jax, "distributed", None), "is_initialized", lambda: False)():
        return None
    return World(jax.process_index(), jax.process_count(), "jax.distributed")
