"""A pipeline as bytes: its nodes as data, functions that compile as programs, the others as code."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

from penstock.block.block import Block, holds_datasets
from penstock.block.columns import ArrayColumn, RaggedColumn, RowsColumn
from penstock.block.spec import Spec
from penstock.engine.cache import CacheStore
from penstock.engine.file_cache import FileStore
from penstock.errors import InvalidArgumentError
from penstock.formats.line_index import LineIndex
from penstock.formats.record_index import RecordIndex
from penstock.formats.store import Held
from penstock.formats.stored.data import StoredData, open_entry
from penstock.graph import nodes as kinds
from penstock.graph.node import Node, SignatureMemo
from penstock.graph.nodes import Filter, Map
from penstock.graph.walk import nodes_of
from penstock.rng import UInt64s
from penstock.session.look import first_block
from penstock.session.saved.archive import Reader, Writer
from penstock.trace.programmed import ProgramFunction
from penstock.trace.tracer import Call, Untraced, trace

_KINDS = {name: kind for name, kind in vars(kinds).items() if isinstance(kind, type) and issubclass(kind, Node)}
# what a pipeline fills as it runs, and a copy fills anew
_FRESH = {
    "cache": CacheStore,
    "files": FileStore,
    "held": Held,
    "lines": LineIndex,
    "records": RecordIndex,
}
_DATASET = "dataset"


def graph_to_bytes(root: Node, known: dict[str, Callable[..., Any]]) -> bytes:
    """The graph. `known`: functions of this package that nodes hold, by name.

    Raises: UnsupportedValueError: a function that can be saved neither as a program nor as code.
    """
    writer = Writer()
    numbers: dict[int, int] = {}
    written: list[Any] = []

    def add(graph: Node) -> int:
        for node in nodes_of(graph):
            if id(node) not in numbers:
                written.append(_node(node))
                numbers[id(node)] = len(written) - 1
        return numbers[id(graph)]

    def _node(node: Node) -> dict[str, Any]:
        said = {f.name: f for f in fields(node) if f.name not in ("inputs", "number")}
        return {
            "node": type(node).__name__,
            "inputs": [numbers[id(source)] for source in node.inputs],
            "fields": {name: _field(node, name) for name in said},
        }

    def _field(node: Node, name: str) -> Any:
        value = getattr(node, name)
        if isinstance(value, Node):
            return {"kind": "node", "number": add(value)}
        if isinstance(value, SignatureMemo):
            return {"kind": "memo", "signature": writer.encode(value.signature)}
        if isinstance(value, StoredData):
            return {"kind": "stored", "path": str(value.path)}
        fresh = next((name for name, kind in _FRESH.items() if isinstance(value, kind)), None)
        if fresh is not None:
            return {"kind": "fresh", "name": fresh}
        named = next((said for said, function in known.items() if callable(value) and value == function), None)
        if named is not None:
            return {"kind": "known", "name": named}
        if callable(value) and not isinstance(value, type):
            saved = as_program(node, value)
            return writer.encode(saved) if isinstance(saved, ProgramFunction) else writer.add_code(node.label, value)
        if name == "obj" or name == "args":
            return writer.add_code(node.label, value)
        return writer.encode(value)

    last = add(root)
    return writer.to_bytes(_DATASET, {"nodes": written, "root": last})


def graph_from_bytes(data: bytes, known: dict[str, Callable[..., Any]], allow_code: bool) -> Node:
    """The graph that `graph_to_bytes` wrote. Raises: InvalidArgumentError: something else, or code not allowed."""
    reader = Reader(data, _DATASET, allow_code)
    made: list[Node] = []

    def field(value: Any) -> Any:
        kind = value.get("kind") if isinstance(value, dict) else None
        if kind == "node":
            return made[value["number"]]
        if kind == "memo":
            return SignatureMemo(reader.decode(value["signature"]))
        if kind == "stored":
            return open_entry(Path(value["path"]))
        if kind == "fresh":
            return _FRESH[value["name"]]()
        return known[value["name"]] if kind == "known" else reader.decode(value)

    try:
        for entry in reader.document["nodes"]:
            inputs = tuple(made[number] for number in entry["inputs"])
            parts = {name: field(value) for name, value in entry["fields"].items()}
            made.append(_KINDS[entry["node"]](inputs=inputs, **parts))
        root: Node = made[reader.document["root"]]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise InvalidArgumentError("not a saved dataset", got=f"{type(error).__name__}: {error}") from error
    return root


def as_program(node: Node, function: Callable[..., Any]) -> ProgramFunction | Untraced:
    """The function of a map or a filter as a program, traced on the first element; or why it is none."""
    if isinstance(function, ProgramFunction):
        return function
    if not isinstance(node, Map | Filter) or (isinstance(node, Map) and not node.compiles):
        return Untraced("is not compiled")
    block, _ = first_block(node.input)
    if block is None or not len(block) or holds_datasets(block):
        return Untraced("has no first element to be compiled for")
    if any(isinstance(column, RaggedColumn) for column in block.columns):
        return Untraced("is given ragged arrays")
    # One element does not say that all have its shape: no shape is taken for a constant.
    columns = tuple(
        RowsColumn(list(c.values), c.values.dtype) if isinstance(c, ArrayColumn) and c.values.ndim > 1 else c
        for c in block.columns
    )
    block = Block(block.structure, columns, block.origins)
    ids: Callable[[], UInt64s] = block.origins.ids
    takes_rng = isinstance(node, Map) and node.takes_rng
    program = trace([Call(function, takes_rng)], block, ids)
    if isinstance(program, Untraced):
        return program
    specs = tuple(
        column.spec if isinstance(column, ArrayColumn) else Spec(None, column.spec.dtype) for column in block.columns
    )
    name = f"{getattr(function, '__name__', type(function).__name__)} of {node.label}"
    return ProgramFunction(program, block.structure, specs, takes_rng, name)
