"""The content fingerprint: equal when two pipelines give equal elements, as far as anything can tell. It guards caches.

Covered: verbs, their parameters and their place in the graph (draws are keyed by it), functions with all they capture,
arrays in memory, the size and time of change of each input file, the versions of packages, and the seed where something
draws by it. Each is kept as a text, so that what changed can be said.
"""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

from penstock.block.columns import ArrayColumn, BytesColumn
from penstock.engine.file_cache import Content, FileStore
from penstock.errors import InvalidArgumentError
from penstock.formats.stored.manifest import VERSION
from penstock.graph.fingerprint import name_of
from penstock.graph.node import Node
from penstock.graph.nodes import FileCache, FormatRows, FormatStream, Map, Prefetch, Slices, WithOptions
from penstock.graph.walk import nodes_of
from penstock.session.stored.inputs import file_changes, input_files
from penstock.trace.contents import Contents, UnhashableError, digest, version_of

_NO_MATTER = frozenset(
    "inputs location memo index store directory keeps_all version num_parallel_calls deterministic executor compiles "
    "without tells buffer_bytes counts may_index index_folder by_number node_of make_dataset file files data "
    "name stream held".split()
)
"""Fields of nodes that change no element, or are told in another way."""

_OF_CODE = frozenset({"function", "predicate", "obj", "args", "columns"})
"""Fields that hold what a user may vouch for by a version."""


@dataclass(slots=True)
class _Description:
    verbs: list[list[Any]] = field(default_factory=list)
    captured: list[Node] = field(default_factory=list)
    draws: bool = False


def content_of(cache: FileCache, seed: int | str, owner: str) -> tuple[Content, Callable[[], str | None]]:
    """Of what elements `cache` is; and a function that says which input file changed since. Nodes must be numbered.

    Raises: InvalidArgumentError: something below cannot be told apart from another, and no version is said.
    Cost: milliseconds, about 1 s for a gigabyte of arrays in memory, and 2 us for each input file.
    """
    found = _Description()
    contents = Contents(lambda dataset: _text_of_dataset(dataset, contents, found, cache))
    nodes = list(_told(cache.input))
    found.verbs += [_verb(node, contents, found, cache) for node in nodes]
    nodes += found.captured
    told: dict[str, Any] = {
        "format": VERSION,
        "Python": ".".join(platform.python_version_tuple()[:2]),
        "version": cache.version,
        "verbs": found.verbs,
        "functions": {**contents.pieces, "package penstock": version_of("penstock")},
        "files": input_files(nodes, contents.paths, asks=cache.version is None),
        "seed": str(seed) if found.draws or contents.draws else None,
    }
    text = json.dumps({**told, "verbs": [verb[:2] for verb in found.verbs]}, sort_keys=True)
    key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
    told["places"] = contents.places

    def has_changed() -> str | None:
        return "; ".join(file_changes(told["files"], input_files(nodes, paths, asks=asks))) or None

    paths, asks = list(contents.paths), cache.version is None
    return Content(key, owner, told), has_changed


def difference(before: Any, now: Any) -> str:
    """What became of the content that was told as `before`: "shuffle at train.py:12: buffer_size 1000 became 5000"."""
    if not isinstance(before, dict) or not isinstance(before.get("functions"), dict):
        return "it holds other elements"
    changes: list[str] = []
    plain = [name for name in ("format", "Python", "version", "seed") if before.get(name) != now[name]]
    changes += [f"{name} {before.get(name)} became {now[name]}" for name in plain]
    changes += _verb_changes(before.get("verbs", []), now["verbs"])
    changes += _piece_changes(before["functions"], now["functions"], now["places"])
    changes += file_changes(before.get("files", {}), now["files"])
    return "; ".join(changes) or "it holds other elements"


def _told(root: Node) -> Iterator[Node]:
    return (node for node in nodes_of(root) if not isinstance(node, Prefetch | WithOptions))


def _verb(node: Node, contents: Contents, found: _Description, cache: FileCache) -> list[Any]:
    """[name, parameters as text, label] of a node."""
    said = {key: repr(value) for key, value in node.parameters().items()}
    said["place in the graph"] = str(node.number)
    said.pop("counts", None)  # of what is in files: found out only where a plan needs it
    if getattr(node, "seed", 0) is None and (not isinstance(node, Map) or node.takes_rng):
        found.draws = True
    if isinstance(node, FormatRows | FormatStream) and cache.version is None:
        said["of"] = _fingerprint(node, cache)
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


def _fingerprint(node: FormatRows | FormatStream, cache: FileCache) -> str:
    """Of what is read by a library from no file that we know (Hugging Face datasets): its own word for the content."""
    source: Any = node.store if isinstance(node, FormatRows) else node.stream
    if source.files:
        return "files"
    found = getattr(getattr(source, "table", None), "_fingerprint", None)
    if not isinstance(found, str):
        raise InvalidArgumentError(
            f"{cache.label}: nobody can tell whether it is still the same: what {node.label} reads has no fingerprint",
            remedy='say a version, and another one when it changes: cache(directory, version="v1")',
        )
    return found


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


def _text_of_dataset(dataset: Any, contents: Contents, found: _Description, cache: FileCache) -> str:
    """A dataset that a function captures."""
    nodes = list(_told(dataset._node))
    found.captured += nodes
    return digest(json.dumps([_verb(node, contents, found, cache)[:2] for node in nodes]).encode())


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


def store_of(cache: FileCache) -> FileStore:
    """What belongs to the verb."""
    assert isinstance(cache.store, FileStore)
    return cache.store
