"""What a node of the user's graph was told, by argument, as a trace holds it: for advice, which never sees a node."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from types import CodeType
from typing import Any

from penstock.block.columns import Column
from penstock.engine.executors.evidence import Finding
from penstock.formats.files import LocalFile, RemoteFile
from penstock.graph.node import Node
from penstock.graph.nodes import (
    Batch,
    Bucket,
    Cache,
    FileCache,
    Filter,
    GatheredBuckets,
    Interleave,
    Loaded,
    Map,
    PaddedBatch,
    RaggedBatch,
    Random,
    Rebatch,
    Resample,
    Sample,
    Shuffle,
    Slices,
    TakeWhile,
    Unbatch,
)
from penstock.plan.place import executor_of
from penstock.session.advice import advice
from penstock.storage.url import is_remote, shown
from penstock.telemetry.recorder import Recorder
from penstock.telemetry.trace import Value
from penstock.trace.tracer import obstacle

_DRAWING = ("random", "shuffle", "permutation", "randint", "randn", "default_rng", "normal", "uniform", "choice")
_MOST_NAMES = 4
_PLAIN = (str, int, float, bool, type(None))
_SAID = (
    "buffer_size", "num_parallel_calls", "batch_size", "drop_remainder", "cycle_length", "block_length", "count",
    "executor", "reshuffle_each_iteration", "seed", "bins",
)  # fmt: skip


def facts_of(
    node: Node, recorder: Recorder, findings: Mapping[tuple[int, str], Finding], executor: str | None
) -> dict[str, Value]:
    """Its arguments under their own names, and what was found about it. executor: where the options place functions.

    path, storage: where it reads ("local" or "remote"). compiles, why_python, instead: whether its function became a
    program, else why not and what would. runs_in, why_there: where the function runs. cache: "memory" or "directory".
    Cost: microseconds; runs no user code.
    """
    facts: dict[str, Value] = {}
    for name in _SAID:
        value = getattr(node, name, None)
        if hasattr(node, name) and isinstance(value, _PLAIN):
            facts[name] = value
    if isinstance(node, Shuffle):
        facts["buffer_size"] = node.size
    if isinstance(node, Cache):
        facts["cache"] = "directory" if isinstance(node, FileCache) else "memory"
    facts.update(_places(node))
    if isinstance(node, Map | Filter | TakeWhile):
        facts.update(_function_facts(node, recorder, findings, executor))
    return facts


def draws(node: Node, recorder: Recorder) -> bool:
    """Whether it, or its function, is random: it shuffles or samples, or its function draws.

    Of a function that compiles that is known; of one that stays Python it goes by the names that it uses.
    """
    if isinstance(node, Shuffle | Random | Sample | Resample) or getattr(node, "takes_rng", False):
        return True
    function = function_of(node)
    if function is None:
        return False
    told = recorder.functions.get(node.key)
    if told is not None and not told.why:
        return told.draws
    return any(name.startswith(_DRAWING) for name in _names(getattr(function, "__code__", None)))


def function_of(node: Node) -> Callable[..., Any] | None:
    """The user's function of a node, if it has one."""
    found = getattr(node, "function", None) or getattr(node, "predicate", None)
    return found if callable(found) else None


def rows_are_batched(root: Node) -> bool:
    """Whether elements of `root` are batches: something groups rows, and nothing takes them apart again."""
    node = root
    while len(node.inputs) == 1:
        if isinstance(node, Batch | PaddedBatch | RaggedBatch | Rebatch | Bucket | GatheredBuckets):
            return True
        if isinstance(node, Unbatch):
            return False
        node = node.input
    return False


def _function_facts(
    node: Map | Filter | TakeWhile, recorder: Recorder, findings: Mapping[tuple[int, str], Finding], said: str | None
) -> dict[str, Value]:
    function = node.function if isinstance(node, Map) else node.predicate
    told = recorder.functions.get(node.key)
    if isinstance(node, Map) and not node.compiles:
        why: str | None = "is under compile=False"
    else:
        why = obstacle(function) or (None if told is None else told.why or None)
    facts: dict[str, Value] = {"function": getattr(function, "__qualname__", type(function).__name__)}
    if why is not None:
        facts.update({"compiles": False, "why_python": why})
        cure = advice(why)
        if cure is not None:
            facts["instead"] = cure
    elif told is not None:
        facts.update({"compiles": True, "ops": told.steps})
    finding = findings.get(node.key)
    if finding is not None:
        facts.update({"runs_in": finding.executor, "why_there": finding.why})
    elif said == "inline":
        facts["runs_in"] = "inline"
    elif not isinstance(node, TakeWhile):
        facts["runs_in"] = "processes" if executor_of(node, said) == "processes" else "threads"
    return facts


def _places(node: Node) -> dict[str, Value]:
    """Where it reads: of several files the first, and how many there are."""
    if isinstance(node, Loaded):
        return {"path": str(node.data.path), "storage": "local"}
    if isinstance(node, FileCache):
        return {"path": node.directory, "storage": "remote" if is_remote(node.directory) else "local"}
    if isinstance(node, Slices):
        return _named_files(node.columns)
    if isinstance(node, Interleave) and node.by_number is not None:
        return _places(node.by_number)
    holder = getattr(node, "store", None) or getattr(node, "stream", None) or node
    files = [getattr(node, "file", None), *(getattr(holder, "files", None) or ())]
    found = [file for file in files if isinstance(file, LocalFile)]
    if not found:
        return {}
    remote = isinstance(found[0], RemoteFile)
    total = sum(file.size for file in found)
    return {
        "path": found[0].path, "files": len(found), "file_bytes": total, "storage": "remote" if remote else "local",
    }  # fmt: skip


def _named_files(columns: tuple[Column, ...]) -> dict[str, Value]:
    """Of rows that are names of files, where these are: by the first rows."""
    for column in columns:
        if not len(column) or column.dtype.kind not in "OTU":
            continue
        first = column.row(0)
        name = os.fsdecode(first) if isinstance(first, bytes | str) else ""
        if is_remote(name):
            return {"path": shown(name), "files": len(column), "storage": "remote"}
        if name and len(name) < 4096 and "\0" not in name and os.sep in name and os.path.isfile(name):
            return {"path": name, "files": len(column), "storage": "local"}
    return {}


def _names(code: CodeType | None, depth: int = _MOST_NAMES) -> set[str]:
    """The names that a function uses, with those of functions inside it."""
    if code is None:
        return set()
    inner = [const for const in code.co_consts if isinstance(const, CodeType)] if depth else []
    return set(code.co_names).union(*(_names(each, depth - 1) for each in inner))
