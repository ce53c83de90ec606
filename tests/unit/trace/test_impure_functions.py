# ruff: noqa: B008, ICN001, NPY002, T201  # these are the functions that linters warn of; none is called
"""Functions that must not be called pure: each with a part of the reason it is refused for."""

from __future__ import annotations

import builtins
import datetime
import functools
import operator
import os
import random
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.random as npr
import pytest
from numpy.random import default_rng, rand

import penstock as ps
from penstock.trace.purity import impurity

COUNT = 0
KEPT: list[Any] = []
TABLE: dict[Any, Any] = {}
VOCABULARY: defaultdict[Any, int] = defaultdict(int)
GENERATOR = np.random.default_rng(0)
STREAM = ps.Rng(0)
LINES = iter("abc")


class Config:
    scale = 2

    def apply(self, x: Any) -> Any:
        return x * self.scale

    def __call__(self, x: Any) -> Any:
        return x


class LoudTuple(tuple):  # its constructor is the point
    def __new__(cls, x: Any) -> LoudTuple:
        KEPT.append(x)
        return tuple.__new__(cls, (x,))


def _assigns_global(x: Any) -> Any:
    global COUNT  # noqa: PLW0603  # what is tested
    COUNT += 1
    return x + COUNT


def _counter() -> Callable[..., Any]:
    count = 0

    def step(x: Any) -> Any:
        nonlocal count
        count += 1
        return x + count

    return step


def _sets_attribute(x: Any) -> Any:
    x.seen = True
    return x


def _sets_item(x: Any) -> Any:
    x[0] = 0
    return x


def _sets_slice(x: Any) -> Any:
    x[1:3] = 0
    return x


def _deletes_item(d: Any) -> Any:
    del d["a"]
    return d


def _yields(x: Any) -> Any:
    yield x


def _catches(x: Any) -> Any:
    try:
        return x / 0
    except ZeroDivisionError:
        return x


def _imports(x: Any) -> Any:
    import json

    return json.dumps(x)


def _opens(path: Any) -> Any:
    with open(path, "rb") as file:
        return file.read()


def _with(x: Any) -> Any:
    with np.errstate(all="ignore"):
        return x / 0


def _calls_impure(x: Any) -> Any:
    return _assigns_global(x)


def _inner_impure(x: Any) -> Any:
    def note(y: Any) -> Any:
        KEPT.append(y)
        return y

    return note(x)


def _empty_cell() -> Callable[..., Any]:
    def use(x: Any) -> Any:
        return x + later

    if COUNT < 0:
        later = 1
    return use


