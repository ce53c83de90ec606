"""Compilations, as the frameworks tell of them: what a new shape costs.

JAX through its own monitoring (`/jax/core/compile/...`, nothing on cached calls), TensorFlow where it makes a concrete
function of a `tf.function`, PyTorch through Dynamo's callbacks. Each is charged to the batch that was given last.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from penstock.probes.book import Book
from penstock.probes.version import Releases

JAX = Releases("JAX", (0, 4), (0, 10))
TENSORFLOW = Releases("TensorFlow", (2, 14), (2, 21))
PYTORCH = Releases("PyTorch", (2, 6), (2, 13))
_JAX_EVENTS = "/jax/core/compile/"


def patches(book: Book) -> dict[str, Callable[[Any], None]]:
    """What to do to which module."""
    return {
        "jax._src.monitoring": lambda module: listen_to_jax(module, book),
        "tensorflow.python.eager.polymorphic_function.tracing_compilation": lambda module: time_traces(module, book),
        "torch._dynamo.callback": lambda module: listen_to_dynamo(module, book),
    }


def listen_to_jax(module: Any, book: Book) -> None:
    """Hear of tracing, lowering and compiling."""
    JAX.require(module, "register_event_duration_secs_listener")

    def heard(event: str, duration_s: float, **_: Any) -> None:
        if event.startswith(_JAX_EVENTS):
            book.compiled(duration_s)

    module.register_event_duration_secs_listener(heard)


def time_traces(module: Any, book: Book) -> None:
    """Time each tracing of a `tf.function`."""
    TENSORFLOW.require(module, "_create_concrete_function")
    original = module._create_concrete_function

    @functools.wraps(original)
    def timed(*arguments: Any, **named: Any) -> Any:
        began = book.now()
        try:
            return original(*arguments, **named)
        finally:
            book.compiled(book.now() - began)

    module._create_concrete_function = timed


def listen_to_dynamo(module: Any, book: Book) -> None:
    """Hear of compilations of `torch.compile`."""
    handler = module.callback_handler
    PYTORCH.require(handler, "register_start_callback", "register_end_callback")
    began: list[float] = []

    def start(*_: Any) -> None:
        began.append(book.now())

    def end(*_: Any) -> None:
        if began:
            book.compiled(book.now() - began.pop())

    handler.register_start_callback(start)
    handler.register_end_callback(end)
