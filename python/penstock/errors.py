"""The exception tree: every error says what failed, what was got, what was expected, where, and what to do.

Each class also inherits the built-in that a caller would catch (`ValueError`, `OSError`, ...). The parts are
attributes; the text is derived from them. An error of user code is wrapped once, at the stage boundary, with `from`.
"""

from __future__ import annotations

import errno
import os
import sys
import warnings
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

_PACKAGE_DIR = os.path.dirname(os.path.abspath(__file__)) + os.sep
_CLI_DIR = os.path.join(_PACKAGE_DIR, "cli") + os.sep


@dataclass(frozen=True, slots=True)
class Location:
    """A line of the user's code: where a verb was called or a function defined. line: 0 where there is none."""

    file: str
    line: int

    def __str__(self) -> str:
        if not self.line:
            return self.file
        return f"{_shown(self.file, os.getcwd()) if os.path.isabs(self.file) else self.file}:{self.line}"


@lru_cache(256)
def _shown(file: str, folder: str) -> str:
    """A file as people in `folder` name it. Kept: a label is made for each of a million nested datasets."""
    relative = os.path.relpath(file, folder)
    return file if relative.startswith("..") else relative


def user_location() -> Location:
    """The innermost frame outside this package, i.e. the line the user wrote; of a command, its command line.

    Cost: a few frames walked.
    """
    frame = within = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE_DIR):
        frame, within = frame.f_back, frame
    if within.f_code.co_filename.startswith(_CLI_DIR):
        return Location("the command line", 0)
    return Location(frame.f_code.co_filename, frame.f_lineno)


class PenstockError(Exception):
    """Root of the tree.

    Attributes: `what` failed; `got` and `expected`, None where they do not apply; `where` (stage, the user's file:line,
    origin); `remedy`, what to do.
    """

    def __init__(
        self,
        what: str,
        *,
        got: Any = None,
        expected: Any = None,
        where: str | Location | None = None,
        remedy: str | None = None,
    ) -> None:
        self.what = what
        self.got = got
        self.expected = expected
        self.where = None if where is None else str(where)
        self.remedy = remedy
        super().__init__(self._text())

    def _text(self) -> str:
        text = f"{self.where}: {self.what}" if self.where else self.what
        if self.got is not None:
            text += f"; got {self.got}"
        if self.expected is not None:
            text += f"{',' if self.got is not None else ';'} expected {self.expected}"
        return f"{text}; {self.remedy}" if self.remedy else text

    def __str__(self) -> str:
        return self._text()

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.__dict__.copy())

    def at(self, where: str) -> PenstockError:
        """The same error, with `where` put in front of what it already said of its place."""
        copy: PenstockError = _rebuild(type(self), self.__dict__.copy())
        copy.where = where if self.where is None else f"{where}: {self.where}"
        return copy


def _rebuild(cls: type[PenstockError], attributes: dict[str, Any]) -> PenstockError:
    error = cls.__new__(cls)
    error.__dict__.update(attributes)
    error.args = (error._text(),)
    return error


class InvalidArgumentError(PenstockError, ValueError):
    """A verb, an op or an option was called with a value it cannot take."""


class UnsupportedValueError(PenstockError, TypeError):
    """A value that no element may hold: a `None` leaf, an object of an unknown type."""


class StructureError(PenstockError, ValueError):
    """Elements of one dataset differ in structure, dtype or rank, or break a signature."""


class StackError(StructureError):
    """Leaves of one batch differ in shape, so they cannot be stacked; names leaf, element and both shapes."""


class NoFilesError(PenstockError, FileNotFoundError):
    """A pattern or folder matched no file."""


class ReadError(PenstockError, OSError):
    """Bytes could not be read; names the file."""


class WriteError(PenstockError, OSError):
    """Bytes could not be written: no room, no right, no such place; names the file. Nothing half written stays."""


class DecodeError(PenstockError, ValueError):
    """Bytes are not what the decoder takes: truncated, corrupt, empty, or another format."""


class UserFunctionError(PenstockError, RuntimeError):
    """A function of the user's raised; `__cause__` is its own exception with its own traceback."""


class NotCompiledError(PenstockError, TypeError):
    """A function under `@penstock.function` cannot be compiled; says where it is and why."""


class SourceError(PenstockError, RuntimeError):
    """A source of the user's (a generator, an object with `__getitem__`) raised; `__cause__` is its exception."""


class NotIndexableError(PenstockError, TypeError):
    """`ds[i]`, `len(ds)` or a slice of a dataset in which a verb (named) prevents it."""


class UnknownLengthError(PenstockError, TypeError):
    """`len(ds)` of a dataset whose cardinality is unknown or infinite."""


class CardinalityError(PenstockError, ValueError):
    """More or fewer elements came than was asserted; gives both numbers."""


class TooManyErrorsError(PenstockError, RuntimeError):
    """More elements were skipped than `Options.max_error_ratio` allows."""


class NotResumableError(PenstockError, TypeError):
    """The state of this pipeline cannot be taken; names the verb and its line."""


class StateMismatchError(PenstockError, ValueError):
    """A state was taken from another pipeline, or by another version."""


class GraphError(PenstockError, ValueError):
    """The graph breaks a law; names the first node that does."""


class RuleError(PenstockError, RuntimeError):
    """An optimizer rule failed or changed what the pipeline means; `skip` it by its name and report it."""


class WorkerError(PenstockError, RuntimeError):
    """A worker process ended again and again on one element, or could not start or load the function."""


class ForkedError(PenstockError, RuntimeError):
    """The engine was used in a forked child, where its threads do not exist."""


class ClosedError(PenstockError, RuntimeError):
    """An iterator was used after `close()`, or after the error that closed it."""


class MissingDependencyError(PenstockError, ImportError):
    """An optional framework that this call needs is not installed."""


class TooLateError(PenstockError, RuntimeError):
    """A framework was already initialised when something was asked that it takes only before.

    Attributes: framework; first_call, the user's line that initialised it, None where it is not known.
    """

    def __init__(self, what: str, *, framework: str = "", first_call: Location | None = None, **parts: Any) -> None:
        self.framework = framework
        self.first_call = first_call
        super().__init__(what, **parts)


class PenstockWarning(UserWarning):
    """Something was done less well than asked; said once."""


_PASSING = (ConnectionError, TimeoutError, InterruptedError, BlockingIOError)
_PASSING_CODES = {errno.EIO, errno.ESTALE, errno.EBUSY, errno.ENETDOWN, errno.ENETUNREACH, errno.EHOSTUNREACH}


def may_pass(error: BaseException | None) -> bool:
    """Whether trying again may help: a connection, a time limit, a busy or stale file; or what was caused by one."""
    while error is not None:
        if isinstance(error, _PASSING) or (isinstance(error, OSError) and error.errno in _PASSING_CODES):
            return True
        error = error.__cause__
    return False


def warn_user(text: str, where: Location) -> None:
    """A PenstockWarning at the user's line, also from a thread that has no line of theirs."""
    warnings.warn_explicit(text, PenstockWarning, where.file, where.line)
