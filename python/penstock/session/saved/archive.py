"""The container: a zip of one JSON document, arrays as .npy, and pickled functions, which are read only when allowed.

Values outside JSON are written as {"kind": ...}. What may be named is listed here: a document cannot ask for a class
or a function that is not.
"""

from __future__ import annotations

import builtins
import io
import json
import zipfile
import zlib
from base64 import b64decode, b64encode
from collections import namedtuple
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from enum import IntEnum
from typing import Any

import cloudpickle
import ml_dtypes  # noqa: F401  # makes bfloat16 a name that NumPy knows
import numpy as np

from penstock.block.columns import ArrayColumn, BytesColumn, RaggedColumn, RowsColumn, object_array
from penstock.block.padding import Dims
from penstock.block.ragged import Ragged
from penstock.block.spec import DatasetSpec, RaggedSpec, Spec
from penstock.block.tree import Structure
from penstock.errors import InvalidArgumentError, Location, UnsupportedValueError
from penstock.formats.array_record import ArrayRecordStore
from penstock.formats.arrow_ipc import ArrowStore
from penstock.formats.arrow_leaves import ArrowLeaf
from penstock.formats.csv_rows import CsvColumn, CsvForm
from penstock.formats.files import LocalFile, RemoteFile
from penstock.formats.json_lines import JsonStream
from penstock.formats.json_rows import JsonForm
from penstock.formats.parquet import ParquetStore, RowGroups
from penstock.formats.records import RecordLayout
from penstock.formats.tar_samples import TarStream
from penstock.graph.node import Signature
from penstock.ops.program import Draw, Program, Ref, Step
from penstock.ops.registry import DATA
from penstock.ops.vocabulary import Vocabulary
from penstock.options import AutotuneOptions, DistributeOptions, Options, RemoteOptions, Retry, ThreadingOptions
from penstock.trace.programmed import ProgramFunction
from penstock.tuned import FrozenTuning, StageTuning

VERSION = 1
_DOCUMENT = "penstock.json"
_BUILTINS: dict[str, type] = {kind.__name__: kind for kind in (bool, int, float, complex, str, bytes)} | {
    name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, Exception)
}
_RECORDS: dict[str, type[Any]] = {
    kind.__name__: kind
    for kind in (
        ArrayColumn, ArrayRecordStore, ArrowLeaf, ArrowStore, AutotuneOptions, BytesColumn, CsvColumn, CsvForm,
        DatasetSpec, Dims, DistributeOptions, FrozenTuning, JsonForm, JsonStream, LocalFile, Location, Options,
        ParquetStore, Program, ProgramFunction, Ragged, RaggedColumn, RaggedSpec, RecordLayout, Ref, RemoteFile,
        RemoteOptions, Retry, RowGroups, RowsColumn, Signature, Spec, StageTuning, Step, TarStream, ThreadingOptions,
        Vocabulary, *DATA,
    )
}  # fmt: skip


