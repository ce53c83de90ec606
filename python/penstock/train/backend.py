"""Which framework trains: what the user said, else what the process shows, else what is installed."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from typing import Any, Literal, get_args

from penstock.errors import InvalidArgumentError, MissingDependencyError

Backend = Literal["tensorflow", "jax", "torch"]
BACKENDS: tuple[Backend, ...] = get_args(Backend)


def resolve_backend(
    backend: str = "auto",
    modules: Mapping[str, Any] = sys.modules,
    environment: Mapping[str, str] = os.environ,
    is_installed: Callable[[str], bool] = lambda name: find_spec(name) is not None,
) -> Backend:
    """The framework that `backend` names; "auto": Keras' own, else the one imported, else the one installed.

    Where several are imported, TensorFlow and PyTorch count before JAX, which both of Keras and TensorFlow bring in.
    Imports nothing.

    Raises: InvalidArgumentError: an unknown name, or several are installed and none is imported.
        MissingDependencyError: it, or any of them, is not installed.
    """
    if backend != "auto":
        if backend not in BACKENDS:
            raise InvalidArgumentError(
                "setup: backend", got=repr(backend), expected=f'"auto" or one of {", ".join(map(repr, BACKENDS))}'
            )
        if backend not in modules and not is_installed(backend):
            raise MissingDependencyError(f"setup: {backend} is not installed", remedy=f"pip install {backend}")
        return backend
    keras: Any = modules.get("keras")
    said = keras.config.backend() if hasattr(keras, "config") else environment.get("KERAS_BACKEND")
    if said in BACKENDS:
        return said
    imported: list[Backend] = [name for name in ("torch", "tensorflow", "jax") if name in modules]
    if imported:
        return imported[0]
    installed: list[Backend] = [name for name in BACKENDS if is_installed(name)]
    if len(installed) == 1:
        return installed[0]
    if installed:
        raise InvalidArgumentError(
            "setup: backend", got=f'"auto", with {" and ".join(installed)} installed and none of them imported',
            expected="one of them", remedy=f'say it: setup(backend="{installed[0]}"), or import it first',
        )  # fmt: skip
    raise MissingDependencyError(
        "setup: no framework is installed", expected=f"one of {', '.join(BACKENDS)}", remedy="pip install one of them"
    )
