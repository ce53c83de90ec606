"""One step of a program on a whole block, where that gives each row the same bits as the step on the row alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.block.columns import Array, ArrayColumn
from penstock.engine.operators.examples import OPS_ON_BLOCKS
from penstock.ops.block_draws import BLOCK_DRAWS, draw_block
from penstock.ops.math import gather
from penstock.ops.program import Ref, Step, substitute
from penstock.rng import BlockStreams
from penstock.trace.compute import compute_of
from penstock.trace.numbers import EXACT_ON_FLOATS, PYTHON
from penstock.trace.rules import ELEMENTWISE_UFUNCS, FUNCTIONS, Kind
from penstock.trace.whole import FORMS, INTEGER_FORMS, METHOD_FORMS, OP_FORMS, ByRow, Rows

_FORMS = {
    **{f"np.{name}": form for name, form in (FORMS | INTEGER_FORMS).items()},
    **{f"method.{name}": form for name, form in METHOD_FORMS.items()},
    **OP_FORMS,
}
_SEQUENCES = frozenset({"np.stack", "np.concatenate", "np.hstack", "np.vstack"})
_EXACT_INTEGER = 2**53

Values = list[Any]  # one for each Ref: a Column, or a tuple of them for a step of several results


def whole_step(step: Step, values: Values, numbers: frozenset[int], count: int, streams: BlockStreams) -> Array | None:
    """The step for all rows at once, [count, ...], or None where only rows give the same bits.

    numbers: the values that are Python numbers. streams: of a block that begins with these rows.
    """
    if step.op in BLOCK_DRAWS and step.draw is not None:
        return draw_block(step, streams.keys[step.draw.call], streams.ids()[:count])
    references = step.references()
    if not references or not all(isinstance(values[index], ArrayColumn) for index in references):
        return None
    if step.op == "py.leaf":
        leaf: Array = values[step.args[0].index].values
        return leaf
    if step.op in EXACT_ON_FLOATS:
        return _on_floats(step, values)
    if step.op in ELEMENTWISE_UFUNCS:
        return _ufunc(step, values, numbers)
    if step.op in ("np.where", "np.clip", "method.clip"):
        return _elementwise(step, values, numbers)
    if references & numbers:
        return None
    try:
        if step.op == "method.astype":
            return np.asarray(values[step.args[0].index].values.astype(step.args[1]))
        if step.op == "method.reshape":
            return np.asarray(values[step.args[0].index].values.reshape(count, *_constants(step.args[1:])))
        if step.op == "method.getitem":
            return _chosen(values[step.args[0].index].values, *_constants(step.args[1:]))
        if step.op == "math.gather" and isinstance(step.args[1], Ref):
            return gather(_constants(step.args[:1])[0], values[step.args[1].index].values)
        form = _FORMS.get(step.op)
        return None if form is None else _formed(step, form, values)
    except (ByRow, TypeError):  # a TypeError: arguments that the form does not know
        return None


def _constants(args: tuple[Any, ...]) -> tuple[Any, ...]:
    if _has_references(args):
        raise ByRow
    return args


def _has_references(nest: Any) -> bool:
    found: list[Ref] = []
    substitute(nest, found.append)
    return bool(found)


def _formed(step: Step, form: Callable[..., Array], values: Values) -> Array:
    first = step.args[0]
    rest = _constants((step.args[1:], tuple(value for _, value in step.kwargs)))[0]
    if isinstance(first, Ref):
        return form(values[first.index].values, *rest, **dict(step.kwargs))
    if step.op in _SEQUENCES and isinstance(first, tuple | list):
        return form(substitute(first, lambda ref: Rows(values[ref.index].values)), *rest, **dict(step.kwargs))
    raise ByRow


def _chosen(source: Array, index: Any) -> Array:
    """`row[index]` of each row. Lists and arrays of integers go by themselves: with others, axes change places."""
    parts = index if isinstance(index, tuple) else (index,)
    picks = [part for part in parts if isinstance(part, list | np.ndarray)]
    others = [part for part in parts if isinstance(part, int | np.integer)]
    if any(isinstance(part, bool) for part in others):
        raise ByRow
    if picks and (len(picks) > 1 or others or np.asarray(picks[0]).dtype.kind not in "iu"):
        raise ByRow
    chosen: Array = source[(slice(None), *parts)]
    return chosen


# --- elementwise -----------------------------------------------------------------------------------------------------


def _ufunc(step: Step, values: Values, numbers: frozenset[int]) -> Array | None:
    """A ufunc of columns and constants; Python numbers take the dtype that NumPy gives them beside arrays."""
    ufunc = compute_of(step)
    assert isinstance(ufunc, np.ufunc)
    columns = {arg.index: values[arg.index].values for arg in step.args if isinstance(arg, Ref)}
    if columns.keys() & numbers:
        kinds = tuple(
            _kind_of(columns[arg.index], arg.index in numbers) if isinstance(arg, Ref) else _kind_of(arg, None)
            for arg in step.args
        )
        dtypes = ufunc.resolve_dtypes((*kinds, *(None,) * ufunc.nout))
        for arg, dtype in zip(step.args, dtypes, strict=False):
            if isinstance(arg, Ref) and arg.index in numbers:
                cast = _as_dtype(columns[arg.index], dtype)
                if cast is None:
                    return None
                columns[arg.index] = cast
    return _aligned(ufunc, step, columns)


def _kind_of(value: Any, is_number: bool | None) -> Any:
    """What decides the dtype of a ufunc: a dtype, or int, float or complex for a Python number."""
    if is_number and value.dtype.kind != "b":
        return {"i": int, "f": float, "c": complex}[value.dtype.kind]
    if is_number is None and type(value) in (int, float, complex):
        return type(value)
    return np.asarray(value).dtype


def _as_dtype(column: Array, dtype: np.dtype[Any]) -> Array | None:
    """Python integers and floats as `dtype`; None where one does not fit, so that each row says what NumPy says."""
    if column.dtype == dtype or column.dtype.kind == "b":
        return column.astype(dtype, copy=False)
    if column.dtype.kind == "i" and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if column.min() < limits.min or column.max() > limits.max:
            return None
    elif column.dtype.kind == "f" and dtype.kind == "f":
        if not np.isfinite(column).all() or (np.abs(column) > np.finfo(dtype).max).any():
            return None
    elif not (column.dtype.kind == "i" and dtype.kind == "f" and (np.abs(column) < _EXACT_INTEGER).all()):
        return None
    return column.astype(dtype)


def _elementwise(step: Step, values: Values, numbers: frozenset[int]) -> Array | None:
    """`np.where` and `np.clip`. A Python bool may be the condition; other Python numbers go row by row."""
    if step.op == "np.where" and len(step.args) != 3:
        return None
    columns = {index: values[index].values for index in step.references()}
    weak = columns.keys() & numbers
    chosen = {arg.index for arg in step.args[1:] if isinstance(arg, Ref)}
    if weak and (step.op != "np.where" or weak & chosen):
        return None
    function = np.clip if step.op == "method.clip" else compute_of(step)
    return _aligned(function, step, columns)


def _aligned(function: Callable[..., Any], step: Step, columns: dict[int, Array]) -> Array:
    """The call with every column's rows brought to one rank, so that they broadcast as rows do."""
    constants = [np.ndim(arg) for arg in (*step.args, *(v for _, v in step.kwargs)) if not isinstance(arg, Ref)]
    rank = max([*(column.ndim - 1 for column in columns.values()), *constants])

    def aligned(ref: Ref) -> Array:
        array = columns[ref.index]
        missing = rank - (array.ndim - 1)
        return array.reshape(len(array), *(1,) * missing, *array.shape[1:]) if missing else array

    result: Array = function(*substitute(step.args, aligned), **{k: substitute(v, aligned) for k, v in step.kwargs})
    return result


