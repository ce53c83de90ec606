"""Whether a function is known to be pure, by an allow-list over its bytecode.

Pure means: the result depends on the arguments and on constants alone, and nothing else is changed; so the engine may
call it from several threads, in any order, and again. The analysis never runs the function. It only says yes to what it
knows: arithmetic, indexing, methods of arrays and text that change nothing, NumPy and math, Penstock's ops, data that
the function reads and cannot change, and functions of the same kind. Whatever is not on a list gives a reason, and the
map then runs with one worker, in order, as tf.data would run it.

Opcodes are listed by name for CPython 3.11 to 3.14; an unknown one gives a reason, never a wrong yes.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
import operator
import time
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.block.columns import Nested
from penstock.errors import Location
from penstock.ops.registry import DATA, OPS
from penstock.ops.vocabulary import Vocabulary
from penstock.trace.aliases import in_place_reason
from penstock.trace.bytecode import instructions_of
from penstock.trace.programmed import ProgramFunction

_PURE_BUILTINS: frozenset[Any] = frozenset(
    getattr(builtins, name)
    for name in (
        "abs all any bool bytes chr complex dict divmod enumerate filter float frozenset int isinstance len list map "
        "max min ord pow range repr reversed round slice sorted str sum tuple zip AssertionError IndexError KeyError "
        "RuntimeError TypeError ValueError"
    ).split()
)
_PURE_FUNCTIONS = frozenset({time.sleep})
_OPERATOR_IMPURE = frozenset(
    "setitem delitem call iadd iand iconcat ifloordiv ilshift imatmul imod imul ior ipow irshift isub itruediv "
    "ixor".split()
)
_NUMPY_MODULES = frozenset(
    "numpy numpy.linalg numpy.fft numpy.char numpy.strings numpy.polynomial numpy.lib.stride_tricks".split()
)
_NUMPY_IMPURE = frozenset(
    "random save savez savez_compressed savetxt load loadtxt fromfile genfromtxt memmap put place copyto putmask "
    "fill_diagonal put_along_axis seterr seterrcall setbufsize set_printoptions frompyfunc vectorize apply_along_axis "
    "apply_over_axes fromfunction piecewise testing ctypeslib nditer empty empty_like info show_config show_runtime "
    "fromregex".split()
)
_PILLOW_PURE = frozenset({"open", "fromarray", "frombytes", "frombuffer", "merge", "blend"})
_CV2_IMPURE = (
    "imwrite",
    "set",
    "VideoCapture",
    "VideoWriter",
    "named",
    "imshow",
    "wait",
    "destroy",
    "randu",
    "randn",
    "rand",
)
_PURE_ATTRIBUTES = frozenset(
    # arrays
    "T all any argmax argmin argsort astype clip compress conj copy cumprod cumsum diagonal dot dtype flat flatten "
    "imag item itemsize max mean min nbytes ndim nonzero prod ptp ravel real repeat reshape round searchsorted shape "
    "size squeeze std strides sum swapaxes take tobytes tolist trace transpose var view "
    # text and bytes
    "capitalize casefold center count decode encode endswith find format hex index isalnum isalpha isdigit islower "
    "isnumeric isspace isupper join ljust lower lstrip partition removeprefix removesuffix replace rfind rindex rjust "
    "rpartition rsplit rstrip split splitlines startswith strip swapcase title translate upper zfill fromhex "
    # tuples, dicts, slices, named tuples
    "get items keys values start stop step "
    # Pillow images
    "convert crop resize rotate getbands mode width height thumbnail_size "
    # penstock.Rng: each element has its own
    "random uniform integers normal permutation choice".split()
)
_PURE_OPCODES = frozenset(
    "RESUME CACHE NOP EXTENDED_ARG PUSH_NULL PRECALL KW_NAMES CALL CALL_FUNCTION_EX CALL_KW CALL_INTRINSIC_1 "
    "CALL_INTRINSIC_2 COPY SWAP POP_TOP POP_ITER NOT_TAKEN COPY_FREE_VARS MAKE_CELL MAKE_FUNCTION "
    "SET_FUNCTION_ATTRIBUTE LOAD_CONST LOAD_SMALL_INT LOAD_CONST_IMMORTAL LOAD_COMMON_CONSTANT RETURN_CONST "
    "RETURN_VALUE RETURN_GENERATOR LOAD_FAST LOAD_FAST_BORROW LOAD_FAST_CHECK LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST "
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST STORE_FAST_MAYBE_NULL "
    "DELETE_FAST LOAD_CLOSURE UNARY_NEGATIVE UNARY_NOT UNARY_INVERT UNARY_POSITIVE BINARY_OP BINARY_SUBSCR "
    "BINARY_SLICE BUILD_SLICE COMPARE_OP IS_OP CONTAINS_OP TO_BOOL BUILD_TUPLE BUILD_LIST BUILD_MAP BUILD_SET "
    "BUILD_STRING BUILD_CONST_KEY_MAP LIST_APPEND LIST_EXTEND LIST_TO_TUPLE SET_ADD SET_UPDATE MAP_ADD DICT_MERGE "
    "DICT_UPDATE FORMAT_VALUE FORMAT_SIMPLE FORMAT_WITH_SPEC CONVERT_VALUE UNPACK_SEQUENCE UNPACK_EX GET_ITER GET_LEN "
    "FOR_ITER END_FOR JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE "
    "POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE POP_JUMP_FORWARD_IF_FALSE POP_JUMP_FORWARD_IF_TRUE "
    "POP_JUMP_FORWARD_IF_NONE POP_JUMP_FORWARD_IF_NOT_NONE POP_JUMP_BACKWARD_IF_FALSE POP_JUMP_BACKWARD_IF_TRUE "
    "POP_JUMP_BACKWARD_IF_NONE POP_JUMP_BACKWARD_IF_NOT_NONE JUMP_IF_FALSE_OR_POP JUMP_IF_TRUE_OR_POP RAISE_VARARGS "
    "RERAISE LOAD_ASSERTION_ERROR MATCH_SEQUENCE MATCH_MAPPING "
    "SEND RESUME_CHECK ASYNC_GEN_WRAP".split()
)
_CONSTANTS = (
    int, float, complex, bool, str, bytes, type(None), type(...), slice, np.generic, np.dtype, np.ndarray, Vocabulary,
)  # fmt: skip
_TOKENIZERS = ("tokenizers", "tokenizers.implementations")  # of Hugging Face: `text.tokenize` only reads them


def impurity(function: Callable[..., Any], verbs: frozenset[str] = frozenset()) -> str | None:
    """Why `function` is not known to be pure, in a phrase that follows "because it"; None when it is pure.

    `verbs`: of datasets, that it may call too: they make a dataset and run nothing.
    Cost: reads the bytecode once, about 0.1 ms; runs nothing.
    """
    return _callable(function, _Path(verbs=verbs))


@dataclass(frozen=True, slots=True)
class _Path:
    """The way to what is looked at: the callables it lies in, and whether these may hand it something captured.

    `verbs`: of datasets, that it may call.
    """

    seen: frozenset[int] = frozenset()
    handed: bool = False
    verbs: frozenset[str] = frozenset()


def _callable(value: Any, path: _Path) -> str | None:
    if id(value) in path.seen:
        return None
    path = replace(path, seen=path.seen | {id(value)})
    if isinstance(value, ProgramFunction):
        return None
    try:
        if value in OPS or value in _PURE_BUILTINS or value in _PURE_FUNCTIONS:
            return None
    except TypeError:  # unhashable
        return f"calls an unknown object ({type(value).__name__})"
    if isinstance(value, np.ufunc | operator.itemgetter):
        return None
    if isinstance(value, type) and (issubclass(value, (np.generic, *DATA)) or value is tuple or _is_namedtuple(value)):
        return None
    if path.verbs and isinstance(value, type) and issubclass(value, Nested):
        return None
    if isinstance(value, functools.partial):
        bound = [*value.args, *value.keywords.values()]
        inner = replace(path, handed=path.handed or any(map(_is_mutable, bound)))
        return _callable(value.func, inner) or next(filter(None, (_value(part, path) for part in bound)), None)
    if isinstance(value, types.FunctionType):
        return None if _is_of_numpy(value) else _function(value, path)
    if isinstance(value, types.BuiltinFunctionType) and (
        (value.__module__ == "math" or (value.__module__ == "_operator" and value.__name__ not in _OPERATOR_IMPURE))
        or _is_of_numpy(value)
    ):
        return None
    if type(value).__name__ == "_ArrayFunctionDispatcher" and _is_of_numpy(value):
        return None
    if isinstance(value, types.MethodDescriptorType) and value.__objclass__ in (str, bytes):
        return None
    if isinstance(value, types.MethodType):
        return f"is a method of an object ({type(value.__self__).__name__}) whose state may change"
    return f"calls {_name(value)}, which is not known to be pure"


def _function(function: types.FunctionType, path: _Path) -> str | None:
    """A function of the user's: its defaults, its code, and what the two may do to what they share."""
    code = function.__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    defaults = dict(
        zip(reversed(code.co_varnames[: code.co_argcount]), reversed(function.__defaults__ or ()), strict=False)
    )
    defaults.update(function.__kwdefaults__ or {})
    captured = frozenset(_captured(function, code))
    held = names if path.handed else [name for name, value in defaults.items() if _is_mutable(value)]
    inner = replace(path, handed=path.handed or bool(captured) or bool(held))
    reason = next(filter(None, (_value(default, path) for default in defaults.values())), None)
    reason = reason or _code(code, function, inner)
    if reason is None:
        reason = in_place_reason(code, captured, held)
        reason = reason and f"{reason} ({Location(code.co_filename, code.co_firstlineno)})"
    return reason


