"""What a pure function reads beside its arguments: which attributes of which modules, and whether sets decide.

For sending it to another interpreter by value. It reads bytecode as `purity` does, and assumes its yes: modules are
used by their attributes only, nothing is changed.
"""

from __future__ import annotations

import builtins
import functools
import sys
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from penstock.block.tree import Structure
from penstock.errors import Location
from penstock.trace.bytecode import instructions_of

KNOWN = frozenset("numpy math operator io penstock PIL cv2 builtins ml_dtypes cloudpickle".split())
"""Packages that are the same in every interpreter: nobody sets what functions read there."""

_SETS = frozenset({"BUILD_SET", "SET_ADD", "SET_UPDATE"})


@dataclass(slots=True)
class Reads:
    """attributes: by module id, the names read. set_order: where the order of a set may decide, None: nowhere."""

    attributes: dict[int, set[str]] = field(default_factory=dict)
    set_order: str | None = None


def reads_of(functions: list[Callable[..., Any]]) -> Reads:
    """What these functions, known to be pure, read in all. Runs nothing."""
    found = Reads()
    seen: set[int] = set()
    for function in functions:
        _value(function, found, seen, "")
    return found


def is_known(name: str | None) -> bool:
    """Whether module `name` belongs to the known packages."""
    return (name or "").partition(".")[0] in KNOWN


def is_users(module: str | None) -> bool:
    """Whether what is defined in `module` is neither the standard library's nor of a known package."""
    return not is_known(module) and (module or "").partition(".")[0] not in sys.stdlib_module_names


def is_portable(structure: Structure) -> bool:
    """Whether elements of this structure can be made elsewhere without importing a module of the user's."""
    kind = structure.kind
    if isinstance(kind, type) and is_users(kind.__module__) and kind.__module__ != "__main__":
        return False
    return all(map(is_portable, structure.children))


def _value(value: Any, found: Reads, seen: set[int], where: str) -> None:
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, types.FunctionType):
        if not is_known(value.__module__):
            defaults = (*(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values())
            _values(defaults, found, seen, where)
            _code(value.__code__, value, found, seen)
    elif isinstance(value, functools.partial):
        _values((value.func, *value.args, *value.keywords.values()), found, seen, where)
    elif isinstance(value, set | frozenset):
        found.set_order = found.set_order or where or "what it is given"
    elif isinstance(value, tuple | list):
        _values(value, found, seen, where)
    elif isinstance(value, dict):
        _values(value.values(), found, seen, where)


def _values(values: Any, found: Reads, seen: set[int], where: str) -> None:
    kinds = (types.FunctionType, functools.partial, set, frozenset, tuple, list, dict)
    if any(issubclass(kind, kinds) for kind in set(map(type, values))):  # one pass in C for a large table
        for value in values:
            _value(value, found, seen, where)


def _code(code: types.CodeType, function: types.FunctionType, found: Reads, seen: set[int]) -> None:
    where = str(Location(code.co_filename, code.co_firstlineno))
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    for loaded, is_asked in _loaded(code, function, cells, found):
        if isinstance(loaded, types.CodeType):
            _code(loaded, function, found, seen)
        elif not (is_asked and isinstance(loaded, set | frozenset)):
            _value(loaded, found, seen, where)
    if any(instruction.opname in _SETS for instruction in instructions_of(code)):
        found.set_order = found.set_order or where


def _loaded(
    code: types.CodeType, function: types.FunctionType, cells: dict[str, types.CellType], found: Reads
) -> Iterator[tuple[Any, bool]]:
    """Each captured value and constant that `code` loads, and whether only membership in it is asked (`x in it`)."""
    instructions = [i for i in instructions_of(code) if i.opname not in ("PUSH_NULL", "CACHE", "NOP")]
    module: types.ModuleType | None = None
    for instruction, after in pairwise([*instructions, instructions[-1]]):
        name, value = instruction.opname, instruction.argval
        loaded: Any = None
        if name in ("LOAD_GLOBAL", "LOAD_NAME"):
            loaded = function.__globals__.get(value, getattr(builtins, value, None))
        elif name in ("LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF") and value in cells:
            loaded = cells[value].cell_contents
        elif name in ("LOAD_ATTR", "LOAD_METHOD") and module is not None:
            found.attributes.setdefault(id(module), set()).add(value)
            loaded = getattr(module, value, None)
        elif name == "LOAD_CONST":
            loaded = value
        module = loaded if isinstance(loaded, types.ModuleType) else None
        if module is None and loaded is not None:
            if loaded is frozenset:
                found.set_order = found.set_order or str(Location(code.co_filename, code.co_firstlineno))
            yield loaded, after.opname == "CONTAINS_OP"
