"""Datasets over files under tf.data's names: TextLineDataset, TFRecordDataset, FixedLengthRecordDataset, CsvDataset.

Names may be URLs: what lies behind them is streamed, and is not read by number.
Files are measured when the dataset is made, so one that is missing is told with the user's line; they are read as
elements are asked for, and may be larger than memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from penstock.block.spec import BYTES, STR, Spec
from penstock.dataset import Dataset
from penstock.errors import InvalidArgumentError, Location, PenstockError, user_location
from penstock.formats.csv_rows import CsvColumn, CsvForm
from penstock.formats.files import LocalFile, RemoteFile, measured_all
from penstock.formats.lines import require_encoding
from penstock.formats.records import RecordLayout
from penstock.graph.node import Node, SignatureMemo
from penstock.graph.nodes import CsvRows, FlatMap, Interleave, Lines, PackedRecords, RecordFiles, TFRecords
from penstock.options import AUTOTUNE, require_integer
from penstock.verbs.base import require_compression, require_parallelism
from penstock.verbs.nested import DEFAULT_CYCLE_LENGTH, node_of

Filenames = str | os.PathLike[str] | Sequence[str | os.PathLike[str]] | Dataset


def TextLineDataset(  # noqa: N802  # tf.data's name, a class there
    filenames: Filenames,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    *,
    encoding: str | None = None,
) -> Dataset:
    r"""The lines of text files, one file after another, without their "\n" or "\r\n": bytes, as in tf.data.

    `encoding="utf-8"`: text instead, and an error with file, line and byte where it is not. `filenames`: a path, a list
    of paths, or a dataset of them. `compression_type`: "GZIP" or "ZLIB". `buffer_size`: bytes read at once.
    `num_parallel_reads`: so many files at a time, a line of each in turn.
    Raises: ReadError: a file is missing, or cannot be read; DecodeError: cut short, or not in that encoding.
    """
    where = user_location()
    verb = "TextLineDataset"
    said: dict[str, Any] = {
        "compression": require_compression(verb, compression_type, where),
        "buffer_bytes": require_integer(verb, "buffer_size", buffer_size, minimum=0, optional=True, where=where),
        "encoding": require_encoding(verb, encoding, where),
    }
    return _reading(
        verb, filenames, num_parallel_reads, where, lambda files: Lines(location=where, files=files, **said)
    )


def TFRecordDataset(  # noqa: N802  # tf.data's name, a class there
    filenames: Filenames,
    compression_type: str | None = None,
    buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    *,
    index: str | os.PathLike[str] | Literal[False] | None = None,
    verify: bool = True,
    on_error: Literal["raise", "skip"] = "raise",
) -> Dataset:
    """The records of TFRecord files, one file after another: bytes, as TensorFlow writes and reads them.

    Where a plan needs records by number (a shuffle, a slice, a shard, `ds[i]`), an index of files that are not packed
    is built first, and kept: in the folder `index`, or in the user's cache folder, of files above 16 MB. It says where
    each record lies, and is built anew when the file has changed. `index=False`: records are only streamed.
    `verify=False`: checksums of data are not compared; those of lengths always are.
    `on_error="skip"`: records that are damaged are left out and listed in `iterator.skipped`, with the rest of a file
    that is cut short or whose next length is wrong; such a dataset streams.
    `filenames`, `num_parallel_reads`: as for TextLineDataset. `buffer_size`: bytes read at once.
    Raises: ReadError: a file is missing, or cannot be read; DecodeError: a record is damaged, with file and byte.
    Cost: records stay in one buffer a block until they are looked at (block.columns.PackedColumn).
    """
    where = user_location()
    verb = "TFRecordDataset"
    if not (index is None or index is False or isinstance(index, str | os.PathLike)):
        raise InvalidArgumentError(f"{verb}: index", got=repr(index), expected="None, False or a folder", where=where)
    said: dict[str, Any] = {
        "compression": require_compression(verb, compression_type, where),
        "buffer_bytes": require_integer(verb, "buffer_size", buffer_size, minimum=0, optional=True, where=where),
        "verify": bool(verify),
        "may_index": index is not False,
        "index_folder": os.fspath(index) if index else None,
        "on_error": _on_error(verb, on_error, where),
    }
    return _reading(
        verb, filenames, num_parallel_reads, where, lambda files: TFRecords(location=where, files=files, **said)
    )


def FixedLengthRecordDataset(  # noqa: N802, PLR0917  # tf.data's name, a class there, and its arguments
    filenames: Filenames,
    record_bytes: int,
    header_bytes: int | None = None,
    footer_bytes: int | None = None,
    buffer_size: int | None = None,
    compression_type: str | None = None,
    num_parallel_reads: int | None = None,
) -> Dataset:
    """Records of `record_bytes` bytes from between a header and a footer of each file, one file after another: bytes.

    A list of files that are not compressed is driven by indices: `len`, `ds[i]`, a shuffle of all, resuming.
    `filenames`, `num_parallel_reads`: as for TextLineDataset.
    Raises: ReadError: a file is missing; DecodeError: its size is no multiple of the record's.
    """
    where = user_location()
    verb = "FixedLengthRecordDataset"
    layout = RecordLayout(
        require_integer(verb, "record_bytes", record_bytes, minimum=1, where=where) or 1,
        require_integer(verb, "header_bytes", header_bytes, minimum=0, optional=True, where=where) or 0,
        require_integer(verb, "footer_bytes", footer_bytes, minimum=0, optional=True, where=where) or 0,
    )
    compression = require_compression(verb, compression_type, where)
    buffer = require_integer(verb, "buffer_size", buffer_size, minimum=0, optional=True, where=where)

    def make(files: tuple[LocalFile, ...]) -> Node:
        if compression or any(
            isinstance(file, RemoteFile) for file in files
        ):  # a round trip for each record costs more
            return PackedRecords(
                location=where, files=files, compression=compression, buffer_bytes=buffer, layout=layout
            )
        return RecordFiles(location=where, files=files, layout=layout, counts=tuple(map(layout.count, files)))

    return _reading(verb, filenames, num_parallel_reads, where, make)


def CsvDataset(  # noqa: N802, PLR0917  # tf.data's name, a class there, and its arguments
    filenames: Filenames,
    record_defaults: Sequence[Any],
    compression_type: str | None = None,
    buffer_size: int | None = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    exclude_cols: Sequence[int] | None = None,
    *,
    on_error: Literal["raise", "skip"] = "raise",
) -> Dataset:
    """The rows of CSV files as tuples of typed fields.

    `record_defaults`: for each column its dtype (a value must be there), or its default: a value, or a list of one.
    `bytes` and `str` are dtypes too. `header`: the first row of each file is left out. `na_value`: stands for an empty
    field. `select_cols`: columns that are wanted, ascending; `exclude_cols`: those that are not.
    `on_error="skip"`: bad rows are dropped and listed in `iterator.skipped`; else the first one raises.
    Raises: ReadError: a file is missing; DecodeError: a bad row, with file, line, what was got and expected.
    """
    where = user_location()
    verb = "CsvDataset"
    count = len(record_defaults) if isinstance(record_defaults, list | tuple) else 0
    if not count:
        raise InvalidArgumentError(
            f"{verb}: record_defaults", got=repr(record_defaults), expected="a list, of one dtype or default a column",
            where=where,
        )  # fmt: skip
    if len(str(field_delim)) != 1 or str(field_delim) in '"\r\n':
        raise InvalidArgumentError(f"{verb}: field_delim", got=repr(field_delim), expected="one character", where=where)
    places, width = _places(count, select_cols, exclude_cols, where)
    columns = tuple(_csv_column(place, said, where) for place, said in zip(places, record_defaults, strict=True))
    said: dict[str, Any] = {
        "compression": require_compression(verb, compression_type, where),
        "buffer_bytes": require_integer(verb, "buffer_size", buffer_size, minimum=0, optional=True, where=where),
        "form": CsvForm(columns, width, bool(header), field_delim, bool(use_quote_delim), na_value),
        "on_error": _on_error(verb, on_error, where),
    }
    return _reading(verb, filenames, None, where, lambda files: CsvRows(location=where, files=files, **said))


def _reading(
    verb: str, filenames: Any, reads: int | None, where: Location, make: Callable[[tuple[LocalFile, ...]], Node]
) -> Dataset:
    """The dataset that `make` makes of files.

    Where their names are a dataset, or several are read at a time, it is as in tf.data: a flat_map, or an interleave.
    """
    parallel = require_parallelism(verb, reads, where, name="num_parallel_reads")
    files: tuple[LocalFile, ...] = ()
    if isinstance(filenames, Dataset):
        names = filenames
    else:
        files = _files(verb, filenames, where)
        if parallel is None or not files:
            try:
                return Dataset._of(make(files))
            except PenstockError as error:
                raise error.at(f"{verb} at {where}") from None
        names = Dataset.from_tensor_slices([file.source for file in files])

    def read_one(name: Any) -> Dataset:
        return Dataset._of(make(_files(verb, name, where)))

    none = make(())
    said: dict[str, Any] = {
        "inputs": (names._node,),
        "location": where,
        "function": read_one,
        "node_of": node_of,
        "memo": SignatureMemo(none.signature()),
    }
    if parallel is None:
        return Dataset._of(FlatMap(**said))
    cycle = DEFAULT_CYCLE_LENGTH if parallel == AUTOTUNE else parallel
    by_number = replace(none, files=files, cycle_length=cycle) if files and isinstance(none, TFRecords) else None
    return Dataset._of(
        Interleave(**said, cycle_length=cycle, block_length=1, num_parallel_calls=parallel, by_number=by_number)
    )


def _files(verb: str, filenames: Any, where: Location) -> tuple[LocalFile, ...]:
    names = [filenames] if isinstance(filenames, str | bytes | os.PathLike) else filenames
    names = list(names) if isinstance(names, Iterable) else [None]
    if not all(isinstance(name, str | bytes | os.PathLike) for name in names):
        raise InvalidArgumentError(
            f"{verb}: filenames", got=repr(filenames), expected="a path, a list of paths, or a dataset of them",
            where=where,
        )  # fmt: skip
    try:
        return tuple(measured_all([os.fsdecode(name) for name in names]))
    except PenstockError as error:
        raise error.at(f"{verb} at {where}") from error.__cause__


def _on_error(verb: str, value: Any, where: Location) -> Any:
    if value in ("raise", "skip"):
        return value
    raise InvalidArgumentError(f"{verb}: on_error", got=repr(value), expected='"raise" or "skip"', where=where)


def _places(
    count: int, select: Sequence[int] | None, exclude: Sequence[int] | None, where: Location
) -> tuple[list[int], int | None]:
    """The column of each default, and the fields of a row (None: only that there are enough)."""
    if select is not None and exclude is not None:
        raise InvalidArgumentError("CsvDataset: select_cols and exclude_cols", expected="one of them", where=where)
    for name, columns in (("select_cols", select), ("exclude_cols", exclude)):
        for column in () if columns is None else columns:
            require_integer("CsvDataset", name, column, minimum=0, where=where)
        if columns is not None and list(columns) != sorted(set(columns)):
            raise InvalidArgumentError(f"CsvDataset: {name}", got=list(columns), expected="ascending", where=where)
    if select is not None:
        if len(select) != count:
            expected = f"{count}, one a default"
            raise InvalidArgumentError("CsvDataset: select_cols", got=len(select), expected=expected, where=where)
        return list(select), None
    unwanted = set(() if exclude is None else exclude)
    wanted = [place for place in range(count + len(unwanted)) if place not in unwanted]
    return wanted[:count], count + len(unwanted)


def _csv_column(place: int, said: Any, where: Location) -> CsvColumn:
    """A dtype, or a default: a scalar, or a list, array or tensor of one."""
    dtype: Any = said
    value: Any = None
    if isinstance(said, type):
        dtype = {int: np.int64, float: np.float64}.get(said, said)
    elif isinstance(said, bytes | str):
        dtype, value = type(said), said
    elif not isinstance(said, np.dtype) and not hasattr(said, "as_numpy_dtype"):
        array = np.asarray(said)
        if array.size != 1 or array.dtype.kind == "O":
            expected = "a dtype, a value, or a list of one"
            raise InvalidArgumentError(
                f"CsvDataset: record_defaults[{place}]", got=repr(said), expected=expected, where=where
            )
        dtype, value = array.dtype, array.reshape(-1)[0]
        if isinstance(value, np.str_ | np.bytes_):
            value = value.item()
    try:
        found = Spec((), dtype).dtype
    except PenstockError as error:
        raise error.at(f"CsvDataset at {where}, record_defaults[{place}]") from None
    if found.kind not in "iuf" and found not in (BYTES, STR):
        expected = "integers, floats, bytes or str"
        raise InvalidArgumentError(
            f"CsvDataset: record_defaults[{place}]", got=str(found), expected=expected, where=where
        )
    return CsvColumn(place, found, value)
