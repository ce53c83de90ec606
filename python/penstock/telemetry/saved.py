"""Traces in files: JSON, with a version. What is unknown is refused with a clear line, never guessed."""

from __future__ import annotations

import json
import os
import types
import typing
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from penstock.errors import InvalidArgumentError, ReadError, WriteError
from penstock.telemetry.trace import Trace

VERSION = 1
FORMAT = "penstock-trace"

Record = TypeVar("Record")


def save_trace(trace: Trace, path: str | os.PathLike[str]) -> None:
    """Write `trace` whole or not at all. Raises: WriteError: the path cannot be written."""
    path = Path(path)
    part = path.with_name(f"{path.name}.part-{os.getpid()}")
    try:
        part.write_text(json.dumps({"format": FORMAT, "version": VERSION, "trace": asdict(trace)}), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise WriteError(
            "trace: cannot be written", got=error.strerror or str(error), expected="a file that can be written",
            where=str(path), remedy="name another path",
        ) from error  # fmt: skip


def load_trace(path: str | os.PathLike[str]) -> Trace:
    """The trace that `save_trace` wrote. Raises: ReadError: cut short, not a trace, or of a newer version."""
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ReadError("trace: cannot be read", got=error.strerror or str(error), where=str(path)) from error
    except ValueError as error:
        raise ReadError(
            "trace: not a whole JSON document", got=str(error), expected="a file that Penstock wrote to its end",
            where=str(path), remedy="record it again; a run that is killed leaves none",
        ) from error  # fmt: skip
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ReadError("not a trace of Penstock", expected=f'"format": "{FORMAT}"', where=str(path))
    if document.get("version") != VERSION:
        raise ReadError(
            "trace of another version", got=document.get("version"), expected=VERSION, where=str(path),
            remedy="read it with the Penstock that wrote it, or a newer one",
        )  # fmt: skip
    try:
        return read_record(Trace, document["trace"])
    except (InvalidArgumentError, KeyError) as error:
        raise ReadError("trace: damaged", got=str(error), where=str(path), remedy="record it again") from error


def read_record(kind: type[Record], value: Any) -> Record:
    """A dataclass from what `asdict` and JSON made of it. Raises: InvalidArgumentError naming the field."""
    return typing.cast(Record, _read(kind, value, kind.__name__))


def _read(kind: Any, value: Any, where: str) -> Any:
    origin, arguments = get_origin(kind), get_args(kind)
    if is_dataclass(kind) and isinstance(kind, type):
        return _read_fields(kind, value, where)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in arguments:
            return None
        inner = [one for one in arguments if one is not type(None)]
        return _read(inner[0], value, where) if len(inner) == 1 else _check(value, tuple(inner), where)
    if origin is tuple:
        _check(value, (list,), where)
        if arguments[-1] is Ellipsis:
            return tuple(_read(arguments[0], one, f"{where}[{n}]") for n, one in enumerate(value))
        if len(value) != len(arguments):
            raise InvalidArgumentError(where, got=f"{len(value)} values", expected=f"{len(arguments)}")
        return tuple(
            _read(one, part, f"{where}[{n}]") for n, (one, part) in enumerate(zip(arguments, value, strict=True))
        )
    if origin is dict:
        return {key: _read(arguments[1], part, f"{where}.{key}") for key, part in _check(value, (dict,), where).items()}
    if origin is typing.Literal:
        if value not in arguments:
            raise InvalidArgumentError(where, got=repr(value), expected=" or ".join(map(repr, arguments)))
        return value
    return _check(value, (int, float) if kind is float else (kind,), where)


def _read_fields(kind: type, value: Any, where: str) -> Any:
    hints, known = get_type_hints(kind), {field.name for field in fields(kind)}
    _check(value, (dict,), where)
    unknown = sorted(set(value) - known)
    if unknown:
        raise InvalidArgumentError(f"{where}: unknown fields", got=", ".join(unknown))
    try:
        return kind(**{name: _read(hints[name], part, f"{where}.{name}") for name, part in value.items()})
    except TypeError as error:
        raise InvalidArgumentError(f"{where}: incomplete", got=str(error)) from error


def _check(value: Any, kinds: tuple[Any, ...], where: str) -> Any:
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        names = " or ".join(kind.__name__ for kind in kinds)
        raise InvalidArgumentError(where, got=repr(value)[:80], expected=names)
    return value
