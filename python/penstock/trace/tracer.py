"""From a function to a program, or the reason why not.

First the allow-list over its code (`purity`), then a stricter one: what would let the type or identity of a traced
value decide (isinstance, `is`, `in`, try) is not traced, nor what waits: a program would not. Then one call with
values that record, on the first row of a block. A program belongs to one iterator: constants the function captures
are read anew at each `iter()`.
"""

from __future__ import annotations

import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from penstock.block.block import Block
from penstock.block.columns import ArrayColumn, BytesColumn
from penstock.block.tree import Structure, structure_of
from penstock.errors import Location, PenstockError
from penstock.ops.program import Program, Ref, recording
from penstock.ops.registry import OPS
from penstock.rng import Rng, UInt64s, element_scope
from penstock.trace.bytecode import instructions_of
from penstock.trace.numbers import as_row, is_number
from penstock.trace.purity import impurity
from penstock.trace.tape import Tape, TracedRng, TraceStop, has_values
from penstock.trace.value import Value

_WAITS = "calls time.sleep(), and a program would not wait"
_REVEALING = frozenset({"isinstance", "type", "hasattr", "getattr", "id", "callable", "issubclass", "repr", "str"})


@dataclass(frozen=True, slots=True)
class Call:
    """One function to trace: whether it takes the element's random stream, and the key of what it draws."""

    function: Callable[..., Any]
    takes_rng: bool = False
    key: int = 0


@dataclass(frozen=True, slots=True)
class Untraced:
    """Why a function stays Python: a phrase that follows "because it"."""

    reason: str


def obstacle(function: Callable[..., Any]) -> str | None:
    """Why `function` cannot even be tried, by its code alone; None when it can."""
    return impurity(function) or _reveals(function)


def trace(calls: Sequence[Call], block: Block, ids: Callable[[], UInt64s]) -> Program | Untraced:
    """The program of `calls`, one after another, on elements like those of `block`, whose first row is the sample.

    `ids`: the identities of the block's elements, so that the sample draws what row 0 draws.
    """
    tape = Tape(len(block.columns), Value)
    leaves: list[Any] = [
        Value(tape, Ref(number), column.row(0), isinstance(column, ArrayColumn | BytesColumn))
        for number, column in enumerate(block.columns)
    ]
    structure = block.structure
    for number, call in enumerate(calls):
        reason = obstacle(call.function)
        if reason is not None:
            return Untraced(reason)
        if number:
            leaves = [_handed_on(leaf, tape) for leaf in leaves]
        tape.call = number
        try:
            structure, leaves = _traced_call(call, structure, leaves, tape, ids)
        except TraceStop as stop:
            return Untraced(stop.reason)
        except PenstockError as error:
            return Untraced(f"raised on the first element: {error}")
        except Exception as error:  # noqa: BLE001  # whatever it raises, it raises again as Python, with its place
            return Untraced(f"raised {type(error).__name__} on the first element ({error})")
    outputs = tuple(leaf.ref if isinstance(leaf, Value) else leaf for leaf in leaves)
    dtypes = tuple(column.values.dtype.name if isinstance(column, ArrayColumn) else "" for column in block.columns)
    return Program(len(block.columns), tuple(tape.steps), outputs, structure, dtypes)


def _traced_call(
    call: Call, structure: Structure, leaves: list[Any], tape: Tape, ids: Callable[[], UInt64s]
) -> tuple[Structure, list[Any]]:
    element = structure.unflatten(leaves)
    splat = isinstance(structure.kind, type) and structure.kind is not dict
    arguments = element if splat else (element,)
    with element_scope(call.key, ids) as current, recording(tape.record_constant):
        if call.takes_rng:
            current.op = 1  # op 0 is the element's own stream
            arguments = (*arguments, TracedRng(tape, Rng(call.key, int(ids()[0]))))
        result = _with_traced_len(call.function)(*arguments)
    structure = structure_of(result)
    return structure, [_checked(leaf, tape) for leaf in structure.flatten(result)]


def _with_traced_len(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with a `len` that records where lengths differ: Python's own has to give an integer at once."""
    if not isinstance(function, types.FunctionType) or "len" not in function.__code__.co_names:
        return function
    if "len" in function.__globals__ or hasattr(function, "__wrapped__"):
        return function
    names = {**function.__globals__, "len": _traced_len}
    copy = types.FunctionType(function.__code__, names, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    return copy


def _traced_len(value: Any) -> Any:
    return value.shape[0] if isinstance(value, Value) and value.ndim and not value.fixed else len(value)


def _checked(leaf: Any, tape: Tape) -> Any:
    """One leaf of a result: a value of this trace, or a constant."""
    if isinstance(leaf, TracedRng):
        raise TraceStop("returns its random stream")
    if not isinstance(leaf, Value):
        if has_values(leaf):
            raise TraceStop("returns a list of values; numpy.stack does the same and is traced")
        return leaf
    if leaf.tape is not tape:
        raise TraceStop("returns a value of an earlier call")
    return leaf


def _handed_on(leaf: Any, tape: Tape) -> Any:
    """A leaf as the next function sees it: what was a Python number is NumPy's, a constant is a value like others."""
    if isinstance(leaf, Value) and not is_number(leaf.sample):
        return leaf
    return tape.record("py.leaf", as_row, (leaf,), {}, fixed=True)


def _reveals(function: Callable[..., Any], seen: frozenset[int] = frozenset()) -> str | None:
    code = getattr(function, "__code__", None)
    if function in OPS or not isinstance(function, types.FunctionType) or code is None or id(function) in seen:
        return None
    if (function.__module__ or "").split(".")[0] == "numpy":
        return None
    reason = _code_reveals(code)
    if reason is not None:
        return f"{reason} ({Location(code.co_filename, code.co_firstlineno)})"
    names = {instruction.argval for instruction in instructions_of(code) if instruction.opname == "LOAD_GLOBAL"}
    called = [function.__globals__.get(name) for name in names]
    called += [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    if any(value is time.sleep for value in called):
        return f"{_WAITS} ({Location(code.co_filename, code.co_firstlineno)})"
    for inner in called:
        if isinstance(inner, types.FunctionType):
            reason = _reveals(inner, seen | {id(function)})
            if reason is not None:
                return reason
    return None


def _code_reveals(code: types.CodeType) -> str | None:
    for instruction in instructions_of(code):
        name, value = instruction.opname, instruction.argval
        if name in ("LOAD_GLOBAL", "LOAD_NAME") and value in _REVEALING:
            return f"calls {value}(), which would see the tracing"
        if name in ("IS_OP", "CONTAINS_OP") or name.endswith(("_IF_NONE", "_IF_NOT_NONE")):
            return "uses `is` or `in`, which would see the tracing"
        if name in ("LOAD_ATTR", "LOAD_METHOD") and value == "sleep":
            return _WAITS
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
