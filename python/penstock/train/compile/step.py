"""One wrapper for a raw training step, whichever framework compiles it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import InvalidArgumentError, user_location
from penstock.train.runtime import Runtime


def compile_step(fn: Callable[..., Any], runtime: Runtime, **options: Any) -> Callable[..., Any]:
    """`fn`, compiled as `runtime` says: by `tf.function` (with XLA where jit is True), `jax.jit`, or `torch.compile`.

    On TensorFlow it becomes a graph whatever jit is, one that does not mind sizes that vary once it has seen two
    (`reduce_retracing`). On JAX and PyTorch it is `fn` itself where jit is False. options: what the framework's own
    wrapper takes (`donate_argnums`, `mode`, `input_signature` ...), as it is. Under a `tf.distribute` strategy, call
    `strategy.run` inside of `fn`.

    Raises: InvalidArgumentError: `fn` cannot be called.
    """
    if not callable(fn):
        raise InvalidArgumentError("compile_step", got=repr(fn), expected="a function", where=user_location())
    if runtime.backend == "tensorflow":
        import tensorflow as tf

        said: dict[str, Any] = {"reduce_retracing": "input_signature" not in options, **options}
        if runtime.jit is True:
            said.setdefault("jit_compile", True)
        return tf.function(fn, **said)  # type: ignore[no-any-return] # of a framework without types
    if runtime.backend == "jax":
        import jax

        return fn if runtime.jit is False else jax.jit(fn, **options)
    if runtime.jit is not True:
        return fn
    import torch

    return torch.compile(fn, **options)  # type: ignore[no-any-return] # of a framework without types
