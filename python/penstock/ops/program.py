"""Program: a traced function as plain data, an expression graph over ops in the order they were called.

A step names its op; its arguments are constants and references to inputs or to results of earlier steps. Nothing in a
program runs by itself, and every op can be looked up by name.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, ParamSpec, TypeVar

import numpy as np

from penstock.block.tree import Structure

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Ref:
    """A value of a program: its inputs come first, then the result of each step."""

    index: int


class Draw(NamedTuple):
    """Where a step draws from: stream `op` of the element, from word `position` on, under the key of call `call`.

    A program of several functions, one after another, has a key for each.
    """

    op: int
    position: int = 0
    call: int = 0


@dataclass(frozen=True, slots=True)
class Step:
    """One call.

    `op`: its name; `args`, `kwargs`: constants and Refs (also inside tuples); `draw`: where it draws from, None for an
    op that draws nothing. `is_number`: the result is a Python number, which takes the dtype of the array it meets.
    `parts`: how many values are in its result, as `parts_of` counts them, 0 for one that is a value itself; "item"
    steps pick them. `dtype`: of the result, as far as the first row tells; rules weigh by it what pays.
    """

    op: str
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()
    draw: Draw | None = None
    is_number: bool = False
    parts: int = 0
    dtype: str = ""

    def reads_first(self, index: int) -> bool:
        """Whether its first argument is value `index`: comparing arguments themselves would compare arrays."""
        return bool(self.args) and isinstance(self.args[0], Ref) and self.args[0].index == index

    def references(self) -> set[int]:
        """The values it reads."""
        found: set[int] = set()
        substitute((self.args, tuple(value for _, value in self.kwargs)), lambda ref: found.add(ref.index))
        return found

    def __str__(self) -> str:
        if self.op == "item":
            return f"{_short(self.args[0])}[{self.args[1]}]"
        if self.op.startswith("fused."):
            return f"{self.args[1]} (of {_short(self.args[0])})"
        parts = [_short(arg) for arg in self.args] + [f"{key}={_short(value)}" for key, value in self.kwargs]
        return f"{self.op}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Program:
    """`inputs` leaves in; steps; the leaves of the result, Refs or constants, nested as `structure`.

    dtypes: of the inputs, "" for text; for rules, as with a step.
    """

    inputs: int
    steps: tuple[Step, ...]
    outputs: tuple[Any, ...]
    structure: Structure
    dtypes: tuple[str, ...] = ()

    def __str__(self) -> str:
        lines = [f"%{self.inputs + number} = {step}" for number, step in enumerate(self.steps)]
        return "\n".join([*lines, f"return {', '.join(_short(output) for output in self.outputs)}"])


V = TypeVar("V")


def replaced(nest: Any, kind: type[V], replace: Callable[[V], object]) -> Any:
    """`nest` with every value of `kind` in it, inside tuples, lists, dicts and slices too, replaced."""
    if isinstance(nest, kind):
        return replace(nest)
    if isinstance(nest, tuple | list):
        return type(nest)([replaced(part, kind, replace) for part in nest])
    if isinstance(nest, dict):
        return {key: replaced(part, kind, replace) for key, part in nest.items()}
    if isinstance(nest, slice):
        return slice(*(replaced(part, kind, replace) for part in (nest.start, nest.stop, nest.step)))
    return nest


def substitute(nest: Any, replace: Callable[[Ref], object]) -> Any:
    """`nest` with every Ref in it replaced."""
    return replaced(nest, Ref, replace)


def parts_of(result: Any) -> list[Any]:
    """The values in the result of a call, in order: of tuples, lists and dicts inside one another; of a value, none."""
    if not isinstance(result, tuple | list | dict):
        return []
    inner = result.values() if isinstance(result, dict) else result
    return [leaf for part in inner for leaf in (parts_of(part) if isinstance(part, tuple | list | dict) else [part])]


def with_parts(result: Any, parts: Iterator[Any]) -> Any:
    """`result` with other values in it, taken from `parts` in the order of `parts_of`."""
    if isinstance(result, dict):
        return {key: with_parts(part, parts) for key, part in result.items()}
    if isinstance(result, tuple | list):
        return type(result)([with_parts(part, parts) for part in result])
    return next(parts)


class Traced:
    """Base of the values a function is traced with: an op called with one of them records instead of computing."""

    __slots__ = ()

    def record_op(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The value of `function(*args, **kwargs)` in the program."""
        raise NotImplementedError

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError


Recorder = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any]], Any]


class _Recording(threading.local):
    """Who is told of ops that are called without a traced value, while this thread traces: they may draw, or read."""

    recorder: Recorder | None = None


_recording = _Recording()


@contextmanager
def recording(recorder: Recorder | None) -> Iterator[None]:
    """While open, ops called in this thread without a traced value go to `recorder`; None: they compute."""
    previous, _recording.recorder = _recording.recorder, recorder
    try:
        yield
    finally:
        _recording.recorder = previous


def op(function: Callable[P, R]) -> Callable[P, R]:
    """Make `function` an op: eager on values, recorded on traced ones. Cost on values: about 0.3 us."""

    @functools.wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        traced = next((value for value in (*args, *kwargs.values()) if isinstance(value, Traced)), None)
        if traced is None and _recording.recorder is None:
            return function(*args, **kwargs)
        record = _recording.recorder if traced is None else traced.record_op
        assert record is not None
        result: R = record(call, args, kwargs)
        return result

    return call


def _short(value: Any) -> str:
    if isinstance(value, Ref):
        return f"%{value.index}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_short(part) for part in value) + ")"
    if isinstance(value, np.ndarray) and value.size > 4:
        return f"<{value.dtype.name} {value.shape}>"
    if isinstance(value, type | np.dtype):
        return np.dtype(value).name
    text = repr(value)
    return text if len(text) <= 40 else text[:37] + "..."
