"""What a function computes with, as texts: equal texts, equal results, in this process and in any later one.

For caches that outlive a process. Covered: its bytecode and constants, what it captures (globals, closures, defaults,
the attributes it reads of the user's modules), functions and classes of the user's that it reaches, the state of its
objects, and the version of each package it calls. Texts that look like paths are noted, so that files can be looked at.
Not covered, as nothing shows it: other files that it opens, the network, the clock. It runs nothing of the user's but
what pickling an object runs.
"""

from __future__ import annotations

import builtins
import copyreg
import dis
import functools
import hashlib
import os
import platform
import sys
import types
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import PurePath
from typing import Any

import numpy as np

from penstock.block.columns import Nested
from penstock.errors import Location
from penstock.ops.registry import OPS
from penstock.trace.bytecode import instructions_of

_SHOWN = 60
_NAMED_PARTS = 50
_FEW = 16
_LONGEST_PATH = 4096
_PLAIN = (bool, int, float, complex, str, bytes, type(None), type(...), type(NotImplemented))
_FLAT = frozenset((bool, int, float, str, bytes, type(None)))
_OF_A_CLASS = frozenset(
    "__dict__ __weakref__ __module__ __doc__ __firstlineno__ __static_attributes__ __annotations__ __annotate__ "
    "__annotate_func__ __annotations_cache__ __abstractmethods__ _abc_impl __qualname__ __slots__ "
    "__dataclass_fields__ __dataclass_params__ "
    "__match_args__".split()
)
_TENSORS = frozenset({"torch", "tensorflow", "jax", "jaxlib"})


class UnhashableError(Exception):
    """Something of which nobody can tell whether it is what it was: `path` names it, `why` says why."""

    def __init__(self, path: str, why: str) -> None:
        super().__init__(f"{path}: {why}")
        self.path = path
        self.why = why


