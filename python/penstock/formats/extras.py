"""Libraries that only some formats need: imported where they are used, and missed in words."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from penstock.errors import MissingDependencyError


def library(module: str, extra: str) -> Any:
    """The module. Raises: MissingDependencyError: not installed; says how to. Cost: of an import, the first time."""
    try:
        return import_module(module)
    except ImportError as error:
        name = module.partition(".")[0]
        raise MissingDependencyError(
            f"this needs {name}, which is not installed" if error.name == name else f"{module} cannot be imported",
            got=None if error.name == name else str(error), remedy=f"pip install 'penstock[{extra}]'",
        ) from error  # fmt: skip
