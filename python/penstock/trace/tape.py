"""Tape: the steps a traced function takes, as they are recorded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import rng as streams
from penstock.block.ragged import Ragged
from penstock.ops.program import Draw, Ref, Step, Traced, parts_of, recording, replaced, with_parts
from penstock.ops.registry import OPS
from penstock.trace.numbers import is_number

if TYPE_CHECKING:
    from penstock.trace.value import Value


class TraceStop(BaseException):
    """The function did something that cannot be recorded. A BaseException, so that no `except Exception` hides it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Tape:
    """The steps recorded so far. `inputs`: values before the first step; `call`: the number of the function traced."""

    def __init__(self, inputs: int, make: Callable[[Tape, Ref, Any, bool], Value]) -> None:
        self.inputs = inputs
        self.steps: list[Step] = []
        self.call = 0
        self._make = make

    def record(
        self, name: str, compute: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool
    ) -> Any:
        """Append a step, computing its sample. `fixed`: whether all rows have the sample's shape."""
        if any(isinstance(value.sample, Ragged) for value in values_of((args, kwargs))):
            raise TraceStop("computes with a ragged value, which has no rule for blocks")
        before = streams.ops_drawn()
        with recording(None):
            sample = compute(*_samples(args), **_samples(kwargs))
        draw = Draw(before, 0, self.call) if streams.ops_drawn() > before else None
        return self.append(name, args, kwargs, sample=sample, draw=draw, fixed=fixed)

    def append(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        *,
        sample: Any,
        draw: Draw | None,
        fixed: bool,
    ) -> Any:
        """The value of one more step, or its values in the tuple, list or dict that it makes."""
        parts = parts_of(sample)
        dtype = "" if parts else _dtype(sample)
        keywords = tuple(_references(kwargs).items())
        self.steps.append(Step(name, _references(args), keywords, draw, is_number(sample), len(parts), dtype))
        value = self._make(self, Ref(self.inputs + len(self.steps) - 1), sample, fixed)
        if not parts:
            return value
        return with_parts(sample, iter([self._item(value.ref, n, part, fixed) for n, part in enumerate(parts)]))

    def _item(self, source: Ref, number: int, sample: Any, fixed: bool) -> Value:
        dtype = _dtype(sample)
        self.steps.append(Step("item", (source, number), is_number=is_number(sample), dtype=dtype))
        return self._make(self, Ref(self.inputs + len(self.steps) - 1), sample, fixed)

    def record_op(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op of the registry; with the element's own stream among its arguments, it draws from there."""
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        traits = OPS.get(function)
        if traits is None:
            raise TraceStop(f"calls {name}, which is no op of the registry")
        stream = next((value for value in (*args, *kwargs.values()) if isinstance(value, TracedRng)), None)
        if stream is None:
            return self.record(name, function, args, kwargs, fixed=False)
        args = tuple(value for value in args if value is not stream)  # rng is the last parameter of every op
        kwargs = {key: value for key, value in kwargs.items() if value is not stream}

        def compute(rng: streams.Rng) -> Any:
            return function(*_samples(args), **_samples(kwargs), rng=rng)

        sample, draw = stream.drawn(compute, again=not traits.draws_as_needed)
        return self.append(name, args, kwargs, sample=sample, draw=draw, fixed=False)

    def record_constant(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """An op called without a traced value: computed now, unless what it gives may differ from row to row."""
        traits = OPS.get(function)
        nested = has_values((args, kwargs))
        if nested or traits is None or traits.random or traits.io_bound:
            return self.record_op(function, args, kwargs)
        with recording(None):
            return function(*args, **kwargs)


class TracedRng(Traced):
    """The element's own stream under trace: what is drawn from it is recorded, with its place in the stream."""

    __slots__ = ("_real", "_tape")

    def __init__(self, tape: Tape, real: streams.Rng) -> None:
        self._tape = tape
        self._real: streams.Rng | None = real

    def record_op(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self._tape.record_op(function, args, kwargs)

    def drawn(self, compute: Callable[[streams.Rng], Any], again: bool) -> tuple[Any, Draw]:
        """What `compute` makes of the sample's stream, and where it began; `again`: the next place is known too."""
        if self._real is None:
            raise TraceStop(
                "draws again after something that draws as often as it needs, so where it draws differs from element "
                "to element; draw from the stream first, or give that op no rng"
            )
        real, draw = self._real, Draw(0, streams.position_of(self._real), self._tape.call)
        with recording(None):
            sample = compute(real)
        self._real = real if again else None
        return sample, draw

    def _draw(self, name: str, *args: Any, **kwargs: Any) -> Any:
        counts = (args[_SIZE_AT[name] :], kwargs.get("size"), kwargs.get("replace"))
        if has_values(counts):
            raise TraceStop(f"draws a number of times that differs from element to element (the size of rng.{name})")
        values = values_of((args, kwargs))
        fixed = all(value.fixed for value in values)
        is_shuffled = name == "permutation" or (name == "choice" and not (*args[2:3], kwargs.get("replace", True))[0])
        if is_shuffled and not all(value.fixed and value.ndim for value in values):
            fixed = again = False  # as many draws as there are rows
        else:
            again = True

        def compute(rng: streams.Rng) -> Any:
            return getattr(rng, name)(*_samples(args), **_samples(kwargs))

        sample, draw = self.drawn(compute, again)
        return self._tape.append(f"rng.{name}", args, kwargs, sample=sample, draw=draw, fixed=fixed)

    def random(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded."""
        return self._draw("random", *args, **kwargs)

    def uniform(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded."""
        return self._draw("uniform", *args, **kwargs)

    def integers(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded."""
        return self._draw("integers", *args, **kwargs)

    def normal(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded."""
        return self._draw("normal", *args, **kwargs)

    def permutation(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded."""
        return self._draw("permutation", *args, **kwargs)

    def choice(self, *args: Any, **kwargs: Any) -> Any:
        """Recorded."""
        return self._draw("choice", *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        raise TraceStop(f"uses .{name} of its random stream, which may draw any number of times")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise TraceStop("turns its random stream into an array")


_SIZE_AT = {"random": 0, "uniform": 2, "integers": 2, "normal": 2, "permutation": 1, "choice": 1}


def _dtype(sample: Any) -> str:
    """The name of the dtype of numbers."""
    return "" if isinstance(sample, bytes | str | Ragged) else np.asarray(sample).dtype.name


def _samples(value: Any) -> Any:
    return replaced(value, Traced, lambda traced: traced.sample)  # type: ignore[attr-defined]  # streams are taken out


def _references(value: Any) -> Any:
    return replaced(value, Traced, lambda traced: traced.ref)  # type: ignore[attr-defined]  # likewise


def values_of(value: Any) -> list[Value]:
    """The traced values inside a nest of arguments."""
    found: list[Any] = []
    replaced(value, Traced, found.append)
    return [traced for traced in found if not isinstance(traced, TracedRng)]


def has_values(value: Any) -> bool:
    """Whether a traced value is inside a nest of arguments."""
    return bool(values_of(value))
