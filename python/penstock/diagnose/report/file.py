"""Files of a report: whole or not at all, and a clear error where a path cannot be written."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from penstock.errors import WriteError


def write_whole(what: str, path: str | os.PathLike[str], data: bytes) -> Path:
    """Write `data` beside `path`, then put it in its place; the path.

    Raises: WriteError: says `what` and why not; nothing half written stays.
    """
    path = Path(path)
    part = path.with_name(f".{path.name}.part-{os.getpid()}")
    try:
        part.write_bytes(data)
        part.replace(path)
    except OSError as error:
        with suppress(OSError):  # no such folder, or not a folder: then nothing was written
            part.unlink(missing_ok=True)
        raise WriteError(
            f"{what}: cannot be written", got=error.strerror or str(error), expected="a file that can be written",
            where=str(path), remedy="name another path",
        ) from error  # fmt: skip
    return path
