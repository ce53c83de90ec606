"""The files that a pipeline reads, as they are now: size and time of change; of an object behind a URL, its ETag."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields
from typing import Any

from penstock.block.columns import BytesColumn
from penstock.formats.files import LocalFile, RemoteFile
from penstock.formats.stored.data import StoredData
from penstock.formats.stored.manifest import NAME
from penstock.graph.node import Node
from penstock.graph.nodes import FormatRows, FormatStream, Slices
from penstock.storage.objects import known_facts
from penstock.storage.url import is_remote, shown
from penstock.trace.contents import digest

_MANY_FILES = 10_000
_LONGEST = 4096


def input_files(nodes: Sequence[Node], paths: Iterable[str], *, asks: bool) -> dict[str, Any]:
    """What can be told of each file that `nodes` read or name, by path; of very many one digest.

    paths: texts that functions hold; they count where they name files. asks: about objects whose URLs a node names.

    Raises: ReadError: an object cannot be asked about. Cost: 2 us a local file; objects are asked about all at once.
    """
    held = [part for node in nodes for part in _held(node) if isinstance(part, RemoteFile)]
    found: dict[str, Any] = {file.path: [file.size, file.facts.identity] for file in held}
    names = list(dict.fromkeys(name for node in nodes for name in _names(node)))
    found |= {name: _stat(name) for name in names if not is_remote(name)}
    found |= {path: told for path in paths if not is_remote(path) and (told := _stat(path)) is not None}
    urls = [name for name in names if is_remote(name)] if asks else []
    for url, facts in zip(urls, known_facts(urls) if urls else (), strict=True):
        found[shown(url)] = None if facts is None else [facts.size, facts.identity]
    if len(found) <= _MANY_FILES:
        return found
    return {f"{len(found)} files": digest(json.dumps(sorted(found.items())).encode("utf-8", "surrogatepass"))}


def file_changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    """What became of files: "file a.txt changed"."""
    changed = [name for name in now if name in before and before[name] != now[name]]
    gone, new = [name for name in before if name not in now], [name for name in now if name not in before]
    for names, what in ((changed, "changed"), (gone, "is no longer read"), (new, "is new")):
        yield from (f"file {name} {what}" for name in names[:3])
        if len(names) > 3:
            yield f"and {len(names) - 3} more files"


def _held(node: Node) -> Iterator[Any]:
    """What the fields of a node hold, tuples one by one."""
    for each in fields(node):
        value = getattr(node, each.name)
        yield from value if isinstance(value, tuple) else (value,)
    if isinstance(node, FormatRows | FormatStream):
        yield from (node.store if isinstance(node, FormatRows) else node.stream).files


def _names(node: Node) -> Iterator[str]:
    """The files of this machine that a node holds, and all that its texts name."""
    for part in _held(node):
        if isinstance(part, LocalFile) and not isinstance(part, RemoteFile):
            yield part.path
        if isinstance(part, StoredData):
            yield str(part.path / NAME)
    if isinstance(node, Slices):
        for column in node.columns:
            if isinstance(column, BytesColumn) and column.values.ndim == 1 and _are_paths(column.values):
                yield from map(os.fsdecode, column.values.tolist())


def _are_paths(values: Any) -> bool:
    """Whether texts are the names of files: the first one is."""
    if not len(values) or len(values[0]) > _LONGEST:
        return False
    first = os.fsdecode(values[0])
    return is_remote(first) or _stat(first) is not None


def _stat(path: str) -> list[int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_mtime_ns] if stat.S_ISREG(found.st_mode) else None
