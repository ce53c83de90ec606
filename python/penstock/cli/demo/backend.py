"""Which framework the demo trains with, and its import, without the notices that it prints."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.errors import InvalidArgumentError, MissingDependencyError

BACKENDS = ("tensorflow", "jax", "torch")
_HOW = {"tensorflow": "pip install tensorflow-cpu", "jax": "pip install jax", "torch": "pip install torch"}


def is_installed(module: str) -> bool:
    return importlib.util.find_spec(module) is not None


def choose_backend(wanted: str | None) -> str:
    """`wanted`, or KERAS_BACKEND, or the first that is installed.

    Raises: InvalidArgumentError: no backend of Keras that the demo knows. MissingDependencyError: not installed.
    """
    name = wanted or os.environ.get("KERAS_BACKEND")
    if name is None:
        name = next((backend for backend in BACKENDS if is_installed(backend)), None)
        if name is None:
            raise MissingDependencyError(
                "the demo trains with Keras on one of three frameworks", remedy=_HOW["tensorflow"]
            )
    if name not in BACKENDS:
        raise InvalidArgumentError("--backend", got=repr(name), expected=f"one of {', '.join(BACKENDS)}")
    if not is_installed(name):
        raise MissingDependencyError(f"--backend {name}: {name} is not installed", remedy=_HOW[name])
    return name


def require_installed(module: str, remedy: str) -> None:
    if not is_installed(module):
        raise MissingDependencyError(f"the demo needs {module}, which is not installed", remedy=remedy)


def load_tensorflow() -> None:
    """Import TensorFlow."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    with _quiet():
        import tensorflow as tf

        tf.get_logger().setLevel("ERROR")


def load_keras(backend: str) -> None:
    """Import Keras on `backend`. Raises: InvalidArgumentError: this process has it on another already."""
    os.environ["KERAS_BACKEND"] = backend
    if backend == "tensorflow":
        load_tensorflow()
    with _quiet():
        import keras
    if keras.backend.backend() != backend:
        raise InvalidArgumentError("Keras has one backend for life", got=keras.backend.backend(), expected=backend)


def fetches_ahead() -> int:
    """Batches that Keras fetches before the step ahead of theirs is dispatched; see `pace.starvation_s`."""
    import keras

    if keras.backend.backend() != "jax":
        return 0
    import jax

    return 0 if jax.default_backend() == "cpu" else 1


@contextmanager
def _quiet() -> Iterator[None]:
    """Drop what C++ writes to standard error at import, whatever the log level; exceptions pass."""
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
