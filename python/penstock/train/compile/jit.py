"""Whether training steps are compiled: XLA on TensorFlow, `jax.jit`, `torch.compile`.

What "auto" means is decided from three facts (`Surroundings`) by a table, and said in the change: TensorFlow on a CPU
gains nothing from XLA and fails with it under `tf.distribute` (variables on several devices in one cluster); JAX
without jit is not used; PyTorch compiles for tens of seconds, so it is asked to.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from penstock.errors import InvalidArgumentError
from penstock.train.backend import Backend
from penstock.train.runtime import Change
from penstock.train.strategy.chosen import Strategy

Jit = bool | Literal["auto"]

_COMPILERS = ("g++", "clang++", "c++", "icpx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Surroundings:
    """What decides about compiling: is there an accelerator, more than one replica, what PyTorch compiles with."""

    has_accelerator: bool = False
    is_distributed: bool = False
    has_compiler: bool = True


@dataclass(frozen=True, slots=True)
class Decision:
    """jit: as it is to be. is_set: whether the framework is told (or nothing needs to be). why: in words."""

    jit: Jit
    why: str
    is_set: bool = True
    is_possible: bool = True


def set_jit(backend: Backend, jit: Jit = "auto", strategy: Strategy | None = None) -> tuple[Jit, tuple[Change, ...]]:
    """Compile training steps (True), do not (False), or as is best on this machine ("auto"); what it came to, and why.

    On TensorFlow, True turns on XLA's autoclustering; on JAX, False sets `jax_disable_jit`; on PyTorch, False makes
    `torch.compile` run functions as they are. The rest is for who compiles a step: `compile_step(step, runtime)`, or
    Keras, `model.compile(..., jit_compile=runtime.jit)`.

    Raises: InvalidArgumentError: jit is none of the three.
    """
    if jit is not True and jit is not False and jit != "auto":
        raise InvalidArgumentError("setup: jit", got=repr(jit), expected='True, False or "auto"')
    decision = decide(backend, jit, _surroundings(backend, jit, strategy))
    text = {True: "on", False: "off", "auto": "left to the framework"}[decision.jit]
    if not decision.is_possible:
        return decision.jit, (Change(lever="jit", text="on", outcome="not possible", why=decision.why),)
    undo = _SETTERS[backend](decision.jit) if decision.is_set else None
    if undo is None:
        return decision.jit, (Change(lever="jit", text=text, outcome="not needed", why=decision.why),)
    return decision.jit, (Change(lever="jit", text=text, why=decision.why, undo=undo),)


def decide(backend: Backend, jit: Jit, around: Surroundings) -> Decision:
    """What is to be done, from facts alone."""
    if backend == "jax":
        if jit is False:
            return Decision(False, "jax.jit runs functions op by op: for looking into them, not for speed")
        return Decision(True, "JAX compiles by itself; a raw step is compiled by compile_step", is_set=jit is True)
    if backend == "tensorflow":
        if jit is True and around.is_distributed:
            why = "XLA fails under tf.distribute, where variables of one step lie on several devices"
            return Decision(False, why, is_possible=False)
        if jit is True:
            where = "" if around.has_accelerator else "; on a CPU alone it seldom pays, and autoclusters nothing"
            why = f"autoclustering, compile_step and model.compile(jit_compile=runtime.jit) use XLA{where}"
            return Decision(True, why)
        if jit is False:
            return Decision(False, "steps are graphs without XLA")
        if around.is_distributed:
            return Decision(False, "XLA fails under tf.distribute", is_set=False)
        if not around.has_accelerator:
            return Decision(False, "XLA gains nothing on a CPU here", is_set=False)
        return Decision(
            "auto", "Keras uses XLA where every layer can; compile_step does with jit=True", is_set=False
        )  # fmt: skip
    if jit is True and not around.has_compiler:
        why = f"torch.compile on a CPU needs a C++ compiler ({', '.join(_COMPILERS[:2])}), and none is on the PATH"
        return Decision(False, why, is_possible=False)
    if jit is True:
        why = "compile_step and model.compile(jit_compile=runtime.jit) use torch.compile; the first step takes long"
        return Decision(True, why, is_set=False)
    if jit is False:
        return Decision(False, "torch.compile runs functions as they are")
    return Decision(False, "torch.compile takes tens of seconds at first: ask for it with jit=True", is_set=False)


def _surroundings(backend: Backend, jit: Jit, strategy: Strategy | None) -> Surroundings:
    """Asks the framework for its devices without opening one, where its answer matters."""
    is_distributed = strategy is not None and strategy.replicas > 1
    if backend == "tensorflow":
        import tensorflow as tf

        return Surroundings(
            has_accelerator=bool(tf.config.list_physical_devices("GPU")), is_distributed=is_distributed
        )  # fmt: skip
    if backend == "torch" and jit is True:
        import torch

        has_gpu = torch.cuda.is_available()
        has_compiler = has_gpu or "CXX" in os.environ or any(map(shutil.which, _COMPILERS))
        return Surroundings(has_accelerator=has_gpu, is_distributed=is_distributed, has_compiler=has_compiler)
    return Surroundings(is_distributed=is_distributed)


def _set_tensorflow(jit: Jit) -> Callable[[], None] | None:
    import tensorflow as tf

    optimizer: Any = tf.config.optimizer
    before = optimizer.get_jit()
    after = "autoclustering" if jit else ""
    if before == after:
        return None
    optimizer.set_jit("autoclustering" if jit else False)
    return lambda: optimizer.set_jit(before or False)


def _set_jax(jit: Jit) -> Callable[[], None] | None:
    import jax

    before = bool(jax.config.jax_disable_jit)
    if before is (jit is False):
        return None
    jax.config.update("jax_disable_jit", jit is False)
    return lambda: jax.config.update("jax_disable_jit", before)


def _set_torch(jit: Jit) -> Callable[[], None] | None:
    import torch

    if jit is not False:
        return None
    torch.compiler.set_stance("force_eager")

    def undo() -> None:
        torch.compiler.set_stance("default")

    return undo


_SETTERS: dict[Backend, Callable[[Jit], Callable[[], None] | None]] = {
    "tensorflow": _set_tensorflow,
    "jax": _set_jax,
    "torch": _set_torch,
}
