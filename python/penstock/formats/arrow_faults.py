"""What pyarrow raises, told with the name of the file."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.errors import DecodeError, PenstockError
from penstock.formats.arrow_leaves import EXTRA
from penstock.formats.extras import library
from penstock.formats.files import LocalFile, unreadable


def told(kind: str, file: LocalFile, read: Callable[..., Any], *args: Any, part: str = "") -> Any:
    """What `read(*args)` gives of a file, or of a `part` of it.

    Raises: ReadError: of the system; DecodeError: it is no file of that kind.
    """
    pa = library("pyarrow", EXTRA)
    try:
        return read(*args)
    except PenstockError:
        raise
    except (pa.ArrowException, OSError, EOFError, ValueError, KeyError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise unreadable(file.path, error) from error
        lines = str(error).strip().splitlines() or [type(error).__name__]
        raise DecodeError(
            f"not readable as {kind}", got=lines[0][:200], where=f"{file.path}{part}",
            remedy="the file is damaged, or of another kind: copy or write it anew",
        ) from error  # fmt: skip
