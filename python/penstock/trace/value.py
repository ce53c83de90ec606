"""The values a function is traced with: they record what is done to them, and refuse what cannot be recorded.

Each carries a sample, the value of the first row, computed along the way; so dtypes are known, and shapes too where
every row has the same. Whatever would let the sample's value decide (a truth value, a Python number, a loop) stops the
trace. Where shapes may differ, the sides of a shape are values too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, NoReturn

import numpy as np

from penstock.block.ragged import Ragged
from penstock.ops.program import Ref, Traced
from penstock.trace.numbers import PYTHON, is_number
from penstock.trace.rules import FUNCTIONS, METHODS, SHAPED_BY_VALUES
from penstock.trace.tape import Tape, TraceStop, has_values, values_of

_CONSTANTS = int | float | complex | np.generic | np.ndarray


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

    def record_op(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.tape.record_op(function, args, kwargs)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *args: Any, **kwargs: Any) -> Any:
        if method != "__call__" or kwargs or ufunc.nout != 1:
            raise TraceStop(f"calls numpy.{ufunc.__name__} in a form that is not traced (with keywords, or a method)")
        if f"np.{ufunc.__name__}" not in FUNCTIONS:
            raise TraceStop(f"calls numpy.{ufunc.__name__}, which has no rule for blocks")
        return self.tape.record(f"np.{ufunc.__name__}", ufunc, args, {}, fixed=_all_fixed(args))

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        module = (function.__module__ or "").removeprefix("numpy").removeprefix(".")
        name = ".".join(filter(None, ("np", module, function.__name__)))
        answer = _ANSWERS.get(name)
        if answer is not None and len(args) == 1 and not kwargs and isinstance(args[0], Value):
            return answer(args[0])
        if name not in FUNCTIONS:
            raise TraceStop(f"calls {function.__module__}.{function.__name__}, which has no rule for blocks")
        # A value among the arguments behind the arrays (a width to pad by) decides the shape of the result.
        fixed = _all_fixed((args, kwargs)) and name not in SHAPED_BY_VALUES
        if name == "np.where" and len(args) == 1:
            fixed = False
        elif name not in ("np.where", "np.clip"):
            fixed = fixed and not has_values((args[1:], kwargs))
        return self.tape.record(name, function, args, kwargs, fixed=fixed)

    def _method(self, name: str, *args: Any, **kwargs: Any) -> Any:
        if is_number(self.sample):
            raise TraceStop(f"uses .{name} of a Python number")
        fixed = self.fixed and not has_values((args, kwargs))
        fixed = fixed or (name == "clip" and _all_fixed((self, args, kwargs)))
        return self.tape.record(f"method.{name}", METHODS[name].compute, (self, *args), kwargs, fixed=fixed)

    def astype(self, dtype: Any) -> Any:
        """Recorded."""
        return self._method("astype", np.dtype(dtype))

    def reshape(self, *shape: Any) -> Any:
        """Recorded."""
        flat = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape
        return self._method("reshape", *(n if isinstance(n, Value) else operator.index(n) for n in flat))

    def __getitem__(self, index: Any) -> Any:
        if isinstance(self.sample, bytes | str):
            raise TraceStop("indexes text")
        parts = index if isinstance(index, tuple) else (index,)
        known = int | np.integer | slice | type(None) | type(...) | list | np.ndarray | Value
        if not all(isinstance(part, known) for part in parts):
            raise TraceStop("indexes with something other than integers, slices and arrays")
        return self._method("getitem", index)

    def __getattr__(self, name: str) -> Any:
        if name in METHODS and not isinstance(self.sample, bytes | str):
            return lambda *args, **kwargs: self._method(name, *args, **kwargs)
        if name.startswith("__"):  # what NumPy and Python ask every object for
            raise AttributeError(name)
        what = "text" if isinstance(self.sample, bytes | str) else "a value"
        raise TraceStop(f"uses .{name} of {what}, which has no rule for blocks")

    # -- what is known --------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> np.dtype[Any]:
        """The same for every row."""
        if is_number(self.sample):
            raise TraceStop("uses .dtype of a Python number")
        self._check_plain()
        return np.asarray(self.sample).dtype

    @property
    def ndim(self) -> int:
        """The same for every row."""
        self._check_plain()
        return np.ndim(self.sample)

    @property
    def shape(self) -> tuple[Any, ...]:
        """Integers where every row has the same; else recorded: a value for each side."""
        if self.fixed:
            return np.shape(self.sample)
        return tuple(self.tape.record("py.side", PYTHON["side"], (self, axis), {}, True) for axis in range(self.ndim))

    @property
    def size(self) -> Any:
        """An integer where every row has the same shape; else recorded."""
        self._check_plain()
        return np.size(self.sample) if self.fixed else self.tape.record("py.size", PYTHON["size"], (self,), {}, True)

    @property
    def T(self) -> Any:  # noqa: N802  # NumPy's name
        """Recorded."""
        return self._method("transpose")

    def __len__(self) -> int:
        if self.ndim == 0:
            raise TypeError("len() of unsized object")
        if not self.fixed:
            self._stop("takes len() of rows that may differ in length; .shape[0] is the same and is traced")
        return len(self.sample)

    def _check_plain(self) -> None:
        if isinstance(self.sample, Ragged):
            raise TraceStop("asks for the shape or dtype of a ragged value")

    # -- what stops the trace -------------------------------------------------------------------------------------

    def _stop(self, what: str) -> NoReturn:
        raise TraceStop(what)

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        self._stop(
            "turns a value into a plain array, where what is done to it cannot be recorded; values are arrays already "
            "(leave numpy.asarray out, numpy.stack for numpy.array of several, .astype for a dtype, "
            "penstock.gather(table, value) for table[value])"
        )

    def __bool__(self) -> NoReturn:  # noqa: PLE0304  # it never returns
        self._stop(
            "asks whether a value is true, so its path differs from element to element; "
            "numpy.where(condition, a, b) is traced"
        )

    def __iter__(self) -> NoReturn:
        self._stop("loops over a value")

    def __contains__(self, item: Any) -> NoReturn:
        self._stop("uses `in` on a value")

    def __int__(self) -> NoReturn:
        self._stop("turns a value into a Python int; .astype(int), or leave it as it is")

    def __float__(self) -> NoReturn:
        self._stop("turns a value into a Python float; .astype(float), or leave it as it is")

    def __index__(self) -> NoReturn:  # noqa: PLE0305  # it never returns
        self._stop("uses a value as an index into what is no value; penstock.gather(table, value) is traced")

    def __str__(self) -> NoReturn:  # noqa: PLE0307  # it never returns
        self._stop("turns a value into text")

    def __repr__(self) -> NoReturn:
        self._stop("turns a value into text")

    def __format__(self, spec: str) -> NoReturn:
        self._stop("turns a value into text")

    def __setitem__(self, index: Any, value: Any) -> None:
        self._stop("assigns to an item of a value")

    def __round__(self, digits: Any = None) -> NoReturn:
        self._stop("rounds a value to a Python number; numpy.round is traced")

    def __floor__(self) -> NoReturn:
        self._stop("turns a value into a Python int; numpy.floor is traced")

    __ceil__ = __trunc__ = __floor__

    def __complex__(self) -> NoReturn:
        self._stop("turns a value into a Python complex number")

    def __divmod__(self, other: Any) -> NoReturn:
        self._stop("calls divmod() on a value; // and % are traced")

    __rdivmod__ = __divmod__

    # -- arithmetic -----------------------------------------------------------------------------------------------

    def _binary(self, name: str, ufunc: np.ufunc, left: Any, right: Any) -> Any:
        if any(isinstance(part.sample, bytes | str) for part in values_of((left, right))):
            raise TraceStop("does arithmetic on text")
        if not isinstance(left, Value | _CONSTANTS) or not isinstance(right, Value | _CONSTANTS):
            other = right if left is self else left
            raise TraceStop(f"combines a value with a {type(other).__name__}; make it an array once, outside")
        if all(is_number(part.sample if isinstance(part, Value) else part) for part in (left, right)):
            return self.tape.record(f"py.{name}", PYTHON[name], (left, right), {}, True)
        return self.__array_ufunc__(ufunc, "__call__", left, right)

    def _unary(self, name: str, ufunc: np.ufunc) -> Any:
        if is_number(self.sample):
            return self.tape.record(f"py.{name}", PYTHON[name], (self,), {}, True)
        return self.__array_ufunc__(ufunc, "__call__", self)


def _all_fixed(args: Any) -> bool:
    return all(value.fixed for value in values_of(args))


_ANSWERS: dict[str, Callable[[Value], Any]] = {
    "np.ndim": lambda value: value.ndim,
    "np.shape": lambda value: value.shape,
    "np.size": lambda value: value.size,
}

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
    "matmul": np.matmul,
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
    """Python's operators as the ufuncs NumPy gives them, or Python's own between Python numbers."""

    def forward(name: str, ufunc: np.ufunc) -> Callable[[Value, Any], Any]:
        return lambda self, other: self._binary(name, ufunc, self, other)

    def backward(name: str, ufunc: np.ufunc) -> Callable[[Value, Any], Any]:
        return lambda self, other: self._binary(name, ufunc, other, self)

    def unary(name: str, ufunc: np.ufunc) -> Callable[[Value], Any]:
        return lambda self: self._unary(name, ufunc)

    for name, ufunc in _BINARY.items():
        setattr(Value, f"__{name}__", forward(name, ufunc))
        setattr(Value, f"__r{name}__", backward(name, ufunc))
    for name, ufunc in _COMPARE.items():
        setattr(Value, f"__{name}__", forward(name, ufunc))
    for name, ufunc in _UNARY.items():
        setattr(Value, f"__{name}__", unary(name, ufunc))


_install()
