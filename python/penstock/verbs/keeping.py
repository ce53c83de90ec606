"""Verbs that keep elements, or say how the pipeline runs: cache, snapshot, save, load, prefetch, with_options."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Self

from penstock.block.spec import render_spec
from penstock.engine.cache import CacheStore
from penstock.engine.file_cache import FileStore
from penstock.errors import InvalidArgumentError, Location, PenstockError, StructureError, user_location
from penstock.formats.stored.data import open_stored
from penstock.graph.nodes import Cache, FileCache, Loaded, Prefetch, WithOptions
from penstock.options import AUTOTUNE, Options, require_integer
from penstock.session import save_to
from penstock.verbs.base import Verbs, require_end, require_signature


class KeepingVerbs(Verbs):
    """What is kept, and ahead of time."""

    def cache(self, directory: str | os.PathLike[str] = "", version: str | None = None) -> Self:
        """Keep what came out the first time: in memory, for as long as this dataset lives; or in `directory`.

        Put it before shuffle and random augmentation: what is below is frozen as it was in the first pass. Over its
        budget (`Options.cache_budget`) a cache in memory of an index-driven input keeps what came first and says so
        once; a stream is then not kept at all.

        In a directory it is used again by later runs, and is never stale: it is made anew, and what changed is said,
        when a verb, a parameter, the code of a function, what it captures, an input file or the version of a package
        has changed. `version`: your word for what functions and arrays in memory are, which are then not looked into;
        needed where they hold what nobody can compare. Files that functions open by themselves are not seen. One cache
        to a directory. Complete, it is read by number, from mapped files: `ds[i]`, a shuffle of all.
        Raises: UnknownLengthError: the dataset never ends. InvalidArgumentError, while iterating: something cannot be
        compared, and no version is said; WriteError: the disk is full, or the directory cannot be written to.
        """
        where = user_location()
        require_end("cache", self._node, where)
        if version is not None and not isinstance(version, str):
            raise InvalidArgumentError("cache: version", got=repr(version), expected="a str", where=where)
        path = require_path("cache", "directory", directory, where)
        if not path:
            return self._of(Cache(inputs=(self._node,), location=where, store=CacheStore()))
        node = FileCache(inputs=(self._node,), location=where, store=FileStore(), directory=path, version=version)
        return self._of(node)

    def snapshot(
        self,
        path: str | os.PathLike[str],
        compression: str | None = "AUTO",
        reader_func: None = None,
        shard_func: None = None,
    ) -> Self:
        """As `cache(path)`, but that `path` holds the elements of each pipeline that was ever run with it.

        So two versions of a pipeline take turns without either being made anew; old ones are yours to remove.
        compression: "AUTO" or None: elements are mapped into memory as they are. reader_func, shard_func: None;
        elements are had by number, so `shuffle` and `shard` above do what these are for.
        Raises: as `cache`.
        """
        where = user_location()
        require_end("snapshot", self._node, where)
        _require_plain("snapshot", compression, where)
        _require_none("snapshot", {"reader_func": reader_func, "shard_func": shard_func}, where)
        directory = require_path("snapshot", "path", path, where, optional=False)
        node = FileCache(inputs=(self._node,), location=where, store=FileStore(), directory=directory, keeps_all=True)
        return self._of(node)

    def save(
        self,
        path: str | os.PathLike[str],
        compression: str | None = None,
        shard_func: None = None,
        checkpoint_args: None = None,
    ) -> None:
        """Run epoch 0 into the directory `path`, which `load` reads: all of it, or, where it fails, nothing.

        What was saved there before is replaced once all is written. compression: None; the others: None, as an
        interrupted save begins again.
        Raises: UnknownLengthError: the dataset never ends; WriteError: it cannot be written; what the pipeline raises.
        """
        where = user_location()
        require_end("save", self._node, where)
        _require_plain("save", compression, where)
        _require_none("save", {"shard_func": shard_func, "checkpoint_args": checkpoint_args}, where)
        save_to(self._node, require_path("save", "path", path, where, optional=False))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        element_spec: Any = None,
        compression: str | None = None,
        reader_func: None = None,
    ) -> Self:
        """The elements that `save`, `cache` or `snapshot` wrote to `path`, in order: by number, from mapped files.

        Nothing of the pipeline they came from is needed. element_spec: checked, where given. Sizes and headers are
        checked when it is opened; `penstock inspect --verify` reads every byte.
        Raises: ReadError: nothing is there; DecodeError: it is damaged, or of a later version; StructureError: other
        elements than `element_spec` says.
        """
        where = user_location()
        _require_plain("load", compression, where)
        _require_none("load", {"reader_func": reader_func}, where)
        try:
            data = open_stored(Path(require_path("load", "path", path, where, optional=False)))
        except PenstockError as error:
            raise error.at(f"load at {where}") from error.__cause__
        node = Loaded(location=where, data=data)
        found = node.signature()
        if element_spec is not None and found is not None:
            said = require_signature("load", element_spec, where)
            fits = said.structure == found.structure and all(
                one.is_compatible_with(other) for one, other in zip(said.specs, found.specs, strict=True)
            )
            if not fits:
                raise StructureError(
                    "load: other elements",
                    got=render_spec(found.tree()),
                    expected=render_spec(said.tree()),
                    where=where,
                )
        return cls._of(node)

    def prefetch(self, buffer_size: int = AUTOTUNE) -> Self:
        """Have up to `buffer_size` elements ready before they are asked for; AUTOTUNE means two.

        At the end of a pipeline it says how far ahead to run; inside one it changes nothing: stages run ahead anyway.
        """
        where = user_location()
        size = require_integer("prefetch", "buffer_size", buffer_size, minimum=-1, where=where)
        return self._of(Prefetch(inputs=(self._node,), location=where, buffer_size=AUTOTUNE if size is None else size))

    def with_options(self, options: Options) -> Self:
        """The same elements, run under these options; fields said later win."""
        where = user_location()
        if not isinstance(options, Options):
            raise InvalidArgumentError("with_options", got=repr(options), expected="penstock.Options(...)", where=where)
        return self._of(WithOptions(inputs=(self._node,), location=where, options=options))


def require_path(verb: str, name: str, value: Any, where: Location, *, optional: bool = True) -> str:
    """A path as text; "" where `optional`. Raises: InvalidArgumentError: it is none."""
    if not isinstance(value, str | os.PathLike) or not (optional or os.fspath(value)):
        raise InvalidArgumentError(f"{verb}: {name}", got=repr(value), expected="a path", where=where)
    return os.fsdecode(value)


def _require_plain(verb: str, compression: Any, where: Location) -> None:
    if compression not in (None, "", "AUTO", "NONE"):
        raise InvalidArgumentError(
            f"{verb}: compression", got=repr(compression), expected="None", where=where,
            remedy="elements are mapped into memory, and had by number, as they are on the disk",
        )  # fmt: skip


def _require_none(verb: str, arguments: dict[str, Any], where: Location) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgumentError(
                f"{verb}: {name}", got=repr(value), expected="None", where=where,
                remedy="docs/reference/differences-from-tf-data.md says what to do instead",
            )  # fmt: skip
