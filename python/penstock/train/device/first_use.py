"""The line that initialised a framework first, for the errors of what came after it.

Importing `penstock.train` puts one wrapper around the function by which an imported framework initialises itself. Its
first call notes the user's line and takes the wrapper away, so no later call pays. A framework imported afterwards, or
initialised before, is not seen: then the error says how it can be. The line is kept in the framework's own module.
"""

from __future__ import annotations

import functools
import os
import sys
import sysconfig
from collections.abc import Mapping
from types import FrameType
from typing import Any

from penstock.errors import Location, TooLateError
from penstock.train.backend import Backend

_INITIALISERS: Mapping[Backend, tuple[str, str, str]] = {
    "tensorflow": ("tensorflow.python.eager.context", "Context", "ensure_initialized"),
    "jax": ("jax._src.xla_bridge", "", "backends"),
    "torch": ("torch.cuda", "", "_lazy_init"),
}
_NOTED = "_penstock_first_call"
_LIBRARIES = tuple({os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))} | {
    path for key, path in sysconfig.get_paths().items() if key in ("stdlib", "platstdlib", "purelib", "platlib")
})  # fmt: skip


def watch_first_use(modules: Mapping[str, Any] = sys.modules) -> None:
    """Note who initialises the frameworks that are imported by now. Idempotent; a framework that changed is let be."""
    for path, kind, name in _INITIALISERS.values():
        module = modules.get(path)
        owner = getattr(module, kind, None) if kind else module
        function = getattr(owner, name, None)
        if function is not None and not hasattr(module, _NOTED):
            setattr(module, _NOTED, None)
            setattr(owner, name, _noting(module, owner, name, function))


def _noting(module: Any, owner: Any, name: str, function: Any) -> Any:
    @functools.wraps(function)
    def first(*arguments: Any, **named: Any) -> Any:
        setattr(owner, name, function)
        setattr(module, _NOTED, _calling_line())
        return function(*arguments, **named)

    return first


def _calling_line() -> Location | None:
    """The innermost line that belongs to no library; None where all do."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and frame.f_code.co_filename.startswith((*_LIBRARIES, "<frozen")):
        frame = frame.f_back
    return None if frame is None else Location(frame.f_code.co_filename, frame.f_lineno)


def too_late(framework: Backend, what: str, modules: Mapping[str, Any] = sys.modules) -> TooLateError:
    """The error for `what`, which `framework` takes only before its first operation."""
    line: Location | None = getattr(modules.get(_INITIALISERS[framework][0]), _NOTED, None)
    if line is not None:
        remedy = f"{framework} was initialised first at {line}: call penstock.train.setup before that"
    else:
        remedy = (
            f"call penstock.train.setup before the first operation; `import penstock.train` right after "
            f"`import {framework}`, and this error names the line that was first"
        )
    return TooLateError(
        f"setup: {what}: {framework} is initialised already", framework=framework, first_call=line,
        expected="this before its first operation", remedy=remedy,
    )  # fmt: skip


watch_first_use()  # when the kit is imported: `setup` imports this module