IMPURE: dict[str, tuple[Callable[..., Any], str]] = {
    "iterator": (lambda x: list(zip(x, LINES, strict=False)), "unknown kind"),
    "random": (lambda x: x + random.random(), "random"),
    "random_method": (lambda x: random.choice(x), "random"),
    "numpy_random": (lambda x: x + np.random.rand(), "numpy.random"),
    "numpy_random_alias": (lambda x: x + npr.normal(), "numpy.random"),
    "numpy_random_imported": (lambda x: x + rand(), "rand"),
    "numpy_generator_made": (lambda x: default_rng().normal(), "default_rng"),
    "numpy_generator": (lambda x: GENERATOR.normal(x), "unknown kind"),
    "shared_stream": (lambda x: x + STREAM.random(), "unknown kind"),
    "global_assignment": (_assigns_global, "assigns to the global 'COUNT'"),
    "closure_counter": (_counter(), "'count'"),
    "list_append": (lambda x: KEPT.append(x), ".append"),
    "list_pop": (lambda x: KEPT.pop(), ".pop"),
    "dict_update": (lambda x: TABLE.update(x), ".update"),
    "dict_setdefault": (lambda x: TABLE.setdefault(x, 1), ".setdefault"),
    "growing_vocabulary": (lambda word: VOCABULARY[word], "defaultdict"),
    "counter": (lambda x, c=Counter(): c[x], "Counter"),
    "attribute_set": (_sets_attribute, "sets the attribute 'seen'"),
    "item_assignment": (_sets_item, "assigns to an item"),
    "slice_assignment": (_sets_slice, "assigns to"),
    "item_deletion": (_deletes_item, "not known to be pure"),
    "open": (lambda path: open(path).read(), "open"),  # noqa: SIM115  # what is tested
    "with": (_with, "with statement"),
    "open_with": (_opens, "open"),
    "path": (lambda path: Path(path).read_bytes(), "Path"),
    "print": (lambda x: print(x), "print"),
    "input": (lambda x: input(), "input"),
    "time": (lambda x: time.time(), "time"),
    "perf_counter": (lambda x: time.perf_counter(), "perf_counter"),
    "now": (lambda x: datetime.datetime.now(), "datetime"),
    "environment": (lambda x: os.environ["HOME"], "environ"),
    "system": (lambda x: os.getpid(), "getpid"),
    "identity": (lambda x: id(x), "id"),
    "hash_of_text": (lambda x: hash(x), "hash"),
    "globals": (lambda x: globals(), "globals"),
    "setattr": (lambda x: setattr(x, "a", 1), "setattr"),
    "next_of_shared": (lambda x: next(LINES), "next"),
    "stdout": (lambda x: sys.stdout.write(x), "sys.stdout"),
    "unknown_object": (lambda x, config=Config(): config.apply(x), "Config"),
    "bound_method": (Config().apply, "is a method of an object (Config)"),
    "callable_object": (Config(), "Config"),
    "class_constructor": (lambda x: Config(), "Config"),
    "tuple_with_a_constructor": (lambda x: LoudTuple(x), "LoudTuple"),
    "generator_function": (_yields, "is a generator"),
    "try": (_catches, "catches exceptions"),
    "import_inside": (_imports, "imports 'json'"),
    "calls_impure": (_calls_impure, "COUNT"),
    "inner_impure": (_inner_impure, ".append"),
    "impure_in_comprehension": (lambda x: [KEPT.append(v) for v in x], ".append"),
    "impure_default": (lambda x, draw=random.random: draw(), "random"),
    "impure_partial": (functools.partial(_calls_impure), "COUNT"),
    "impure_key": (lambda x: sorted(x, key=lambda v: random.random()), "random"),
    "undefined_name": (eval("lambda x: not_defined_anywhere(x)", {}), "not defined"),  # so that no linter sees it
    "empty_cell": (_empty_cell(), "before it has a value"),
    "module_passed_around": (lambda x: vars(np), "vars"),
    "numpy_save": (lambda x: np.save("x.npy", x), "save"),
    "numpy_uninitialised": (lambda x: np.empty(3), "empty"),
    "numpy_copyto": (lambda x: np.copyto(x, 0), "copyto"),
    "numpy_private_module": (lambda x: np.lib.format.open_memmap(x), "numpy.lib.format"),
    "ufunc_at": (lambda x: np.add.at(x, 0, 1), ".at"),
    "array_sort": (lambda x: x.sort(), ".sort"),
    "array_fill": (lambda x: x.fill(0), ".fill"),
    "operator_setitem": (lambda x: operator.setitem(TABLE, "a", x), "setitem"),
    "operator_in_place": (lambda x: operator.iadd(KEPT, [x]), "iadd"),
    "method_by_name": (lambda x: operator.methodcaller("append", x)(KEPT), "methodcaller"),
    "lru_cache": (functools.lru_cache(lambda x: x), "not known to be pure"),
    "builtins_module": (lambda x: builtins.print(x), "print"),
}


@pytest.mark.parametrize("name", IMPURE)
def test_impurity_gives_the_reason(name: str) -> None:
    function, fragment = IMPURE[name]
    reason = impurity(function)
    assert reason is not None, f"{name} was called pure"
    assert fragment in reason


def test_impurity_names_the_line_of_the_user() -> None:
    line = _assigns_global.__code__.co_firstlineno + 2
    assert f"test_impure_functions.py:{line}" in str(impurity(_assigns_global))


def test_impurity_names_the_place_once_for_what_a_callee_does() -> None:
    assert str(impurity(_calls_impure)).count("test_impure_functions.py") == 1
