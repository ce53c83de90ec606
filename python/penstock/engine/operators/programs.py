"""Programs on blocks: each step once for the whole block where that is the same to the last bit, else row by row.

The slow twin is the function itself, called an element at a time: a program that raises gives its block back to it, so
errors are located and worded by one piece of code, and `check` compares the two on the first rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.collate import column_of
from penstock.block.columns import Array, ArrayColumn, Column
from penstock.engine.operators.images import Allocate, run_fused
from penstock.ops.program import Program, Ref, Step, substitute
from penstock.ops.registry import OPS
from penstock.optimize.fuse_images import FUSED
from penstock.rng import UInt64s, element_scope
from penstock.trace.rules import ELEMENTWISE_UFUNCS, FUNCTIONS, METHODS, Kind

_OPS_BY_NAME = {f"{op.__module__.rpartition('.')[2]}.{op.__name__}": op for op in OPS}

Values = list[Any]  # one for each Ref: a Column


def compute_of(step: Step) -> Callable[..., Any]:
    """What `step` does to the values of one element."""
    family, _, name = step.op.partition(".")
    if family == "np":
        function: Callable[..., Any] = getattr(np, name)
        return function
    return METHODS[name].compute if family == "method" else _OPS_BY_NAME[step.op]


def run_program(
    program: Program, block: Block, key: int, ids: Callable[[], UInt64s], allocate: Allocate
) -> tuple[Column, ...]:
    """The leaves of the results of a non-empty block, in order.

    `key`, `ids`: the random streams of its elements. `allocate`: where large results go.

    Raises: whatever a step raises, at any row.
    """
    count = len(block)
    values: Values = [*block.columns]
    last = _last_uses(program)
    for number, step in enumerate(program.steps):
        if step.op == FUSED:
            place = partial(allocate, _leaf_of(program, program.inputs + number))
            values.append(run_fused(step.args[1], values[step.args[0].index], key, ids, place))
        else:
            values.append(_run_step(step, values, count, key, ids))
        for index in last.get(number, ()):
            values[index] = None  # what nothing reads again is freed
    return tuple(_output(output, values, count) for output in program.outputs)


def _leaf_of(program: Program, index: int) -> int | None:
    """The one leaf of the result that value `index` is; None when it is none, or several."""
    leaves = [leaf for leaf, output in enumerate(program.outputs) if isinstance(output, Ref) and output.index == index]
    return leaves[0] if len(leaves) == 1 else None


def _output(output: Any, values: Values, count: int) -> Column:
    return values[output.index] if isinstance(output, Ref) else column_of([output] * count)


def _last_uses(program: Program) -> dict[int, list[int]]:
    kept = {output.index for output in program.outputs if isinstance(output, Ref)}
    last: dict[int, int] = {}
    for number, step in enumerate(program.steps):
        for index in step.references():
            last[index] = number
    freed: dict[int, list[int]] = {}
    for index, number in last.items():
        if index not in kept:
            freed.setdefault(number, []).append(index)
    return freed


def _run_step(step: Step, values: Values, count: int, key: int, ids: Callable[[], UInt64s]) -> Column:
    columns = [values[index] for index in sorted(step.references())]
    if columns and all(isinstance(column, ArrayColumn) for column in columns):
        whole = _on_block(step, values, count)
        if whole is not None:
            return ArrayColumn(whole)
    return _by_row(step, values, count, key, ids)


def _on_block(step: Step, values: Values, count: int) -> Array | None:
    """The step on whole columns, or None where only rows give the same bits."""
    if step.op in ELEMENTWISE_UFUNCS or FUNCTIONS.get(step.op) is Kind.ELEMENTWISE:
        return _elementwise(step, values)
    if step.op.startswith("method."):
        source: Array = values[step.args[0].index].values
        if step.op == "method.astype":
            return source.astype(step.args[1])
        if step.op == "method.reshape":
            return source.reshape(count, *step.args[1])
        if step.op == "method.getitem":
            index = step.args[1] if isinstance(step.args[1], tuple) else (step.args[1],)
            chosen: Array = source[(slice(None), *index)]
            return chosen
    return None


def _elementwise(step: Step, values: Values) -> Array:
    ranks = [values[index].values.ndim - 1 for index in step.references()]
    constants = [np.ndim(arg) for arg in (*step.args, *(v for _, v in step.kwargs)) if not isinstance(arg, Ref)]
    rank = max([*ranks, *constants])

    def aligned(ref: Ref) -> Array:
        array: Array = values[ref.index].values
        missing = rank - (array.ndim - 1)
        return array.reshape(len(array), *(1,) * missing, *array.shape[1:]) if missing else array

    args = substitute(step.args, aligned)
    kwargs = {name: substitute(value, aligned) for name, value in step.kwargs}
    result: Array = compute_of(step)(*args, **kwargs)
    return result


def _by_row(step: Step, values: Values, count: int, key: int, ids: Callable[[], UInt64s]) -> Column:
    compute = compute_of(step)
    results = []
    with element_scope(key, ids) as current:
        for row in range(count):
            if step.draw is not None:
                current.row, current.op = row, step.draw

            def at_row(ref: Ref, row: int = row) -> Any:
                return values[ref.index].row(row)

            kwargs = {name: substitute(value, at_row) for name, value in step.kwargs}
            results.append(compute(*substitute(step.args, at_row), **kwargs))
    return column_of(results)


def same_columns(first: tuple[Column, ...], second: tuple[Column, ...]) -> bool:
    """Whether two sets of leaves hold the same rows to the last bit: dtypes, shapes and bytes."""
    return len(first) == len(second) and all(
        len(a) == len(b) and all(_same(x, y) for x, y in zip(a.rows(), b.rows(), strict=True))
        for a, b in zip(first, second, strict=True)
    )


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, bytes | str) or isinstance(y, bytes | str):
        return type(x) is type(y) and bool(x == y)
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool((a == b).all()) if a.dtype.kind == "O" else a.tobytes() == b.tobytes()