class Writer:
    """Encodes values, and keeps beside them the arrays and the code that they hold."""

    def __init__(self) -> None:
        self.arrays: list[np.ndarray[Any, Any]] = []
        self.code: list[tuple[str, bytes]] = []

    def encode(self, value: Any) -> Any:
        """`value` as JSON. Raises: UnsupportedValueError: of a type that is no data."""
        if isinstance(value, IntEnum):
            return int(value)
        if value is None or isinstance(value, bool | str) or type(value) in (int, float):
            return value
        encoded = self._containers(value)
        if encoded is None:
            encoded = self._scalars(value)
        if encoded is None:
            encoded = self._record(value)
        if encoded is None:
            raise UnsupportedValueError("cannot be saved as data", got=f"{type(value).__qualname__}: {value!r:.80}")
        return encoded

    def _containers(self, value: Any) -> Any:
        if isinstance(value, Draw):
            return {"kind": "Draw", "values": list(value)}
        if isinstance(value, Structure):
            kind = None if value.kind is None else value.kind.__name__
            parts = [self.encode(part) for part in value.children]
            return {"kind": "structure", "of": kind, "keys": self.encode(list(value.keys)), "parts": parts}
        if isinstance(value, tuple | list | frozenset):
            name = next(kind.__name__ for kind in (tuple, list, frozenset) if isinstance(value, kind))
            in_order = sorted(value) if isinstance(value, frozenset) else value
            return {"kind": name, "values": [self.encode(part) for part in in_order]}
        if isinstance(value, dict):
            return {"kind": "dict", "values": [[self.encode(k), self.encode(v)] for k, v in value.items()]}
        if isinstance(value, slice):
            return {"kind": "slice", "values": [self.encode(part) for part in (value.start, value.stop, value.step)]}
        return None

    def _scalars(self, value: Any) -> Any:
        if value is Ellipsis:
            return {"kind": "ellipsis"}
        if isinstance(value, bytes):
            return {"kind": "bytes", "value": b64encode(value).decode()}
        if isinstance(value, complex):
            return {"kind": "complex", "values": [value.real, value.imag]}
        if isinstance(value, np.ndarray) and value.dtype.hasobject:
            return {"kind": "objects", "shape": list(value.shape), "values": list(map(self.encode, value.ravel()))}
        if isinstance(value, np.ndarray | np.generic):
            self.arrays.append(np.asarray(value))
            place = {"number": len(self.arrays) - 1, "dtype": _name_of(value.dtype), "shape": list(value.shape)}
            return {"kind": "array", "scalar": isinstance(value, np.generic), **place}
        if isinstance(value, np.dtype):
            return {"kind": "dtype", "name": _name_of(value)}
        if isinstance(value, type) and issubclass(value, np.generic):
            return {"kind": "type", "name": np.dtype(value).name}
        if isinstance(value, type) and _BUILTINS.get(value.__name__) is value:
            return {"kind": "builtin", "name": value.__name__}
        return None

    def _record(self, value: Any) -> Any:
        name = type(value).__name__
        if _RECORDS.get(name) is not type(value) or not is_dataclass(value):
            return None
        return {"kind": name, "fields": {f.name: self.encode(getattr(value, f.name)) for f in fields(value) if f.init}}

    def add_code(self, label: str, function: Callable[..., Any]) -> dict[str, Any]:
        """A function that is no program: its code, for who trusts it. Raises: UnsupportedValueError: not picklable."""
        try:
            self.code.append((label, cloudpickle.dumps(function)))
        except Exception as error:
            raise UnsupportedValueError(
                "its function can be saved neither as a program nor as code", got=f"{type(error).__name__}: {error}",
                where=label,
            ) from error  # fmt: skip
        return {"kind": "code", "number": len(self.code) - 1}

    def to_bytes(self, holds: str, document: Any) -> bytes:
        """All of it."""
        header = {"format": "penstock", "version": VERSION, "holds": holds, "code": [label for label, _ in self.code]}
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in self._members(header | {"document": document}):
                archive.writestr(zipfile.ZipInfo(name), content)  # no time of day: equal pipelines give equal bytes
        return buffer.getvalue()

    def _members(self, document: Any) -> list[tuple[str, bytes]]:
        members = [(_DOCUMENT, json.dumps(document).encode())]
        for number, array in enumerate(self.arrays):
            content = io.BytesIO()
            np.save(content, np.frombuffer(array.tobytes(), np.uint8), allow_pickle=False)
            members.append((f"arrays/{number}.npy", content.getvalue()))
        return members + [(f"code/{number}", content) for number, (_, content) in enumerate(self.code)]


_NO_ARCHIVE = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError)
"""What zipfile raises of bytes from anywhere; NotImplementedError, of packing it does not know, is a RuntimeError."""


