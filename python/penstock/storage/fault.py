"""Faults: why one attempt gave no bytes, and whether another may; and the error they become.

obstore says most of it in words only, so its words are read here, and nowhere else.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum

from penstock.errors import ReadError
from penstock.storage.url import scrubbed, shown

_STATUS = re.compile(r"status code: (\d{3})(?: ([A-Z][A-Za-z ]*))?")
_MAY_PASS = frozenset({408, 425, 429})
_LINE = 200


class Kind(Enum):
    """What to do about a fault."""

    MISSING = "missing"
    REFUSED = "refused"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    BUSY = "busy"  # the server says so, or fails
    CONNECTION = "connection"
    SHORT = "short"
    NO_RANGE = "no range"
    NO_LENGTH = "no length"
    OTHER = "other"


_REMEDIES = {
    Kind.REFUSED: "credentials come from the environment: docs/howto/remote-data.md",
    Kind.CHANGED: "make the dataset anew, and write objects under new names instead of over old ones",
    Kind.NO_RANGE: "copy the file here, or serve it from a server that reads by range",
    Kind.NO_LENGTH: "copy the file here, or serve it with a Content-Length",
    Kind.BUSY: "RemoteOptions(max_in_flight=...) asks for less at once, attempts=... more often",
    Kind.CONNECTION: "RemoteOptions(timeout_s=..., attempts=...) waits longer, or asks more often",
}


@dataclass(slots=True)
class Fault(Exception):  # noqa: N818  # becomes an error when it is the last one
    """One attempt that failed. status: of HTTP, None where there was no answer. said: what storage said of it."""

    kind: Kind
    said: str
    status: int | None = None

    @property
    def may_pass(self) -> bool:
        """Whether another attempt may succeed."""
        return self.kind in (Kind.BUSY, Kind.CONNECTION)


def fault_of(error: Exception) -> Fault:
    """What obstore's `error` means."""
    text = str(error).partition("Debug source")[0].strip()
    name = type(error).__name__
    found = _STATUS.search(text)
    status = int(found[1]) if found else None
    said = f"{found[1]} {(found[2] or '').strip()}".strip() if found else _first_line(text)
    if isinstance(error, FileNotFoundError) or status in (404, 410):
        return Fault(Kind.MISSING, said, status)
    if name in ("PermissionDeniedError", "UnauthenticatedError") or status in (401, 403):
        return Fault(Kind.REFUSED, said, status)
    if name == "PreconditionError":
        return Fault(Kind.CHANGED, said, status)
    if name == "NotModifiedError":
        return Fault(Kind.UNCHANGED, said, status)
    if name == "NotSupportedError" and "Range" in text:
        return Fault(Kind.NO_RANGE, "it sent the whole object for a part of it", status)
    if "Content-Length" in text:
        return Fault(Kind.NO_LENGTH, "it does not say how long the object is", status)
    if status is not None:
        return Fault(Kind.BUSY if status >= 500 or status in _MAY_PASS else Kind.OTHER, said, status)
    if name == "GenericError" and ("HTTP error" in text or "error sending request" in text or "timed out" in text):
        return Fault(Kind.CONNECTION, _cause(str(error)) or said)
    return Fault(Kind.OTHER, said)


def _first_line(text: str) -> str:
    line = text.splitlines()[0] if text else "no reason given"
    return line if len(line) <= _LINE else line[:_LINE] + "..."


_CAUSES = (
    ("TimedOut", "the attempt took longer than its time"),
    ("Connection refused", "connection refused"),
    ("ConnectionRefused", "connection refused"),
    ("dns error", "the host name is not known"),
    ("IncompleteMessage", "the connection was cut"),
    ("connection closed before message completed", "the connection was cut"),
    ("UnexpectedEof", "the connection was cut within the object"),
    ("ConnectionReset", "the connection was reset"),
    ("Connection reset", "the connection was reset"),
    ("Body", "the connection was cut within the object"),
)


def _cause(text: str) -> str | None:
    """The innermost reason, which obstore tells in its debug output alone."""
    return next((reason for word, reason in _CAUSES if word in text), None)


def error_of(fault: Fault, url: str, attempts: int) -> ReadError:
    """The error for the last fault of a request: what, URL, status, attempts, remedy.

    Its cause is a ConnectionError where trying again may help, which `Retry` and `may_pass` go by.
    """
    what = {
        Kind.MISSING: "no such object",
        Kind.REFUSED: "the object may not be read",
        Kind.CHANGED: "the object has changed since it was first seen",
    }.get(fault.kind, "cannot read the object")
    got = scrubbed(fault.said, url)
    if attempts > 1:
        got += f" ({attempts} attempts)"
    error = ReadError(what, got=got, where=shown(url), remedy=_REMEDIES.get(fault.kind))
    if fault.may_pass:
        error.__cause__ = ConnectionError(got)
    elif fault.kind is Kind.MISSING:
        error.__cause__ = FileNotFoundError(got)
    return error
