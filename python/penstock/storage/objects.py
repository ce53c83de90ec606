"""Objects behind URLs: their bytes, what describes them, and their names. The face of this room."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from typing import TypeVar

from penstock.errors import InvalidArgumentError, ReadError
from penstock.storage.client import ObjectFacts
from penstock.storage.gathering import Gathering
from penstock.storage.meter import waited
from penstock.storage.pattern import Pattern, is_pattern
from penstock.storage.process import reader_for
from penstock.storage.ranges import Request
from penstock.storage.surroundings import Expected, Surroundings, surroundings
from penstock.storage.url import shown

T = TypeVar("T")


def read(url: str, start: int = 0, stop: int | None = None) -> bytes:
    """The bytes of one object from `start` to `stop` (None: the end): exactly those.

    Raises: ReadError: what, URL, status, attempts.
    """
    around = surroundings()
    request = Request(url, start, stop)
    if around.read is not None:
        if around.expected is not None:
            _read_ahead(request, around, around.expected)
        found = around.read.get(request)
        if isinstance(found, bytes):
            return found
        if found is not None:  # whoever asks again is answered anew
            return given(around.read.pop(request))
    gathering = reader_for(around.options).start([request])
    data = given(awaited(gathering, around, together=False)[0])
    if around.read is not None:
        around.read[request] = data
    return data


def _read_ahead(request: Request, around: Surroundings, expected: Expected) -> None:
    """The same part of what the other rows of the block may read, if `request` is for what one of them holds."""
    assert around.read is not None
    if request.url not in expected.urls:
        return
    if request not in around.read:
        wanted = [Request(url, request.start, request.stop) for url in dict.fromkeys(expected.urls)]
        missing = [one for one in wanted if one not in around.read]
        expected.fetched += len(missing)
        results = awaited(reader_for(around.options).start(missing), around, together=True)
        around.read.update(zip(missing, results, strict=True))
    expected.used += 1


def read_many(requests: Sequence[Request]) -> list[bytes]:
    """The bytes of each, all asked for at once.

    Raises: ReadError: the first of `requests` that failed; what the others gave is kept until the end of the task.
    """
    around = surroundings()
    known = around.read or {}
    missing = [request for request in dict.fromkeys(requests) if request not in known]
    found: dict[Request, bytes | Exception] = {request: known[request] for request in requests if request in known}
    if missing:
        results = awaited(reader_for(around.options).start(missing), around, together=True)
        found.update(zip(missing, results, strict=True))
        if around.read is not None:
            around.read.update(found)
    return [given(found[request]) for request in requests]


def facts_of(urls: Sequence[str]) -> list[ObjectFacts]:
    """What describes each object, all asked for at once. Raises: ReadError: the first of `urls` that failed."""
    around = surroundings()
    gathering = reader_for(around.options).facts(urls)
    return [given(result) for result in awaited(gathering, around, together=True)]


def known_facts(urls: Sequence[str]) -> list[ObjectFacts | None]:
    """What describes each object, all asked for at once; None where there is none. Raises: ReadError: another fault."""
    around = surroundings()
    results = awaited(reader_for(around.options).facts(urls), around, together=True)
    return [None if _is_missing(result) else given(result) for result in results]


def names_like(pattern: str) -> list[str]:
    """The URLs of the objects that match a glob pattern, sorted; as `glob` reads it, `**` included.

    One without wildcards is itself, if there is such an object.
    Raises: ReadError; InvalidArgumentError: http, where names cannot be listed.
    """
    if not is_pattern(pattern):
        return [pattern] if known_facts([pattern]) != [None] else []
    found = Pattern.of(pattern)
    if found is None:
        raise InvalidArgumentError(
            "names behind http cannot be listed", got=shown(pattern), expected="URLs without *, ? or [",
            remedy="give a list of URLs to from_tensor_slices",
        )  # fmt: skip
    around = surroundings()
    listed = reader_for(around.options).names(
        found.root, found.folder, deep=found.is_deep, cancelled=around.closing or threading.Event()
    )
    return sorted(f"{found.root}/{each.key}" for each in listed if found.matches(each.key))


def awaited(gathering: Gathering[T], around: Surroundings, *, together: bool) -> list[T | Exception]:
    """The results, after a wait that the pipeline is told of. Raises: ClosedError: its iterator was closed."""
    if gathering.is_done:
        return gathering.wait(None)
    began = time.perf_counter()
    with around.away(len(gathering.results), together):
        found = gathering.wait(around.closing)
    waited(time.perf_counter() - began, sum(len(each) for each in found if isinstance(each, bytes)))
    return found


def _is_missing(result: object) -> bool:
    return isinstance(result, ReadError) and isinstance(result.__cause__, FileNotFoundError)


def given(result: T | Exception) -> T:
    """Raises: the result, if it is an error; a fresh traceback each time."""
    if isinstance(result, Exception):
        raise result.with_traceback(None)
    return result
