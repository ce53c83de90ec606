"""From a function to a program, or the reason why not.

First the allow-list over its code (`purity`), then a stricter one: what would let the type or identity of a traced
value decide (isinstance, `is`, `in`, try) is not traced. Then one call with values that record, on the first row of a
block. A program belongs to one iterator: constants the function captures are read anew at each `iter()`.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.block.block import Block
from penstock.block.columns import ArrayColumn, BytesColumn
from penstock.block.tree import structure_of
from penstock.errors import Location, PenstockError
from penstock.ops.program import Program, Ref
from penstock.ops.registry import OPS
from penstock.trace.purity import impurity
from penstock.trace.value import Tape, TraceStop, Value, values_in

_REVEALING = frozenset({"isinstance", "type", "hasattr", "getattr", "id", "callable", "issubclass", "repr", "str"})


@dataclass(frozen=True, slots=True)
class Untraced:
    """Why a function stays Python: a phrase that follows "because it"."""

    reason: str


def obstacle(function: Callable[..., Any]) -> str | None:
    """Why `function` cannot even be tried, by its code alone; None when it can."""
    return impurity(function) or _reveals(function)


def trace(function: Callable[..., Any], block: Block) -> Program | Untraced:
    """The program of `function` on elements like those of `block`, whose first row is the sample.

    Must run inside an `element_scope` of the block, at row 0, so that the sample draws what row 0 draws.
    """
    reason = obstacle(function)
    if reason is not None:
        return Untraced(reason)
    tape = Tape(len(block.columns))
    leaves = [
        Value(tape, Ref(number), column.row(0), isinstance(column, ArrayColumn | BytesColumn))
        for number, column in enumerate(block.columns)
    ]
    element = block.structure.unflatten(leaves)
    splat = isinstance(block.structure.kind, type) and block.structure.kind is not dict
    try:
        result = function(*element) if splat else function(element)
        structure = structure_of(result)
        outputs = tuple(_output(leaf, tape) for leaf in structure.flatten(result))
    except TraceStop as stop:
        return Untraced(stop.reason)
    except PenstockError as error:
        return Untraced(f"raised on the first element: {error}")
    except Exception as error:  # noqa: BLE001  # whatever it raises, it raises again as Python, with its place
        return Untraced(f"raised {type(error).__name__} on the first element")
    return Program(len(block.columns), tuple(tape.steps), outputs, structure)


def _output(leaf: Any, tape: Tape) -> Any:
    if not isinstance(leaf, Value):
        if values_in(leaf):
            raise TraceStop("returns a list of values; numpy.stack does the same and is traced")
        return leaf
    if leaf.tape is not tape:
        raise TraceStop("returns a value of an earlier call")
    return leaf.ref


def _reveals(function: Callable[..., Any], seen: frozenset[int] = frozenset()) -> str | None:
    code = getattr(function, "__code__", None)
    if function in OPS or not isinstance(function, types.FunctionType) or code is None or id(function) in seen:
        return None
    if (function.__module__ or "").split(".")[0] == "numpy":
        return None
    reason = _code_reveals(code)
    if reason is not None:
        return f"{reason} ({Location(code.co_filename, code.co_firstlineno)})"
    names = {instruction.argval for instruction in dis.get_instructions(code) if instruction.opname == "LOAD_GLOBAL"}
    called = [function.__globals__.get(name) for name in names]
    called += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    for inner in called:
        if isinstance(inner, types.FunctionType):
            reason = _reveals(inner, seen | {id(function)})
            if reason is not None:
                return reason
    return None


def _code_reveals(code: types.CodeType) -> str | None:
    for instruction in dis.get_instructions(code):
        name, value = instruction.opname, instruction.argval
        if name in ("LOAD_GLOBAL", "LOAD_NAME") and value in _REVEALING:
            return f"calls {value}(), which would see the tracing"
        if name in ("IS_OP", "CONTAINS_OP") or name.endswith(("_IF_NONE", "_IF_NOT_NONE")):
            return "uses `is` or `in`, which would see the tracing"
        if isinstance(value, types.CodeType):
            reason = _code_reveals(value)
            if reason is not None:
                return reason
    return None


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False
