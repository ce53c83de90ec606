"""Sources over files of other formats. Footers and heads are read when a source is made, elements as asked for."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal, Self

from penstock.errors import InvalidArgumentError, Location, NoFilesError, PenstockError, user_location
from penstock.formats.files import LocalFile, measured_all, require_local
from penstock.formats.store import Store, Stream
from penstock.graph.node import SignatureMemo
from penstock.graph.nodes import FormatRows, FormatStream, Indexed
from penstock.storage.url import is_remote
from penstock.units import parse_bytes
from penstock.verbs.base import Verbs, require_compression, require_signature

Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
OnError = Literal["raise", "skip"]
_ARROW_CACHE_BYTES = 512 * 2**20
# A format is imported by the verb that reads it: most pipelines use none of them.


class FormatVerbs(Verbs):
    """Constructors of datasets over files of other formats."""

    @classmethod
    def from_parquet(
        cls,
        paths: Paths,
        columns: Sequence[str] | None = None,
        *,
        fill_null: dict[str, Any] | None = None,
        row_group_cache: int | str = "512 MiB",
        on_error: OnError = "raise",
    ) -> Self:
        """The rows of Parquet files, one file after another, as dicts of `columns` (None: all).

        Only these columns of a row group are read, when a row of it is wanted, and kept, as long as they fit into
        `row_group_cache`, until its rows were given. `shuffle` visits row groups in random order, and mixes as many as
        hold its `buffer_size` rows (None: 128 MiB). `paths`: a path, a glob pattern, or a list of them.
        `fill_null={"column": value}`: what takes the place of a null, which else is an error with column, file and row.
        `on_error="skip"`: rows that cannot be read are dropped and listed in `iterator.skipped`.
        Raises: MissingDependencyError: no pyarrow; ReadError, DecodeError: a file is missing, or no Parquet;
        InvalidArgumentError: no such column (says which there are); UnsupportedValueError: a type that is no value.
        """
        from penstock.formats.parquet import parquet_store

        where = user_location()
        said = _tabular("from_parquet", columns, fill_null, row_group_cache, where)
        return cls._stored("from_parquet", paths, lambda files: parquet_store(files, *said), on_error, where)

    @classmethod
    def from_arrow(
        cls,
        paths: Paths,
        columns: Sequence[str] | None = None,
        *,
        fill_null: dict[str, Any] | None = None,
        on_error: OnError = "raise",
    ) -> Self:
        """The rows of Arrow IPC files (Feather) or streams, as dicts of `columns` (None: all).

        The files are mapped and may be larger than memory; any row is as cheap as the next, so a shuffle is a full one.
        Compressed ones are unpacked by record batch, and shuffled as `from_parquet` shuffles row groups.
        `paths`, `fill_null`, `on_error`, errors: as `from_parquet`.
        """
        from penstock.formats.arrow_ipc import arrow_store

        where = user_location()
        said = _tabular("from_arrow", columns, fill_null, _ARROW_CACHE_BYTES, where)
        return cls._stored("from_arrow", paths, lambda files: arrow_store(files, *said), on_error, where)

    @classmethod
    def from_tar(cls, paths: Paths, fields: Sequence[str] | None = None, *, on_error: OnError = "raise") -> Self:
        """The samples of tar shards in WebDataset's convention: dicts of a "__key__" (str) and the fields' bytes.

        Consecutive files of one name but for the extension are a sample: `0001.jpg`, `0001.cls` are
        `{"__key__": "0001", "jpg": ..., "cls": ...}`. `fields`: those that are wanted, the others are passed over;
        None: those of the first sample, and all samples have the same. A file named .gz or .tgz is unpacked as it is
        read; others get an index where a plan needs one (shuffle, slices, `ds[i]`), and are then read by position.
        `on_error="skip"`: samples that lack a field, and the rest of a broken file, are dropped and listed in
        `iterator.skipped`. `paths`: as `from_parquet`.
        Raises: ReadError, DecodeError: a file is missing, or no tar; of a broken header or a member that is cut short,
        with file and offset.
        """
        from penstock.formats.tar_samples import tar_stream

        where = user_location()
        wanted = _names("from_tar", "fields", fields, where)
        return cls._streamed("from_tar", paths, lambda files: tar_stream(files, wanted), on_error, where)

    @classmethod
    def from_json_lines(
        cls,
        paths: Paths,
        *,
        output_signature: Any = None,
        compression_type: str | None = None,
        on_error: OnError = "raise",
    ) -> Self:
        """The lines of files of JSON lines, one file after another, as dicts.

        Integers are int64, other numbers float64, text str, a list an array; null is an error. `output_signature`: a
        dict of `penstock.Spec`, which also says which keys are wanted; None: as the first line has it, all keys.
        `compression_type`: "GZIP" or "ZLIB"; others get an index of their lines where a plan needs one.
        `on_error="skip"`: lines that are no element are dropped and listed in `iterator.skipped`. `paths`: as
        `from_parquet`.
        Raises: ReadError, DecodeError: with file, line and byte; StructureError: other keys than the first line's.
        """
        from penstock.formats.json_lines import json_stream
        from penstock.formats.json_rows import JsonForm

        where = user_location()
        verb = "from_json_lines"
        compression = require_compression(verb, compression_type, where)
        form = None
        if output_signature is not None:
            said = require_signature(verb, output_signature, where)
            if said.structure.kind is not dict:
                raise InvalidArgumentError(
                    f"{verb}: output_signature", got=str(said.structure), expected="a dict, as a line is an object",
                    where=where,
                )  # fmt: skip
            form = JsonForm(said.structure, said.specs, chosen=True)
        return cls._streamed(verb, paths, lambda files: json_stream(files, compression, form), on_error, where)

    @classmethod
    def from_array_record(cls, paths: Paths, *, on_error: OnError = "raise") -> Self:
        """The records of ArrayRecord files, one file after another: bytes, by the package array_record.

        Driven by indices; files written with `group_size:1` are those whose records are cheap in any order.
        `paths`, `on_error`: as `from_parquet`.
        Raises: MissingDependencyError; ReadError, DecodeError: a file is missing, or no ArrayRecord.
        """
        from penstock.formats.array_record import array_record_store

        return cls._stored("from_array_record", paths, array_record_store, on_error, user_location())

    @classmethod
    def from_hugging_face(
        cls, dataset: Any, *, fill_null: dict[str, Any] | None = None, on_error: OnError = "raise"
    ) -> Self:
        """The rows of a `datasets.Dataset` (driven by indices) or `datasets.IterableDataset` (streamed), as dicts.

        Columns are taken from its Arrow tables. Where features are decoded (images, audio) or a format is set, the
        object itself is asked for its rows, as `from_source` does. `fill_null`, `on_error`: as `from_parquet`.
        Raises: InvalidArgumentError: no such object; UnsupportedValueError: a type that is no value.
        """
        from penstock.formats.hugging_face import (
            hugging_face_store,
            hugging_face_stream,
            is_iterable_style,
            is_map_style,
            is_tabular,
        )

        where = user_location()
        verb = "from_hugging_face"
        fills = _fills(verb, fill_null, where)
        _require_on_error(verb, on_error, where)
        try:
            if is_map_style(dataset) and is_tabular(dataset):
                store = hugging_face_store(dataset, fills)
                return cls._of(FormatRows(location=where, store=store, name=verb, of=dataset, on_error=on_error))
            if is_iterable_style(dataset) and is_tabular(dataset):
                stream = hugging_face_stream(dataset, fills)
                return cls._of(FormatStream(location=where, stream=stream, name=verb, of=dataset, on_error=on_error))
        except PenstockError as error:
            raise error.at(f"{verb} at {where}") from error.__cause__
        if not is_map_style(dataset) or fills:
            got = type(dataset).__qualname__ + (" with features that are decoded" if is_iterable_style(dataset) else "")
            expected = "no fill_null, as the rows are not tables" if fills else "a datasets.Dataset or IterableDataset"
            raise InvalidArgumentError(verb, got=got, expected=expected, where=where)
        memo = SignatureMemo()
        return cls._of(
            Indexed(location=where, obj=dataset, count=len(dataset), num_parallel_calls=1, memo=memo, on_error=on_error)
        )

    @classmethod
    def _stored(
        cls, verb: str, paths: Any, make: Callable[[tuple[LocalFile, ...]], Store], on_error: Any, where: Location
    ) -> Self:
        _require_on_error(verb, on_error, where)
        files = measured_files(verb, paths, where)
        try:
            for file in files:
                require_local(file, verb)
            return cls._of(FormatRows(location=where, store=make(files), name=verb, on_error=on_error))
        except PenstockError as error:
            raise error.at(f"{verb} at {where}") from error.__cause__

    @classmethod
    def _streamed(
        cls, verb: str, paths: Any, make: Callable[[tuple[LocalFile, ...]], Stream], on_error: Any, where: Location
    ) -> Self:
        _require_on_error(verb, on_error, where)
        files = measured_files(verb, paths, where)
        try:
            return cls._of(FormatStream(location=where, stream=make(files), name=verb, on_error=on_error))
        except PenstockError as error:
            raise error.at(f"{verb} at {where}") from error.__cause__


def _require_on_error(verb: str, on_error: Any, where: Location) -> None:
    if on_error not in ("raise", "skip"):
        expected = '"raise" or "skip"'
        raise InvalidArgumentError(f"{verb}: on_error", got=repr(on_error), expected=expected, where=where)


def measured_files(verb: str, paths: Any, where: Location) -> tuple[LocalFile, ...]:
    """The files that are named, or that match, as they are now; at least one.

    Raises: InvalidArgumentError: no paths; NoFilesError: a pattern matches none; ReadError: a file cannot be read.
    """
    given = [paths] if isinstance(paths, str | os.PathLike) else paths
    names: list[Any] = list(given) if isinstance(given, Sequence) else [None]
    if not names or not all(isinstance(name, str | os.PathLike) for name in names):
        expected = "a path, a glob pattern, or a list of them"
        raise InvalidArgumentError(f"{verb}: paths", got=f"{paths!r:.80}", expected=expected, where=where)
    found: list[str] = []
    for name in map(os.fsdecode, names):
        matches = [name]
        if glob.has_magic(name) and not is_remote(name) and not os.path.exists(name):
            matches = sorted(glob.glob(name, recursive=True))
        if not matches:
            raise NoFilesError(
                f"{verb}: no file matches", got=repr(name), expected="at least one file", where=where,
                remedy=f"relative patterns start from {os.getcwd()}",
            )  # fmt: skip
        found += matches
    try:
        return tuple(measured_all(found))
    except PenstockError as error:
        raise error.at(f"{verb} at {where}") from error.__cause__


def _tabular(
    verb: str, columns: Any, fill_null: Any, cache: int | str, where: Location
) -> tuple[tuple[str, ...] | None, dict[str, Any], int]:
    """Columns that are wanted, what takes the place of nulls, bytes of what is kept."""
    try:
        kept = parse_bytes(cache)
    except PenstockError as error:
        raise error.at(f"{verb} at {where}, row_group_cache") from None
    return _names(verb, "columns", columns, where), _fills(verb, fill_null, where), kept


def _names(verb: str, argument: str, names: Any, where: Location) -> tuple[str, ...] | None:
    if names is None:
        return None
    said = [names] if isinstance(names, str) else list(names) if isinstance(names, Sequence) else [None]
    if not said or not all(isinstance(name, str) for name in said) or len(set(said)) < len(said):
        raise InvalidArgumentError(f"{verb}: {argument}", got=repr(names), expected="names, each once", where=where)
    return tuple(said)


def _fills(verb: str, fill_null: Any, where: Location) -> dict[str, Any]:
    if fill_null is not None and not isinstance(fill_null, dict):
        expected = 'a dict from column to value, {"age": 0}'
        raise InvalidArgumentError(f"{verb}: fill_null", got=repr(fill_null), expected=expected, where=where)
    return fill_null or {}
