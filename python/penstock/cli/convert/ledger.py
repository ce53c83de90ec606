"""What a folder of shards was made of: written before the first shard, compared before the next.

Law: a shard that bears its name is complete. So all that must be kept is of what the shards are; which of them are
there, the folder says.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from penstock import __version__
from penstock.errors import InvalidArgumentError, PenstockError, ReadError, StateMismatchError, WriteError
from penstock.formats.stored.npy import unwritable

NAME = "convert.json"
PREFIX = ".converting-"
_AGAIN = "--overwrite makes it anew"


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """The folder, made if it is not there, for this process alone. Raises: WriteError: another one writes there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise unwritable(str(folder), error) from error
    try:
        try:
            import fcntl

            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise WriteError("convert: another one writes there", where=str(folder), remedy="wait for it") from None
        except (ImportError, OSError):  # a system, or a file system, without locks
            pass
        yield
    finally:
        os.close(handle)


def told(files: Sequence[str], arguments: dict[str, Any], shards: Sequence[str]) -> dict[str, Any]:
    """What to keep. Raises: ReadError: a source file is gone."""
    sources = []
    for name in files:
        try:
            facts = os.stat(name)
        except OSError as error:
            raise ReadError("cannot read the file", got=error.strerror, where=name) from error
        sources.append([os.path.abspath(name), facts.st_size, facts.st_mtime_ns])
    return {"version": __version__, "arguments": arguments, "shards": list(shards), "sources": sources}


def enter(folder: Path, now: dict[str, Any], *, overwrite: bool) -> None:
    """Make the folder one of what `now` tells, or find that it is.

    Raises: StateMismatchError: it is of something else; InvalidArgumentError: nothing that convert wrote.
    """
    before = _read(folder)
    if before is None:
        others = [entry.name for entry in folder.iterdir() if not entry.name.startswith(".")]
        if others:
            raise InvalidArgumentError(
                "convert: the folder is not empty, and no convert wrote it", got=sorted(others)[0],
                where=str(folder), remedy="name another",
            )  # fmt: skip
    elif overwrite:
        _remove(folder, [os.path.basename(name) for name in before["shards"]])  # what is written is always told
    else:
        _require_same(folder, before, now)
    _remove(folder, [entry.name for entry in folder.glob(f"{PREFIX}*")])  # of a process that was killed
    if overwrite or before is None:
        with written(folder, NAME) as path:
            path.write_text(json.dumps(now) + "\n", encoding="utf-8")


@contextmanager
def written(folder: Path, name: str) -> Iterator[Path]:
    """Where to write what will be `name`: it is there whole once this ends, or not at all. Raises: WriteError."""
    path = folder / f"{PREFIX}{name}"
    try:
        yield path
        with path.open("rb") as file:
            os.fsync(file.fileno())
        path.replace(folder / name)
    except OSError as error:
        if isinstance(error, PenstockError):
            raise
        raise unwritable(str(path), error) from error
    finally:
        path.unlink(missing_ok=True)


def _read(folder: Path) -> dict[str, Any] | None:
    path = folder / NAME
    try:
        said = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise ReadError("convert: cannot read what is kept", got=str(error), where=str(path)) from error
    wanted = {"arguments": dict, "shards": list, "sources": list}
    if not isinstance(said, dict) or not all(isinstance(said.get(key), kind) for key, kind in wanted.items()):
        raise ReadError("convert: no list of what was packed", where=str(path), remedy="name another folder")
    return said


def _require_same(folder: Path, before: dict[str, Any], now: dict[str, Any]) -> None:
    if before.get("version") != now["version"]:
        raise StateMismatchError(  # whose order of a shuffle may be another
            "convert: written by another version of penstock", got=before.get("version"), expected=now["version"],
            where=str(folder), remedy=_AGAIN,
        )  # fmt: skip
    for name, value in now["arguments"].items():
        had = before["arguments"].get(name)
        if had != value:
            raise StateMismatchError(
                f"convert: {name} is another than the shards there were made with", got=value, expected=had,
                where=str(folder), remedy=f"{_AGAIN}, or name another folder",
            )  # fmt: skip
    if before["sources"] == now["sources"]:
        return
    old, new = ({entry[0]: tuple(entry[1:]) for entry in said["sources"]} for said in (before, now))
    changed = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    first = changed[0] if changed else "their order"
    what = "gone" if first not in new else "new" if first not in old else "another size or time of change"
    raise StateMismatchError(
        f"convert: the source has changed since: {first}: {what}", got=f"{len(changed)} files that differ",
        where=str(folder), remedy=_AGAIN,
    )  # fmt: skip


def _remove(folder: Path, names: Sequence[str]) -> None:
    try:
        for name in names:
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise unwritable(str(folder), error) from error
