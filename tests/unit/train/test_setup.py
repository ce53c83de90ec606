"""What `setup` resolves, refuses and records, without a framework."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from penstock.errors import InvalidArgumentError, MissingDependencyError
from penstock.train.backend import resolve_backend
from penstock.train.runtime import Change, Runtime
from penstock.train.seed import set_seed
from penstock.train.strategy.chosen import Strategy

KERAS_ON_JAX = SimpleNamespace(config=SimpleNamespace(backend=lambda: "jax"))


@pytest.mark.parametrize(
    ("backend", "modules", "environment", "installed", "expected"),
    [
        ("torch", {}, {}, {"torch"}, "torch"),
        ("auto", {"keras": KERAS_ON_JAX, "torch": 1}, {}, set(), "jax"),
        ("auto", {}, {"KERAS_BACKEND": "torch"}, {"tensorflow", "torch"}, "torch"),
        ("auto", {"tensorflow": 1, "jax": 1}, {}, set(), "tensorflow"),
        ("auto", {"torch": 1, "jax": 1}, {}, set(), "torch"),
        ("auto", {}, {}, {"jax"}, "jax"),
    ],
)
def test_the_backend_is_said_or_seen(
    backend: str, modules: dict[str, Any], environment: dict[str, str], installed: set[str], expected: str
) -> None:
    assert resolve_backend(backend, modules, environment, installed.__contains__) == expected


def test_an_unknown_backend_lists_those_that_exist() -> None:
    with pytest.raises(InvalidArgumentError, match="'tensorflow', 'jax', 'torch'"):
        resolve_backend("mxnet")


def test_a_backend_that_is_not_installed_is_named() -> None:
    with pytest.raises(MissingDependencyError, match="jax is not installed"):
        resolve_backend("jax", {}, {}, set[str]().__contains__)
    with pytest.raises(MissingDependencyError, match="no framework"):
        resolve_backend("auto", {}, {}, set[str]().__contains__)


def test_several_installed_and_none_imported_is_a_question() -> None:
    with pytest.raises(InvalidArgumentError, match="jax and torch installed"):
        resolve_backend("auto", {}, {}, {"jax", "torch"}.__contains__)


def test_a_seed_repeats_what_is_drawn() -> None:
    before = random.getstate(), np.random.get_state()  # noqa: NPY002 - what is set, and put back
    try:
        (change,) = set_seed("jax", 7)
        drawn = random.random(), np.random.random()  # noqa: NPY002
        set_seed("jax", 7)
        assert (random.random(), np.random.random()) == drawn  # noqa: NPY002
        assert change.lever == "seed"
        assert change.kept
    finally:
        random.setstate(before[0])
        np.random.set_state(before[1])  # noqa: NPY002


@pytest.mark.parametrize("seed", [-1, 2**32, True, 1.0])
def test_a_seed_that_numpy_does_not_take_is_refused(seed: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="setup: seed"):
        set_seed("jax", seed)


def test_undo_goes_backwards_and_returns_what_stays() -> None:
    undone: list[str] = []
    stays = Change(lever="memory", text="growth", kept="the device is in use")
    runtime = Runtime(
        backend="jax",
        strategy=Strategy(name="one_device", backend="jax", devices=("cpu:0",)),
        changes=(
            stays,
            Change(lever="precision", text="bfloat16", undo=lambda: undone.append("precision")),
            Change(lever="jit", text="on", outcome="not possible", why="no compiler"),
            Change(lever="seed", text="1", undo=lambda: undone.append("seed")),
        ),
    )
    assert runtime.undo() == (stays,)
    assert undone == ["seed", "precision"]
    assert str(runtime).splitlines() == [
        "penstock.train on jax: one_device, 1 device (cpu:0)",
        "  memory: growth [stays: the device is in use]",
        "  precision: bfloat16 [can be undone]",
        "  jit: on: not possible (no compiler)",
        "  seed: 1 [can be undone]",
    ]


def test_rows_of_a_replica_come_out_even_or_not_at_all() -> None:
    strategy = Strategy(name="multi_worker", backend="tensorflow", devices=("GPU:0", "GPU:1"), rank=1, world=2)
    assert strategy.replicas == 4
    assert strategy.per_replica(64) == 16
    with pytest.raises(InvalidArgumentError, match=r"4 replicas .* got 30, expected a multiple of 4; say batch\(32\)"):
        strategy.per_replica(30)