class Contents:
    """Texts of values, and of all they reach.

    pieces: by name, what was found on the way: functions by digest, small captures as they are, packages by version.
    places: where functions are defined. draws: whether a random op of Penstock's is among them. paths: texts that look
    like paths of files, among captures and in code.
    of_dataset: the text of a dataset that a function captures.
    """

    def __init__(self, of_dataset: Callable[[Any], str]) -> None:
        self.pieces: dict[str, str] = {}
        self.places: dict[str, str] = {}
        self.draws = False
        self.paths: dict[str, None] = {}
        self._of_dataset = of_dataset
        self._seen: dict[int, tuple[str, Any]] = {}  # by id, kept alive so that no id comes again

    def of(self, value: Any, path: str) -> str:
        """The text of `value`, called `path`. Raises: UnhashableError. Cost: about 1 s for a gigabyte of arrays."""
        try:
            return self._of(value, path)
        except RecursionError:
            raise UnhashableError(path, "is nested too deeply") from None

    def _of(self, value: Any, path: str) -> str:
        if type(value) in _PLAIN:
            self._note_path(value)
            text = repr(value)
            return text if len(text) <= _SHOWN else f"{type(value).__name__} {digest(text.encode('utf-8', 'replace'))}"
        if type(value) is tuple and len(value) < _FEW and _is_flat(value):
            return self._several("tuple", value, path)  # a million of these need not be remembered
        if id(value) in self._seen:
            return self._seen[id(value)][0]
        self._seen[id(value)] = (f"again #{len(self._seen)}", value)
        text = self._text(value, path)
        self._seen[id(value)] = (text, value)
        return text

    def _note_path(self, value: Any) -> None:
        if type(value) is str and os.sep in value and len(value) < _LONGEST_PATH:
            self.paths[value] = None

    def _text(self, value: Any, path: str) -> str:
        if isinstance(value, np.ndarray | np.generic):
            return self._array(np.asarray(value), path)
        if isinstance(value, np.dtype):
            return f"dtype {value.str if value.kind != 'V' else value.name}"
        if isinstance(value, tuple | list) and type(value) in (tuple, list):
            return self._several(type(value).__name__, value, path)
        if type(value) in (dict, types.MappingProxyType):
            pairs = [part for item in value.items() for part in item]
            return self._several("dict", pairs, path)
        if type(value) in (set, frozenset):
            texts = sorted(self._of(part, path) for part in value)
            return f"set {digest(repr(texts).encode())}"
        if isinstance(value, PurePath):
            self.paths[os.fspath(value)] = None
            return f"path {os.fspath(value)}"
        if isinstance(value, types.ModuleType):
            return self._module(value)
        if isinstance(value, types.FunctionType):
            return self._function(value, path)
        if isinstance(value, type):
            return self._class(value, path)
        if isinstance(value, types.MethodType):
            return self._several("method", (value.__func__, value.__self__), path)
        if isinstance(value, staticmethod | classmethod):
            return self._of(value.__func__, path)
        if isinstance(value, property):
            return self._several("property", (value.fget, value.fset, value.fdel), path)
        if isinstance(value, functools.partial):
            return self._several("partial", (value.func, value.args, value.keywords), path)
        if isinstance(value, Nested) and not isinstance(value, type):
            return f"dataset {self._of_dataset(value)}"
        return self._builtin(value, path) or self._object(value, path)

    def _several(self, kind: str, parts: Any, path: str) -> str:
        """The text of parts in order."""
        if len(parts) >= _FEW and _is_flat(parts):
            self.paths |= dict.fromkeys(p for p in parts if type(p) is str and os.sep in p and len(p) < _LONGEST_PATH)
            return f"{kind} of {len(parts)} {digest(repr(parts).encode('utf-8', 'surrogatepass'))}"
        texts = [self._of(part, path) for part in parts]
        short = f"{kind}({', '.join(texts)})"
        return short if len(short) <= _SHOWN else f"{kind} {digest(repr(texts).encode())}"

    def _array(self, array: np.ndarray[Any, Any], path: str) -> str:
        if array.dtype.hasobject:
            body = repr([self._of(part, path) for part in array.ravel().tolist()]).encode()
        else:
            flat = np.ascontiguousarray(array).reshape(-1)
            body = flat.view(np.uint8).data if flat.nbytes else b""  # type: ignore[assignment]  # what hashlib takes
        kind = array.dtype.name if array.dtype.kind == "V" else array.dtype.str
        return f"array {kind} {list(array.shape)} {digest(body)}"

    # -- code -----------------------------------------------------------------------------------------------------

    def _function(self, function: types.FunctionType, path: str) -> str:
        self.draws = self.draws or (function in OPS and OPS[function].random)
        if not is_users(function.__module__):
            return f"{self._package(function.__module__)}: {function.__module__}.{function.__qualname__}"
        wrapped = getattr(function, "__wrapped__", None)
        code = function.__code__
        name = self._name(function.__qualname__, code)
        self.pieces[name] = digest(self._code(code, path).encode())
        defaults: dict[Any, Any] = dict(enumerate(function.__defaults__ or ()))
        defaults |= function.__kwdefaults__ or {}
        for key, value in defaults.items():
            self._capture(f"default {key} of {name}", value)
        for code_of, read, value in _reads(function):
            if isinstance(value, types.ModuleType) and read is None:
                self._module_whole(value)
            else:
                assert read is not None
                self._capture(f"{read}, read by {name}" if code_of else read, value)
        if wrapped is not None:
            self._capture(f"what {name} wraps", wrapped)
        return f"function {name}"

    def _capture(self, name: str, value: Any) -> None:
        self.pieces[name] = self._of(value, name)

    def _name(self, qualname: str, code: types.CodeType) -> str:
        """A name of a function that no other in these contents has; the same as long as they are met in one order."""
        name = self._free(f"`{qualname.replace('<locals>.', '')}`")
        self.places[name] = str(Location(code.co_filename, code.co_firstlineno))
        return name

    def _free(self, plain: str) -> str:
        name, number = plain, 1
        while name in self.pieces:
            number += 1
            name = f"{plain} ({number})"
        return name

    def _code(self, code: types.CodeType, path: str) -> str:
        """Bytecode and constants, without lines and names of files."""
        constants = [
            self._code(constant, path) if isinstance(constant, types.CodeType) else self._constant(constant)
            for constant in code.co_consts
        ]
        parts = (
            code.co_code.hex(), constants, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
            code.co_argcount, code.co_kwonlyargcount, code.co_posonlyargcount, code.co_flags,
            getattr(code, "co_exceptiontable", b"").hex(),
        )  # fmt: skip
        return repr(parts)

    def _constant(self, value: Any) -> str:
        self._note_path(value)
        if isinstance(value, frozenset):
            return repr(sorted(map(self._constant, value)))
        return f"{type(value).__name__} {value!r}"

    def _class(self, kind: type, path: str) -> str:
        if not is_users(kind.__module__):
            return f"{self._package(kind.__module__)}: {kind.__module__}.{kind.__qualname__}"
        name = f"class {kind.__qualname__.replace('<locals>.', '')}"
        for base in kind.__bases__:
            self._of(base, path)
        attributes = {key: value for key, value in vars(kind).items() if key not in _OF_A_CLASS}
        for key in sorted(attributes):
            value = attributes[key]
            if isinstance(value, types.GetSetDescriptorType | types.MemberDescriptorType):
                continue
            self.pieces[f"{name}.{key}"] = self._of(value, f"{name}.{key}")
        return name

    def _module(self, module: types.ModuleType) -> str:
        return self._module_whole(module) if is_users(module.__name__) else self._package(module.__name__)

    def _module_whole(self, module: types.ModuleType) -> str:
        """A module of which it is not seen what is read of it: all of its file."""
        if not is_users(module.__name__):
            return self._package(module.__name__)
        name = f"module {module.__name__}"
        try:
            with open(module.__file__ or "", "rb") as file:
                self.pieces[name] = digest(file.read())
        except OSError:
            raise UnhashableError(name, "is passed around, and has no file to read") from None
        self.places[name] = str(module.__file__)
        return name

    def _package(self, module: str | None) -> str:
        top = (module or "builtins").partition(".")[0]
        name = f"package {top}"
        if is_standard(top):
            name = "Python"
            self.pieces[name] = platform.python_version()
        elif name not in self.pieces:
            self.pieces[name] = version_of(top)
        return name

    # -- objects --------------------------------------------------------------------------------------------------

    def _builtin(self, value: Any, path: str) -> str | None:
        """Functions of compiled modules, and the like: by name."""
        name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
        kinds = (
            types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType, types.MethodWrapperType,
            types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType, np.ufunc,
        )  # fmt: skip
        if isinstance(value, kinds) or type(value).__name__ == "_ArrayFunctionDispatcher":
            owner = getattr(value, "__self__", None)
            if owner is None or isinstance(owner, types.ModuleType | type):
                holder = getattr(value, "__objclass__", None)
                module = "numpy" if isinstance(value, np.ufunc) else getattr(value, "__module__", None)
                module = module or getattr(holder, "__module__", None)
                return f"{self._package(module)}: {module}.{name}"
            return f"{name} of {self._of(owner, path)}"
        return None

    def _object(self, value: Any, path: str) -> str:
        """Any object as pickling takes it apart: a function that makes it anew, and its state."""
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None and callable(value):
            return f"{type(value).__name__} of {self._of(wrapped, path)}"
        top = (type(value).__module__ or "").partition(".")[0]
        if top in _TENSORS and hasattr(value, "__array__"):
            return f"{type(value).__qualname__} {self._array(np.asarray(value), path)}"
        try:
            by_type = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if by_type is None else by_type(value)
        except RecursionError:
            raise
        except Exception as error:
            what = f"is a {type(value).__name__}, whose content cannot be told ({error})"
            raise UnhashableError(path, what) from error
        if isinstance(reduced, str):
            return f"{self._package(getattr(value, '__module__', None))}: {reduced}"
        make, arguments, *rest = reduced
        if make in (copyreg.__newobj__, copyreg.__reduce_ex__):  # type: ignore[attr-defined]  # they are there
            make = "new"
        if rest and type(rest[0]) is dict and len(rest[0]) <= _NAMED_PARTS and all(type(key) is str for key in rest[0]):
            name = self._free(f"a {type(value).__name__}")
            self.pieces[name] = str(len(rest[0]))
            for key, part in rest[0].items():
                self._capture(f"{key} of {name}", part)
            rest[0] = name
        parts = [make, *arguments, *(list(part) if isinstance(part, Iterator) else part for part in rest)]
        return self._several(type(value).__name__, parts, path)


