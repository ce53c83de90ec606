"""The values a function is traced with: they record what is done to them, and refuse what cannot be recorded.

Each carries a sample, the value of the first row, computed along the way; so dtypes are known, and shapes too where
every row has the same. Whatever would let the sample's value decide (a truth value, an index, a loop) stops the trace.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from penstock import rng
from penstock.ops.program import Ref, Step, Traced, replaced
from penstock.ops.registry import OPS
from penstock.trace.rules import FUNCTIONS, METHODS, Kind


class TraceStop(BaseException):
    """The function did something that cannot be recorded. A BaseException, so that no `except Exception` hides it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class Tape:
    """The steps recorded so far. `inputs`: how many values stand before the first step."""

    def __init__(self, inputs: int) -> None:
        self.inputs = inputs
        self.steps: list[Step] = []

    def record(
        self, name: str, compute: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], fixed: bool
    ) -> Value:
        """Append a step, computing its sample. `fixed`: whether all rows have the sample's shape."""
        before = rng.ops_drawn()
        sample = compute(*_samples(args), **_samples(kwargs))
        draw = before if rng.ops_drawn() > before else None
        step = Step(name, _references(args), tuple(_references(kwargs).items()), draw)
        self.steps.append(step)
        return Value(self, Ref(self.inputs + len(self.steps) - 1), sample, fixed)


def _samples(value: Any) -> Any:
    return replaced(value, Value, lambda traced: traced.sample)


def _references(value: Any) -> Any:
    return replaced(value, Value, lambda traced: traced.ref)


def values_in(value: Any) -> list[Value]:
    """The traced values inside a nest of arguments."""
    found: list[Value] = []
    replaced(value, Value, found.append)
    return found


