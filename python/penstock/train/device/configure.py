"""The lever "memory" of `setup`: which devices a framework uses, and how much of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from penstock.machine.cards import Card
from penstock.machine.nvml import read_cards
from penstock.train.backend import Backend
from penstock.train.device.framework import Framework
from penstock.train.device.on_jax import OnJax
from penstock.train.device.on_tensorflow import OnTensorFlow
from penstock.train.device.on_torch import OnTorch
from penstock.train.device.plan import plan
from penstock.train.device.request import Memory, Request, parse_request
from penstock.train.device.steps import Step
from penstock.train.runtime import Change

_FRAMEWORKS: Mapping[Backend, Callable[[tuple[Card, ...], str], Framework]] = {
    "tensorflow": OnTensorFlow,
    "jax": OnJax,
    "torch": OnTorch,
}


def configure(
    backend: Backend,
    *,
    memory: Memory | None = None,
    visible: Iterable[int] | None = None,
    logical: int | None = None,
    cards: Callable[[], tuple[tuple[Card, ...], str]] = read_cards,
    modules: Mapping[str, Any] = sys.modules,
) -> tuple[Change, ...]:
    """Set what `backend` takes of the devices, before its first operation; says what was set and what could not be.

    memory: "growth": as it is needed; a limit on each device, in bytes or as "4 GiB"; ("growth", "4 GiB") for both,
    which TensorFlow refuses. visible: the devices to use, by number; []: the CPU. logical: as how many devices each
    device shows (TensorFlow), or the CPU (TensorFlow, JAX). While JAX or PyTorch trains, TensorFlow is kept off the
    GPUs if it is imported. cards, modules: what NVML tells and what is imported, for tests.

    Raises: InvalidArgumentError: a value or a device that does not exist, growth and a limit where they exclude each
    other. TooLateError: the framework is initialised already.
    Cost: imports `backend`; asks NVML, some 80 ms the first time.
    """
    request = parse_request(memory, visible, logical)
    hiding = backend != "tensorflow" and "tensorflow" in modules
    if request == Request() and not hiding:
        return ()
    changes: list[Change] = []
    if hiding:
        hidden = OnTensorFlow(tf=modules["tensorflow"]).hide_gpus()
        changes += [] if hidden is None else [hidden]
    if request != Request():
        found, why_none = cards()
        framework = _FRAMEWORKS[backend](found, why_none)
        planned = plan(backend, request, framework.facts())
        changes += [framework.take(each) if isinstance(each, Step) else each for each in planned]
    return tuple(changes)
