"""Functions of nested datasets, prepared once: whoever opens a million of them traces and compiles one.

A lambda inside a function is a new object at each call of it. Two are taken for the same when their code is, and all
they refer to is the very same objects; then what was found out about the first holds for the second.
"""

from __future__ import annotations

import threading
import types
from dataclasses import replace
from typing import Any

from penstock.engine.operators.segments import BlockFunction, block_function
from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Map

_KEPT = 8


class Functions:
    """Block functions by what they are made from. Safe to use from several threads."""

    def __init__(self) -> None:
        self._known: dict[Any, list[tuple[Any, BlockFunction]]] = {}
        self._lock = threading.Lock()

    def of(self, node: Node) -> BlockFunction:
        """What `node` does to a block: found before, or made now."""
        if isinstance(node, Chain):
            return block_function(replace(node, steps=tuple(node.steps)))
        if not isinstance(node, Map | Filter):
            return block_function(node)
        function = node.function if isinstance(node, Map) else node.predicate
        code = getattr(function, "__code__", function)
        try:
            key = (type(node), code, node.number, node.location, *_settings(node))
            found = self._known.get(key, ())
        except TypeError:  # unhashable: a callable object
            return block_function(node)
        for known, made in found:
            if _is_same(known, function):
                return made
        with self._lock:
            kept = self._known.setdefault(key, [])
            if len(kept) >= _KEPT and isinstance(node, Map) and node.compiles:
                # It differs from child to child: what compiling costs would not come back.
                node = replace(node, compiles=False)
            made = block_function(node)
            if len(kept) < _KEPT:
                kept.append((function, made))
        return made


def _settings(node: Map | Filter) -> tuple[Any, ...]:
    if isinstance(node, Filter):
        return node.on_error, node.ignores, node.tells
    declared = None if node.declared is None else (node.declared.structure, node.declared.specs)
    return node.on_error, node.ignores, node.tells, node.compiles, node.takes_rng, node.seed, declared


def _is_same(known: Any, function: Any) -> bool:
    """Whether two functions of one code refer to the very same things."""
    if known is function:
        return True
    if not (isinstance(known, types.FunctionType) and isinstance(function, types.FunctionType)):
        return False
    return (
        known.__globals__ is function.__globals__
        and _are_same(known.__defaults__, function.__defaults__)
        and known.__kwdefaults__ == function.__kwdefaults__ is None
        and _are_same(_contents(known), _contents(function))
    )


def _contents(function: types.FunctionType) -> tuple[Any, ...]:
    try:
        return tuple(cell.cell_contents for cell in function.__closure__ or ())
    except ValueError:  # a cell that has no value yet
        return (object(),)


def _are_same(left: tuple[Any, ...] | None, right: tuple[Any, ...] | None) -> bool:
    left, right = left or (), right or ()
    return len(left) == len(right) and all(a is b for a, b in zip(left, right, strict=True))
