"""Compilations, as the frameworks tell of them: what a new shape costs.

JAX through its own monitoring (`/jax/core/compile/...`, nothing on cached calls), TensorFlow where it makes a concrete
function of a `tf.function`, PyTorch through Dynamo's callbacks. Each is charged to the batch that was given last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Protocol

from penstock.probes.version import Releases

JAX = Releases("JAX", (0, 4), (0, 10))
TENSORFLOW = Releases("TensorFlow", (2, 14), (2, 21))
PYTORCH = Releases("PyTorch", (2, 6), (2, 13))
_JAX_EVENTS = "/jax/core/compile/"


class Compilations(Protocol):
    """Who hears of them, by a clock of its own."""

    @property
    def now(self) -> Callable[[], float]: ...

    def compiled(self, seconds: float) -> None:
        """Something was compiled, or a part of that was done, and took so long."""


Stop = Callable[[], None]


def patches(book: Compilations) -> dict[str, Callable[[Any], Stop]]:
    """What to do to which module; each gives a function that takes it back."""
    return {
        "jax._src.monitoring": lambda module: listen_to_jax(module, book),
        "tensorflow.python.eager.polymorphic_function.tracing_compilation": lambda module: time_traces(module, book),
        "torch._dynamo.callback": lambda module: listen_to_dynamo(module, book),
    }


def listen_to_jax(module: Any, book: Compilations) -> Stop:
    """Hear of tracing, lowering and compiling."""
    JAX.require(module, "register_event_duration_secs_listener")
    listens = [True]

    def heard(event: str, duration_s: float, **_: Any) -> None:
        if listens and event.startswith(_JAX_EVENTS):
            book.compiled(duration_s)

    def stop() -> None:
        listens.clear()
        unregister = getattr(module, "unregister_event_duration_listener", None)  # of newer releases
        if unregister is not None:
            unregister(heard)

    module.register_event_duration_secs_listener(heard)
    return stop


def time_traces(module: Any, book: Compilations) -> Stop:
    """Time each tracing of a `tf.function`."""
    TENSORFLOW.require(module, "_create_concrete_function")
    original = module._create_concrete_function

    listens = [True]

    @functools.wraps(original)
    def timed(*arguments: Any, **named: Any) -> Any:
        began = book.now()
        try:
            return original(*arguments, **named)
        finally:
            if listens:
                book.compiled(book.now() - began)

    def stop() -> None:
        listens.clear()
        if module._create_concrete_function is timed:
            module._create_concrete_function = original

    module._create_concrete_function = timed
    return stop


def listen_to_dynamo(module: Any, book: Compilations) -> Stop:
    """Hear of compilations of `torch.compile`."""
    handler = module.callback_handler
    PYTORCH.require(handler, "register_start_callback", "register_end_callback")
    began: list[float] = []

    def start(*_: Any) -> None:
        began.append(book.now())

    def end(*_: Any) -> None:
        if began:
            book.compiled(book.now() - began.pop())

    def stop() -> None:
        handler.remove_start_callback(start)
        handler.remove_end_callback(end)

    handler.register_start_callback(start)
    handler.register_end_callback(end)
    return stop
