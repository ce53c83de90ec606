"""What jit=... comes to on each framework, as a table, and what is refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.train import Runtime, Strategy, compile_step, set_jit
from penstock.train.compile.jit import Surroundings, decide

CPU, GPU = Surroundings(), Surroundings(has_accelerator=True)
SEVERAL = Surroundings(has_accelerator=True, is_distributed=True)
BARE = Surroundings(has_compiler=False)


@pytest.mark.parametrize(
    ("backend", "jit", "around", "expected"),
    [
        ("tensorflow", "auto", CPU, (False, False, True)),
        ("tensorflow", "auto", GPU, ("auto", False, True)),
        ("tensorflow", "auto", SEVERAL, (False, False, True)),
        ("tensorflow", True, CPU, (True, True, True)),
        ("tensorflow", True, SEVERAL, (False, True, False)),
        ("tensorflow", False, GPU, (False, True, True)),
        ("jax", "auto", CPU, (True, False, True)),
        ("jax", True, SEVERAL, (True, True, True)),
        ("jax", False, CPU, (False, True, True)),
        ("torch", "auto", GPU, (False, False, True)),
        ("torch", True, GPU, (True, False, True)),
        ("torch", True, BARE, (False, True, False)),
        ("torch", False, CPU, (False, True, True)),
    ],
)
def test_what_jit_comes_to(backend: Any, jit: Any, around: Surroundings, expected: tuple[Any, bool, bool]) -> None:
    decision = decide(backend, jit, around)
    assert (decision.jit, decision.is_set, decision.is_possible) == expected
    assert decision.why


@pytest.mark.parametrize("jit", [1, 0, None, "on"])
def test_another_jit_is_refused(jit: Any) -> None:
    with pytest.raises(InvalidArgumentError, match=r'setup: jit; got .* True, False or "auto"'):
        set_jit("jax", jit)


def test_what_cannot_be_is_said_with_its_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    tf = SimpleNamespace(config=SimpleNamespace(list_physical_devices=lambda kind: []))
    monkeypatch.setitem(__import__("sys").modules, "tensorflow", tf)
    strategy = Strategy(name="mirrored", backend="tensorflow", devices=("CPU:0", "CPU:1"))
    jit, (change,) = set_jit("tensorflow", True, strategy)
    assert (jit, change.outcome, change.undo) == (False, "not possible", None)
    assert "tf.distribute" in str(change)


def test_tensorflow_is_told_and_untold(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[Any] = []
    optimizer = SimpleNamespace(get_jit=lambda: "", set_jit=told.append)
    config = SimpleNamespace(list_physical_devices=lambda kind: [], optimizer=optimizer)
    monkeypatch.setitem(__import__("sys").modules, "tensorflow", SimpleNamespace(config=config))
    jit, (change,) = set_jit("tensorflow", True)
    assert change.undo is not None
    change.undo()
    assert (jit, told) == (True, ["autoclustering", False])


def test_a_step_that_is_no_function_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="compile_step"):
        compile_step(3, Runtime(backend="jax", strategy=Strategy(name="one_device", backend="jax", devices=("cpu",))))  # type: ignore[arg-type]


def test_a_step_that_is_not_to_be_compiled_is_itself() -> None:
    def step() -> None: ...

    for backend in ("jax", "torch"):
        strategy = Strategy(name="one_device", backend=backend, devices=("cpu",))
        assert compile_step(step, Runtime(backend=backend, jit=False, strategy=strategy)) is step