def _captured(function: types.FunctionType, code: types.CodeType) -> Iterator[str]:
    """The globals and free variables of `code`, and of the functions in it, that hold something mutable."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            if _is_mutable(cell.cell_contents):
                yield name
        except ValueError:  # empty: told when it is read
            continue
    for name in code.co_names:
        found = function.__globals__.get(name)
        if isinstance(found, types.ModuleType):
            found = [vars(found).get(inner) for inner in code.co_names]
            found = None if not any(map(_is_mutable, found)) else found
        if _is_mutable(found):
            yield name
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _captured(function, constant)


def _is_mutable(value: Any) -> bool:
    """Whether something reachable in `value` can be changed in place."""
    if isinstance(value, np.ndarray):
        return value.flags.writeable
    if isinstance(value, tuple):
        return any(map(_is_mutable, value))
    return isinstance(value, list | dict | set | bytearray)


def _is_namedtuple(value: type) -> bool:
    return value.__bases__ == (tuple,) and hasattr(value, "_fields")


def _is_of_numpy(value: Any) -> bool:
    module = getattr(value, "__module__", "") or ""
    return (
        module.split(".")[0] == "numpy"
        and ".random" not in module
        and getattr(value, "__name__", "") not in _NUMPY_IMPURE
    )


def _value(value: Any, path: _Path) -> str | None:
    """A captured value: data that can be read, or a pure callable."""
    if isinstance(value, (*_CONSTANTS, *DATA)):
        return None
    if isinstance(value, tuple | list | set | frozenset | dict):
        if hasattr(value, "__missing__"):
            return f"reads a {type(value).__name__}, which a look-up may change"
        items = list(value.values() if isinstance(value, dict) else value)
        if all(
            issubclass(kind, (*_CONSTANTS, *DATA)) for kind in set(map(type, items))
        ):  # one pass in C for a large table
            return None
        return next(filter(None, (_value(item, path) for item in items)), None)
    if isinstance(value, type) or callable(value):
        return _callable(value, path)
    if type(value).__module__.startswith(_TOKENIZERS):
        return None
    return f"uses an object of an unknown kind ({_name(type(value))})"


def _attribute(module: types.ModuleType, name: str, path: _Path) -> tuple[str | None, Any]:
    """The reason against `module.name`, and the module it is if it is one."""
    found = getattr(module, name, None)
    root = module.__name__.split(".")[0]
    if isinstance(found, types.ModuleType):
        return (f"uses {found.__name__}", None) if found.__name__ == "numpy.random" else (None, found)
    if module.__name__ in _NUMPY_MODULES and name not in _NUMPY_IMPURE:
        return None, None
    if root == "numpy" and not isinstance(found, _CONSTANTS):
        return f"uses {module.__name__}.{name}", None
    if module is math:
        return None, None
    if module.__name__ == "PIL.Image" and (name in _PILLOW_PURE or name.isupper() or name == "Resampling"):
        return None, None
    if module.__name__ == "io" and name in ("BytesIO", "StringIO"):
        return None, None
    if root == "cv2" and not name.startswith(_CV2_IMPURE):
        return None, None
    reason = _value(found, path)
    return (reason and f"uses {module.__name__}.{name}: {reason}"), None


def _code(code: types.CodeType, function: types.FunctionType, path: _Path) -> str | None:
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    module: types.ModuleType | None = None
    for instruction in instructions_of(code):
        name, value = instruction.opname, instruction.argval
        reason: str | None = None
        if name in ("LOAD_ATTR", "LOAD_METHOD"):
            if module is not None:
                reason, module = _attribute(module, value, path)
            elif value not in _PURE_ATTRIBUTES and value not in path.verbs:
                reason = f"uses .{value}, which may change or depend on an object's state"
        elif name in ("PUSH_NULL", "CACHE", "NOP"):
            continue
        elif module is not None:
            reason = f"passes the module {module.__name__} around"
        elif name in ("LOAD_GLOBAL", "LOAD_NAME"):
            reason, module = _global(function, value, path)
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"):
            if value in cells:
                reason, module = _cell(cells[value], value, path)
        elif name in ("STORE_DEREF", "DELETE_DEREF"):
            if value in cells:
                reason = f"assigns to the enclosing function's variable {value!r}"
        elif name == "YIELD_VALUE":
            if code is function.__code__:
                reason = "is a generator"
        elif name == "LOAD_CONST" and isinstance(value, types.CodeType):
            reason = _code(value, function, path)
        elif name not in _PURE_OPCODES:
            reason = _effect(name, value)
        if reason is not None:
            return (
                reason if _has_place(reason) else f"{reason} ({Location(code.co_filename, _line(instruction, code))})"
            )
    return None


def _global(function: types.FunctionType, name: str, path: _Path) -> tuple[str | None, Any]:
    missing = object()
    found = function.__globals__.get(name, missing)
    if found is missing:
        found = getattr(builtins, name, missing)
        if found is missing:
            return f"uses the name {name!r}, which is not defined", None
    if isinstance(found, types.ModuleType):
        return None, found
    reason = _value(found, path)
    return (reason and (reason if _has_place(reason) else f"uses {name!r}: {reason}")), None


def _cell(cell: types.CellType, name: str, path: _Path) -> tuple[str | None, Any]:
    try:
        found = cell.cell_contents
    except ValueError:
        return f"uses {name!r} before it has a value", None
    if isinstance(found, types.ModuleType):
        return None, found
    return _value(found, path), None


def _effect(opcode: str, value: Any) -> str:
    return {
        "STORE_GLOBAL": f"assigns to the global {value!r}",
        "DELETE_GLOBAL": f"deletes the global {value!r}",
        "STORE_ATTR": f"sets the attribute {value!r}",
        "STORE_SUBSCR": "assigns to an item of an array or a container",
        "STORE_SLICE": "assigns to a slice of an array or a container",
        "IMPORT_NAME": f"imports {value!r} while it runs",
        "BEFORE_WITH": "uses a with statement",
        "LOAD_SPECIAL": "uses a with statement",
        "PUSH_EXC_INFO": "catches exceptions",
    }.get(opcode, f"does what is not known to be pure ({opcode})")


def _line(instruction: dis.Instruction, code: types.CodeType) -> int:
    positions = instruction.positions
    return (positions.lineno if positions is not None else None) or code.co_firstlineno


def _has_place(reason: str) -> bool:
    return reason.endswith(")") and ":" in reason.rpartition("(")[2]


def _name(value: Any) -> str:
    module = getattr(value, "__module__", None)
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None) or type(value).__name__
    return f"{module}.{name}" if module else str(name)