def _on_floats(step: Step, values: Values) -> Array | None:
    """Arithmetic between Python numbers that are floats, or integers that a float holds exactly."""
    operands = [values[arg.index].values if isinstance(arg, Ref) else arg for arg in step.args]
    floats = 0
    for operand in operands:
        if isinstance(operand, np.ndarray):
            if operand.dtype.kind != "f":
                return None
            floats += 1
        elif type(operand) is int:
            if abs(operand) >= _EXACT_INTEGER:
                return None
        elif type(operand) is not float:
            return None
    if not floats:
        return None
    result: Array = PYTHON[step.op.removeprefix("py.")](*operands)
    return result


def is_whole(step: Step) -> bool:
    """Whether the step may run on a whole block, for `explain()`: what its arguments let it is found as it runs."""
    if step.op.startswith("py."):
        return step.op in EXACT_ON_FLOATS or step.op == "py.leaf"
    return step.op in BLOCK_DRAWS or step.op in _FORMS or step.op in METHODS_WHOLE or _is_elementwise(step.op)


def _is_elementwise(op: str) -> bool:
    return FUNCTIONS.get(op) is Kind.ELEMENTWISE or op == "method.clip"


METHODS_WHOLE = frozenset({"method.astype", "method.reshape", "method.getitem", "math.gather", "item"} | OPS_ON_BLOCKS)