class Value(Traced):
    """One value under trace."""

    __slots__ = ("fixed", "ref", "sample", "tape")
    __hash__ = None  # type: ignore[assignment]  # equality is recorded, so it must not be looked up

    def __init__(self, tape: Tape, ref: Ref, sample: Any, fixed: bool) -> None:
        self.tape = tape
        self.ref = ref
        self.sample = sample
        self.fixed = fixed

    # -- what is recorded -----------------------------------------------------------------------------------------

    def record_op(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Value:
        name = f"{function.__module__.rpartition('.')[2]}.{function.__name__}"
        if function not in OPS:
            raise TraceStop(f"calls {name}, which is no op of the registry")
        return self.tape.record(name, function, args, kwargs, fixed=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Value:
        if method != "__call__" or kwargs or ufunc.nout != 1 or ufunc.signature is not None:
            raise TraceStop(f"calls numpy.{ufunc.__name__} in a form that is not traced")
        return self.tape.record(f"np.{ufunc.__name__}", ufunc, args, {}, fixed=_all_fixed(args))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Value:
        name = f"np.{function.__name__}"
        if name not in FUNCTIONS or function.__module__ != "numpy":
            raise TraceStop(f"calls {function.__module__}.{function.__name__}, which has no rule for blocks")
        return self.tape.record(name, function, args, kwargs, fixed=_all_fixed((args, kwargs)))

    def _method(self, name: str, *args: Any, **kwargs: Any) -> Value:
        compute = METHODS[name].compute
        return self.tape.record(
            f"method.{name}", compute, (self, *args), kwargs, fixed=_all_fixed((self, args, kwargs))
        )

    def astype(self, dtype: Any) -> Value:
        """Recorded."""
        return self._method("astype", np.dtype(dtype))

    def reshape(self, *shape: Any) -> Value:
        """Recorded."""
        flat = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return self._method("reshape", tuple(operator.index(n) for n in flat))

    def __getitem__(self, index: Any) -> Value:
        if isinstance(self.sample, bytes | str):
            raise TraceStop("indexes text")
        parts = index if isinstance(index, tuple) else (index,)
        basic = all(isinstance(part, int | np.integer | slice | type(None) | type(...)) for part in parts)
        if not basic or values_in(index):
            raise TraceStop("indexes with something other than constant integers and slices")
        return self._method("getitem", index)

    def __getattr__(self, name: str) -> Any:
        if name in METHODS and METHODS[name].kind is not Kind.INTERNAL and not isinstance(self.sample, bytes | str):
            return lambda *args, **kwargs: self._method(name, *args, **kwargs)
        raise TraceStop(f"uses .{name}, which has no rule for blocks")

    # -- what is known --------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The same for every row."""
        return np.asarray(self.sample).dtype

    @property
    def ndim(self) -> int:
        """The same for every row."""
        return np.ndim(self.sample)

    @property
    def shape(self) -> tuple[int, ...]:
        """Known where every row has the same."""
        if not self.fixed:
            raise TraceStop("uses .shape of a value whose shape may differ from element to element")
        return np.shape(self.sample)

    @property
    def T(self) -> Value:  # noqa: N802  # NumPy's name
        """Recorded."""
        return self._method("transpose")

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    # -- what stops the trace -------------------------------------------------------------------------------------

    def _stop(self, what: str) -> NoReturn:
        raise TraceStop(what)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._stop("turns a value into a plain array, where what is done to it cannot be recorded")

    def __bool__(self) -> NoReturn:  # noqa: PLE0304  # it never returns
        self._stop("asks whether a value is true, so its path differs from element to element")

    def __iter__(self) -> NoReturn:
        self._stop("loops over a value")

    def __contains__(self, item: Any) -> NoReturn:
        self._stop("uses `in` on a value")

    def __int__(self) -> NoReturn:
        self._stop("turns a value into a Python int")

    def __float__(self) -> NoReturn:
        self._stop("turns a value into a Python float")

    def __index__(self) -> NoReturn:  # noqa: PLE0305  # it never returns
        self._stop("uses a value as an index")

    def __str__(self) -> NoReturn:  # noqa: PLE0307  # it never returns
        self._stop("turns a value into text")

    def __repr__(self) -> NoReturn:
        self._stop("turns a value into text")

    def __format__(self, spec: str) -> NoReturn:
        self._stop("turns a value into text")

    def __setitem__(self, index: Any, value: Any) -> None:
        self._stop("assigns to an item of a value")

    def __matmul__(self, other: Any) -> NoReturn:
        self._stop("multiplies matrices, which is not done row by row to the last bit")

    __rmatmul__ = __matmul__

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def _binary(self, ufunc: np.ufunc, left: Any, right: Any) -> Value:
        if any(isinstance(part.sample, bytes | str) for part in values_in((left, right))):
            raise TraceStop("does arithmetic on text")
        if not isinstance(left, Value | int | float | complex | np.generic | np.ndarray) or not isinstance(
            right, Value | int | float | complex | np.generic | np.ndarray
        ):
            raise TraceStop(f"combines a value with a {type(right if left is self else left).__name__}")
        result: Value = self.__array_ufunc__(ufunc, "__call__", left, right)
        return result


def _all_fixed(args: Any) -> bool:
    return all(value.fixed for value in values_in(args))


_BINARY: dict[str, np.ufunc] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "lshift": np.left_shift,
    "rshift": np.right_shift,
}
_COMPARE: dict[str, np.ufunc] = {
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_UNARY: dict[str, np.ufunc] = {"neg": np.negative, "pos": np.positive, "abs": np.absolute, "invert": np.invert}


def _install() -> None:
    """Python's operators as the ufuncs NumPy gives them."""

    def forward(ufunc: np.ufunc) -> Callable[[Value, Any], Value]:
        return lambda self, other: self._binary(ufunc, self, other)

    def backward(ufunc: np.ufunc) -> Callable[[Value, Any], Value]:
        return lambda self, other: self._binary(ufunc, other, self)

    def unary(ufunc: np.ufunc) -> Callable[[Value], Value]:
        return lambda self: self.__array_ufunc__(ufunc, "__call__", self)

    for name, ufunc in _BINARY.items():
        setattr(Value, f"__{name}__", forward(ufunc))
        setattr(Value, f"__r{name}__", backward(ufunc))
    for name, ufunc in _COMPARE.items():
        setattr(Value, f"__{name}__", forward(ufunc))
    for name, ufunc in _UNARY.items():
        setattr(Value, f"__{name}__", unary(ufunc))


_install()
