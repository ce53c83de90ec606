"""Giving memory back: sessions, caches and what nobody refers to any more, of every framework that is imported."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from penstock.machine.memory import rss_bytes
from penstock.train.device.on_jax import is_initialised
from penstock.units import format_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Released:
    """What `release` gave back.

    host_bytes: resident bytes of this process; device_bytes: (name, bytes) of each device that tells what it holds.
    Below 0: others of this process took some meanwhile. cleared: what was, in order.
    """

    host_bytes: int
    device_bytes: tuple[tuple[str, int], ...] = ()
    cleared: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = [
            f"{_signed(self.host_bytes)} of the host",
            *(f"{_signed(n)} of {name}" for name, n in self.device_bytes),
        ]
        return f"given back: {', '.join(parts)} (cleared: {', '.join(self.cleared)})"


def release(modules: Mapping[str, Any] = sys.modules, host_bytes: Callable[[], int] = rss_bytes) -> Released:
    """Clear Keras' sessions, the frameworks' caches and unreachable objects, and say what came back.

    Models and arrays that a variable still names stay: `del` them first. Keras' dtype policy and distribution are kept,
    which `keras.utils.clear_session` alone would forget. Compiled functions are compiled anew when called next.
    modules, host_bytes: what is imported and how much is resident, for tests. Cost: a full collection, 0.1 to 2 s.
    """
    held_before, before = _held(modules), host_bytes()
    cleared: list[str] = []
    for name, clear in _CLEARING:
        module = modules.get(name)
        if module is not None and clear(module):
            cleared.append(_SAID[name])
    gc.collect()
    cleared.append("unreachable objects")
    torch = modules.get("torch")
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        torch.cuda.empty_cache()
        cleared.append("PyTorch's CUDA cache")
    with suppress(OSError, AttributeError):  # where there is no glibc, what was freed stays with the allocator
        ctypes.CDLL(None).malloc_trim(0)
    held = dict(_held(modules))
    return Released(
        host_bytes=before - host_bytes(),
        device_bytes=tuple((name, count - held.get(name, 0)) for name, count in held_before),
        cleared=tuple(cleared),
    )


def _clear_keras(keras: Any) -> bool:
    if not hasattr(keras, "utils"):
        return False
    policy, distribution = keras.config.dtype_policy(), keras.distribution.distribution()
    keras.utils.clear_session(free_memory=False)
    keras.config.set_dtype_policy(policy)
    if distribution is not None:
        keras.distribution.set_distribution(distribution)
    return True


def _clear_jax(jax: Any) -> bool:
    if not is_initialised(jax):
        return False
    jax.clear_caches()
    return True


_CLEARING: tuple[tuple[str, Callable[[Any], bool]], ...] = (("keras", _clear_keras), ("jax", _clear_jax))
_SAID = {"keras": "Keras' session", "jax": "JAX' compiled functions"}


def _held(modules: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """Bytes that this process holds on each device that tells it. Initialises nothing."""
    found: list[tuple[str, int]] = []
    torch, jax, tf = (modules.get(name) for name in ("torch", "jax", "tensorflow"))
    if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized():
        found += [(f"cuda:{n}", int(torch.cuda.memory_reserved(n))) for n in range(torch.cuda.device_count())]
    if jax is not None and is_initialised(jax):
        told = [(str(device), device.memory_stats()) for device in jax.local_devices()]
        found += [(name, int(stats["bytes_in_use"])) for name, stats in told if stats and "bytes_in_use" in stats]
    if tf is not None and tf.config.list_physical_devices("GPU"):
        for n in range(len(tf.config.get_visible_devices("GPU"))):
            with suppress(ValueError, RuntimeError):  # it has not started, or its allocator does not tell
                found.append((f"GPU:{n}", int(tf.config.experimental.get_memory_info(f"GPU:{n}")["current"])))
    return tuple(found)


def _signed(count: int) -> str:
    return f"-{format_bytes(-count)}" if count < 0 else format_bytes(count)
