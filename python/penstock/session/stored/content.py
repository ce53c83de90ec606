"""The content fingerprint: equal when two pipelines give equal elements, as far as anything can tell. It guards caches.

Covered: verbs, their parameters and their place in the graph (draws are keyed by it), functions with all they capture,
arrays in memory, the size and time of change of each input file, the versions of packages, and the seed where something
draws by it. Each is kept as a text, so that what changed can be said.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from penstock.block.columns import ArrayColumn, BytesColumn
from penstock.engine.file_cache import Content, FileStore
from penstock.errors import InvalidArgumentError
from penstock.formats.files import LocalFile, RemoteFile
from penstock.formats.stored.data import StoredData
from penstock.formats.stored.manifest import NAME, VERSION
from penstock.graph.fingerprint import name_of
from penstock.graph.node import Node
from penstock.graph.nodes import FileCache, Map, Prefetch, Slices, WithOptions
from penstock.graph.walk import nodes_of
from penstock.storage.objects import known_facts
from penstock.storage.url import is_remote, shown
from penstock.trace.contents import Contents, UnhashableError, digest, version_of

_NO_MATTER = frozenset(
    "inputs location memo index store directory keeps_all version num_parallel_calls deterministic executor compiles "
    "without tells buffer_bytes node_of make_dataset file files data name".split()
)
"""Fields of nodes that change no element, or are told in another way."""

_OF_CODE = frozenset({"function", "predicate", "obj", "args", "columns"})
"""Fields that hold what a user may vouch for by a version."""

_MANY_FILES = 10_000


@dataclass(slots=True)
class _Description:
    verbs: list[list[Any]] = field(default_factory=list)
    files: dict[str, Any] = field(default_factory=dict)
    draws: bool = False


def content_of(cache: FileCache, seed: int | str, owner: str) -> Content:
    """Of what elements `cache` is. Nodes must be numbered.

    Raises: InvalidArgumentError: something below cannot be told apart from another, and no version is said.
    Cost: milliseconds, about 1 s for a gigabyte of arrays in memory, and 2 us for each input file.
    """
    contents = Contents(lambda dataset: _text_of_dataset(dataset, contents, cache))
    found = _Description()
    for node in _told(cache.input):
        found.verbs.append(_verb(node, contents, found, cache))
    told: dict[str, Any] = {
        "format": VERSION,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "version": cache.version,
        "verbs": found.verbs,
        "functions": {**contents.pieces, "package penstock": version_of("penstock")},
        "files": _grouped(found.files),
        "seed": str(seed) if found.draws or contents.draws else None,
    }
    text = json.dumps({**told, "verbs": [verb[:2] for verb in found.verbs]}, sort_keys=True)
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    told["places"] = contents.places
    return Content(key, owner, told)


def files_changed(root: Node, told: Any) -> str | None:
    """What of the input files of `root` is no longer as it was told; None: nothing."""
    found: dict[str, Any] = {}
    for node in _told(root):
        found |= _files(node, asks=told["version"] is None)
    changes = list(_file_changes(told["files"], _grouped(found)))
    return "; ".join(changes) or None


def difference(before: Any, now: Any) -> str:
    """What became of the content that was told as `before`: "shuffle at train.py:12: buffer_size 1000 became 5000"."""
    if not isinstance(before, dict) or not isinstance(before.get("functions"), dict):
        return "it holds other elements"
    changes: list[str] = []
    plain = [name for name in ("format", "Python", "version", "seed") if before.get(name) != now[name]]
    changes += [f"{name} {before.get(name)} became {now[name]}" for name in plain]
    changes += _verb_changes(before.get("verbs", []), now["verbs"])
    changes += _piece_changes(before["functions"], now["functions"], now["places"])
    changes += _file_changes(before.get("files", {}), now["files"])
    return "; ".join(changes) or "it holds other elements"


def _told(root: Node) -> Iterator[Node]:
    return (node for node in nodes_of(root) if not isinstance(node, Prefetch | WithOptions))


def _verb(node: Node, contents: Contents, found: _Description, cache: FileCache) -> list[Any]:
    """[name, parameters as text, label] of a node."""
    said = {key: repr(value) for key, value in node.parameters().items()}
    said["place in the graph"] = str(node.number)
    found.files |= _files(node, asks=cache.version is None)
    if getattr(node, "seed", 0) is None and (not isinstance(node, Map) or node.takes_rng):
        found.draws = True
    for each in fields(node):
        name = each.name
        if name in _NO_MATTER or name in said or name == "number":
            continue
        if name in _OF_CODE and cache.version is not None:
            continue
        value = getattr(node, name)
        path = f"the {name} of {node.label}"
        try:
            said[name] = (
                _columns(value, contents, path)
                if isinstance(node, Slices) and name == "columns"
                else (contents.of(value, path))
            )
        except UnhashableError as error:
            raise InvalidArgumentError(
                f"{cache.label}: nobody can tell whether it is still the same: {error.path} {error.why}",
                remedy='say a version, and another one when it changes: cache(directory, version="v1")',
            ) from error
    return [name_of(node), said, node.label]


def _columns(columns: Any, contents: Contents, path: str) -> str:
    texts = []
    for column in columns:
        if isinstance(column, BytesColumn):
            parts = [p.encode("utf-8", "surrogatepass") if isinstance(p, str) else p for p in column.values.ravel()]
            lengths = repr(list(map(len, parts))).encode()
            texts.append(f"text {column.values.shape} {digest(lengths)} {digest(b''.join(parts))}")
        else:
            texts.append(contents.of(column.values if isinstance(column, ArrayColumn) else list(column.rows()), path))
    return digest(repr(texts).encode()) if len(texts) > 1 else texts[0]


def _text_of_dataset(dataset: Any, contents: Contents, cache: FileCache) -> str:
    """A dataset that a function captures."""
    inner = _Description()
    verbs = [_verb(node, contents, inner, cache)[:2] for node in _told(dataset._node)]
    contents.draws = contents.draws or inner.draws
    return digest(json.dumps([verbs, sorted(inner.files.items())]).encode("utf-8", "surrogatepass"))


# -- files --------------------------------------------------------------------------------------------------------


def _files(node: Node, *, asks: bool) -> dict[str, Any]:
    """[size, time of change] of the files that a node reads, or names, by path; None: it is not there.

    Of objects behind URLs, [size, ETag or time of change]; of those that it names only if it `asks`: a request each.
    """
    found: dict[str, Any] = {}
    for each in fields(node):
        value = getattr(node, each.name)
        several = value if isinstance(value, tuple) else (value,)
        for file in several:
            if isinstance(file, RemoteFile):
                found[file.path] = [file.size, file.facts.identity]
            elif isinstance(file, LocalFile):
                found[file.path] = _stat(file.path)
        if isinstance(value, StoredData):
            path = str(value.path / NAME)
            found[path] = _stat(path)
    if isinstance(node, Slices):
        for column in node.columns:
            if not isinstance(column, BytesColumn) or column.values.ndim != 1:
                continue
            if asks and len(column.values) and is_remote(os.fsdecode(column.values[0])):
                found |= _objects([os.fsdecode(url) for url in column.values.tolist()])
            elif _names_files(column.values):
                found |= {os.fsdecode(path): _stat(path) for path in column.values.tolist()}
    return found


def _objects(urls: list[str]) -> dict[str, Any]:
    """[size, ETag or time of change] of each; None: it is not there. Raises: ReadError: one may not be asked about."""
    facts = known_facts(urls)
    return {shown(url): None if one is None else [one.size, one.identity] for url, one in zip(urls, facts, strict=True)}


def _names_files(values: Any) -> bool:
    """Whether texts are paths: their first one is that of a file."""
    return bool(len(values)) and len(values[0]) < 4096 and _stat(values[0]) is not None


def _stat(path: Any) -> list[int] | None:
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_size, found.st_mtime_ns]


def _grouped(files: dict[str, Any]) -> dict[str, Any]:
    """Each file by name; of very many a digest, as a list of them would be larger than some data."""
    if len(files) <= _MANY_FILES:
        return files
    return {f"{len(files)} files": digest(json.dumps(sorted(files.items())).encode("utf-8", "surrogatepass"))}


# -- what changed ---------------------------------------------------------------------------------------------------


def _verb_changes(before: Any, now: list[list[Any]]) -> Iterator[str]:
    for (name, parameters, *_), (became, values, label) in zip(before, now, strict=False):
        if name != became:
            yield f"{name} became {label}"
            return
        for key in sorted({*parameters, *values}):
            was, value = parameters.get(key, "not said"), values.get(key, "not said")
            if was != value and not (was.startswith("function ") and value.startswith("function ")):
                yield f"{label}: {key} {was} became {value}"
    yield from (f"{name} is no longer there" for name, *_ in before[len(now) :])
    yield from (f"{label} is new" for _, _, label in now[len(before) :])


def _piece_changes(before: dict[str, str], now: dict[str, str], places: dict[str, str]) -> Iterator[str]:
    for name in sorted({*before, *now}):
        was, became = before.get(name), now.get(name)
        if was == became:
            continue
        place = f" at {places[name]}" if name in places else ""
        if name.startswith("`") or place:
            yield f"{name} {'changed' if was and became else 'is new' if became else 'is no longer used'}{place}"
        else:
            yield f"{name}: {was or 'not used'} became {became or 'not used'}"


def _file_changes(before: dict[str, Any], now: dict[str, Any]) -> Iterator[str]:
    changed = [name for name in now if name in before and before[name] != now[name]]
    gone, new = [name for name in before if name not in now], [name for name in now if name not in before]
    for names, what in ((changed, "changed"), (gone, "is no longer read"), (new, "is new")):
        yield from (f"file {name} {what}" for name in names[:3])
        if len(names) > 3:
            yield f"and {len(names) - 3} more files"


def store_of(cache: FileCache) -> FileStore:
    """What belongs to the verb."""
    assert isinstance(cache.store, FileStore)
    return cache.store
