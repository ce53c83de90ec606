"""`@penstock.function`: a function that must compile. Without it, what cannot be compiled runs as Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from penstock.errors import InvalidArgumentError, Location, NotCompiledError
from penstock.trace.purity import impurity

F = TypeVar("F", bound=Callable[..., Any])
_MARK = "__penstock_demands_compilation__"


def function(fn: F) -> F:
    """Demand that `fn` compiles wherever a pipeline maps it; called by itself it is unchanged.

    Raises: NotCompiledError: here, when its code alone shows that it cannot; else when the first element is seen.
    Both name file, line and reason.
    """
    if not hasattr(fn, "__code__"):
        raise InvalidArgumentError("@penstock.function", got=repr(fn), expected="a Python function")
    reason = impurity(fn)
    if reason is not None:
        raise not_compiled(fn, "@penstock.function", reason)
    setattr(fn, _MARK, True)
    return fn


def is_demanded(fn: Callable[..., Any]) -> bool:
    """Whether `fn` is under `@penstock.function`."""
    return getattr(fn, _MARK, False)


def not_compiled(fn: Callable[..., Any], verb: str, reason: str) -> NotCompiledError:
    """The error for a function that was to compile and does not."""
    code = getattr(fn, "__code__", None)
    where = f"{Location(code.co_filename, code.co_firstlineno)}, {verb}" if code is not None else verb
    return NotCompiledError(
        f"{getattr(fn, '__qualname__', fn)!r} does not compile, because it {reason}",
        where=where,
        remedy="change that, or take @penstock.function off and it runs as Python",
    )
