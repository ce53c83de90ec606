"""Which line of the user's own code stands behind a call: not of Python, not of a package, not of Penstock."""

from __future__ import annotations

import os
import sys
import sysconfig
from types import CodeType, FrameType

from penstock.errors import Location

_PENSTOCK = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_PACKAGES = (os.sep + "site-packages" + os.sep, os.sep + "dist-packages" + os.sep)
_LIBRARIES = tuple(
    os.path.abspath(path) + os.sep for path in {sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")} if path
)


def is_users(code: CodeType) -> bool:
    """Whether the user wrote it."""
    file = code.co_filename
    return not (
        file.startswith(("<", _PENSTOCK))
        or file.startswith(_LIBRARIES)
        or any(part in file for part in _PACKAGES)
        or "__autograph_generated_file" in file
    )


def user_frame(frame: FrameType | None) -> FrameType | None:
    """The innermost frame of the user's code at or above `frame`."""
    while frame is not None and not is_users(frame.f_code):
        frame = frame.f_back
    return frame


def user_place() -> str:
    """`train.py:12`, the user's line that led here; "" where there is none. Cost: a few frames walked."""
    frame = user_frame(sys._getframe(1))
    return "" if frame is None else str(Location(frame.f_code.co_filename, frame.f_lineno))


def place_of(code: CodeType) -> str:
    """`train.py:12`, where a function begins."""
    return str(Location(code.co_filename, code.co_firstlineno))


def label_of(function: object, name: str = "") -> str:
    """`load at train.py:12` for a Python function, its name for another."""
    code = getattr(function, "__code__", None)
    shown = name or getattr(function, "__qualname__", type(function).__name__).replace(".<locals>", "")
    return f"{shown} at {place_of(code)}" if isinstance(code, CodeType) else shown