class Reader:
    """Decodes what a `Writer` wrote. Nothing of it runs code, but for functions where `allow_code` says so."""

    def __init__(self, data: bytes, holds: str, allow_code: bool) -> None:
        """Raises: InvalidArgumentError: no such document, another version, or code that is not allowed."""
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(data))
            header = json.loads(self._archive.read(_DOCUMENT))
            is_ours = header["format"] == "penstock" and isinstance(header["code"], list)
        except (*_NO_ARCHIVE, KeyError, ValueError, TypeError) as error:
            raise InvalidArgumentError(f"not a saved {holds}", got=f"{len(data)} bytes ({error})") from error
        if not is_ours or header["holds"] != holds:
            raise InvalidArgumentError(f"not a saved {holds}", got=str(header.get("holds")))
        if header["version"] != VERSION:
            raise InvalidArgumentError(
                f"a {holds} saved in another version of the format", got=header["version"], expected=VERSION
            )
        if header["code"] and not allow_code:
            raise InvalidArgumentError(
                f"this {holds} holds code that would run on this machine", got=", ".join(header["code"]),
                remedy="allow_code=True, if you trust where it comes from; functions that compile are saved as data",
            )  # fmt: skip
        self.document = header["document"]

    def decode(self, value: Any) -> Any:
        """The value. Raises: InvalidArgumentError: not written by a `Writer`."""
        if not isinstance(value, dict):
            return value
        kind = value.get("kind")
        if kind in _RECORDS and "fields" in value:
            parts = {name: self.decode(part) for name, part in value["fields"].items()}
            return _RECORDS[kind](**parts)
        decode = _DECODERS.get(str(kind))
        if decode is None:
            raise InvalidArgumentError("not a saved value", got=repr(value)[:80])
        return decode(self, value)

    def structure(self, value: dict[str, Any]) -> Structure:
        children = tuple(map(self.decode, value["parts"]))
        keys, of = tuple(self.decode(value["keys"])), value["of"]
        if of is None:
            return Structure()
        kind: Any = {"tuple": tuple, "dict": dict}.get(of) or namedtuple(of, keys)  # made from data
        return Structure(kind, keys, children, sum(child.leaf_count for child in children))

    def array(self, value: dict[str, Any]) -> Any:
        plain = np.load(io.BytesIO(self._archive.read(f"arrays/{value['number']}.npy")), allow_pickle=False)
        array = np.frombuffer(plain.tobytes(), np.dtype(value["dtype"])).reshape(value["shape"])  # read-only
        return array[()] if value["scalar"] else array

    def code(self, value: dict[str, Any]) -> Any:
        return cloudpickle.loads(self._archive.read(f"code/{value['number']}"))  # allowed: see __init__

    def values(self, value: dict[str, Any]) -> list[Any]:
        return [self.decode(part) for part in value["values"]]


def _name_of(dtype: np.dtype[Any]) -> str:
    if dtype.kind in "SU":
        return dtype.str if dtype.itemsize else dtype.kind
    return dtype.name if dtype.kind == "V" else dtype.str


_DECODERS: dict[str, Callable[[Reader, dict[str, Any]], Any]] = {
    "Draw": lambda reader, value: Draw(*value["values"]),
    "structure": Reader.structure,
    "tuple": lambda reader, value: tuple(reader.values(value)),
    "list": Reader.values,
    "frozenset": lambda reader, value: frozenset(reader.values(value)),
    "dict": lambda reader, value: {reader.decode(k): reader.decode(v) for k, v in value["values"]},
    "slice": lambda reader, value: slice(*reader.values(value)),
    "ellipsis": lambda reader, value: Ellipsis,
    "bytes": lambda reader, value: b64decode(value["value"]),
    "complex": lambda reader, value: complex(*value["values"]),
    "objects": lambda reader, value: object_array(reader.values(value)).reshape(value["shape"]),
    "array": Reader.array,
    "dtype": lambda reader, value: np.dtype(value["name"]),
    "type": lambda reader, value: np.dtype(value["name"]).type,
    "builtin": lambda reader, value: _BUILTINS[value["name"]],
    "code": Reader.code,
}