def _is_flat(parts: Any) -> bool:
    """Whether nothing in it has parts of its own."""
    return set(map(type, parts)) <= _FLAT


def digest(data: Any) -> str:
    """16 hex digits."""
    return hashlib.blake2b(data, digest_size=8).hexdigest()


def is_standard(module: str) -> bool:
    """Whether a top-level module is Python's own."""
    return module in sys.stdlib_module_names or module == "builtins"


def is_users(module: str | None) -> bool:
    """Whether `module` is the user's own code: not Python's, ours, or installed."""
    if module is None or module == "__main__":
        return True
    top = module.partition(".")[0]
    if is_standard(top) or top == "penstock":
        return False
    found = sys.modules.get(top)
    files = [getattr(found, "__file__", None) or "", *map(str, getattr(found, "__path__", ()))]
    return not any(f"{folder}-packages" in file for folder in ("site", "dist") for file in files)


def version_of(package: str) -> str:
    """The version of an installed package, as far as it says one."""
    said = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(said, str):
        return said
    from importlib import metadata

    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "no version"


def _reads(function: types.FunctionType) -> Iterator[tuple[bool, str | None, Any]]:
    """(whether it is named in the function's code, name, value) of all that the code of `function` loads from outside.

    An attribute of a user's module goes by "config.SIZE"; a module that is used in another way has no name.
    """
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    told: set[str] = set()
    for code in _codes(function.__code__):
        instructions = [i for i in instructions_of(code) if i.opname not in ("PUSH_NULL", "CACHE", "NOP")]
        module: types.ModuleType | None = None
        prefix = ""
        for instruction, after in pairwise([*instructions, instructions[-1]]):
            loaded, name = _loaded(instruction, function, cells, module, prefix)
            module = loaded if isinstance(loaded, types.ModuleType) else None
            if name is None:
                continue
            prefix = name
            if module is not None and after.opname in ("LOAD_ATTR", "LOAD_METHOD"):
                continue  # what is read of it comes next
            if module is not None:
                yield True, None, module
            elif name not in told:
                told.add(name)
                yield True, name, loaded


def _loaded(
    instruction: dis.Instruction,
    function: types.FunctionType,
    cells: dict[str, types.CellType],
    module: types.ModuleType | None,
    prefix: str,
) -> tuple[Any, str | None]:
    """What an instruction loads from outside the function, and its name; None: nothing."""
    opcode, value = instruction.opname, instruction.argval
    if opcode in ("LOAD_GLOBAL", "LOAD_NAME"):
        missing = "not defined"
        return function.__globals__.get(value, getattr(builtins, value, missing)), value
    if opcode in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF") and value in cells:
        try:
            return cells[value].cell_contents, value
        except ValueError:
            return "not defined", value
    if opcode in ("LOAD_ATTR", "LOAD_METHOD") and module is not None:
        return getattr(module, value, "not defined"), f"{prefix}.{value}"
    if opcode == "IMPORT_NAME":
        return sys.modules.get(value, f"module {value}"), value
    return None, None


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A function's code and that of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _codes(constant)
