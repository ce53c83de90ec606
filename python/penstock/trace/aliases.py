"""Whether a function may change, in place, something it captured: the part of purity that no single opcode tells.

`total += x` on a local name rebinds it, or changes the object it names: which of the two depends on what that is. So
names are followed: one that may hold what the function captured (a list, a dict, an array, a mutable default) is
*held*; an in-place operator on it, a method that writes, or handing the captured object on as `out` is a reason.

A store outside every branch and loop replaces what its name holds; one inside only adds. Arithmetic and the methods in
`_FRESH` make new objects, whatever they read. What is not understood counts as held: a reason too many, never one too
few.
"""

from __future__ import annotations

import dis
import types
from collections.abc import Iterable

import numpy as np

from penstock.trace.bytecode import instructions_of

_SKIPPED = frozenset("CACHE NOP PRECALL PUSH_NULL RESUME EXTENDED_ARG KW_NAMES NOT_TAKEN COPY_FREE_VARS".split())
_FRESH = frozenset(
    "astype copy sum mean min max std var prod argmax argmin argsort all any item tolist tobytes nbytes ndim shape "
    "size dtype decode encode lower upper strip split join replace keys count index".split()
)
_WRITING_METHODS = frozenset({"partition", "resize"})  # of arrays; text and Pillow images have harmless ones
_WRITING_KEYWORDS = frozenset({"out", "dst"})
_NEW_OBJECTS = frozenset(
    "COMPARE_OP CONTAINS_OP IS_OP UNARY_NEGATIVE UNARY_NOT UNARY_INVERT UNARY_POSITIVE BUILD_STRING FORMAT_VALUE "
    "FORMAT_SIMPLE FORMAT_WITH_SPEC LOAD_CONST LOAD_SMALL_INT".split()
)


def in_place_reason(code: types.CodeType, captured: frozenset[str], held: Iterable[str]) -> str | None:
    """Why `code` may change what it captured; None when it cannot.

    captured: globals and free variables that hold mutable objects. held: parameters that may hold such an object.
    """
    always = frozenset(held)
    if not captured and not always:
        return None
    unpacks = any(i.opname == "CALL_FUNCTION_EX" for i in instructions_of(code))
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            # What an inner function is called with is not followed: all its parameters count as held.
            names = constant.co_varnames[: constant.co_argcount + constant.co_kwonlyargcount]
            reason = in_place_reason(constant, captured | always | frozenset(code.co_cellvars), names)
            if reason is not None:
                return reason
        elif _WRITING_KEYWORDS & set(constant if isinstance(constant, tuple) else (constant,) if unpacks else ()):
            return "may write into an array that it captured (out=)"
    sticky: frozenset[str] = frozenset()
    while True:
        reason, found = _scan(code, captured, always, sticky)
        if reason is not None or found <= sticky:
            return reason
        sticky |= found


def _scan(
    code: types.CodeType, captured: frozenset[str], parameters: frozenset[str], sticky: frozenset[str]
) -> tuple[str | None, frozenset[str]]:
    """One pass over the code, and the names that a store inside a branch or loop may make held."""
    instructions = [i for i in instructions_of(code) if i.opname not in _SKIPPED]
    jumps = [(i.offset, i.argval) for i in instructions if i.opcode in dis.hasjrel or i.opcode in dis.hasjabs]
    keywords = {word for constant in code.co_consts if isinstance(constant, tuple) for word in constant}
    fresh = _FRESH - {"astype"} if "copy" in keywords else _FRESH  # copy=False may give the array itself
    held = set(parameters)
    found: set[str] = set()
    reads = is_new = is_held = False  # the expression at hand: reads something held; is new; a chain of stores of it
    for place, instruction in enumerate(instructions):
        name = instruction.opname
        follower = instructions[place + 1] if place + 1 < len(instructions) else instruction
        if name.startswith("STORE_"):
            joins = any(instructions[place - 1].offset < target <= instruction.offset for _, target in jumps)
            is_held = is_held or (reads and (joins or not is_new))
            stored, loaded = _names(instruction)
            for target in stored:
                inside = any(_is_inside(instruction.offset, *jump) for jump in jumps)
                if is_held:
                    held.add(target)
                    found.update({target} if inside else ())
                elif not inside:
                    held.discard(target)
            if not follower.opname.startswith("STORE_"):
                reads = is_held = False
            reads = reads or any(n in captured or n in held or n in sticky for n in loaded)
            continue
        _, loaded = _names(instruction)
        touches = any(n in captured or n in held or n in sticky for n in loaded)
        if touches and follower.opname == "CALL" and _fills_out(code, follower.arg or 0):
            return "may write into an array that it captured (a ufunc's out)", frozenset()
        if touches and follower.opname in ("LOAD_ATTR", "LOAD_METHOD"):
            if follower.argval in _WRITING_METHODS:
                return f"calls .{follower.argval}() on what it captured, which may change it", frozenset()
            touches = len(loaded) > 1 or follower.argval not in fresh
        reads = reads or touches
        is_new = name in _NEW_OBJECTS or (name == "BINARY_OP" and instruction.argrepr not in ("", "[]"))
        if name == "BINARY_OP" and instruction.argrepr.endswith("="):
            targets, _ = _names(follower)
            if any(n in captured or n in held or n in sticky for n in targets):
                return f"changes {targets[0]!r} in place, which it may share with other calls", frozenset()
        elif name in ("POP_TOP", "RETURN_VALUE"):
            reads = False
    return None, frozenset(found)


def _names(instruction: dis.Instruction) -> tuple[list[str], list[str]]:
    """The local, global and free names that an instruction stores and loads; some do several at once."""
    name, value = instruction.opname, instruction.argval
    names = list(value) if isinstance(value, tuple) else [value]
    if name in ("STORE_FAST_STORE_FAST", "STORE_FAST", "STORE_DEREF", "STORE_FAST_MAYBE_NULL"):
        return names, []
    if name == "STORE_FAST_LOAD_FAST":
        return names[:1], names[1:]
    is_load = name.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_GLOBAL", "LOAD_NAME", "LOAD_CLOSURE", "LOAD_FROM_DICT"))
    return [], [n for n in names if isinstance(n, str)] if is_load else []


def _is_inside(offset: int, jump: int, target: int) -> bool:
    """Whether the jump may leave out, or repeat, what stands at `offset`."""
    return jump < offset < target or target <= offset <= jump


def _fills_out(code: types.CodeType, arguments: int) -> bool:
    """Whether a call of so many arguments may be of a ufunc with its output given by position."""
    named = (vars(np).get(name) for name in code.co_names)
    return any(isinstance(found, np.ufunc) and arguments > found.nin for found in named)
